"""Write report.html from the summaries and the manifest in a results folder."""

from collections.abc import Callable, Collection, Sequence
from pathlib import Path
from typing import cast

from ...core.files import replacing
from ...reporting import ByReading, Rendered, Section, page_of, rendered
from ...reporting.summaries import About, Summary
from .claims import judge
from .folder import ResultsFolder, read_json
from .known_experiments import EXPERIMENTS
from .matrix import in_words, matrix
from .readings import READINGS

TITLE = "Causal bandits without prior knowledge: what the paper claims and what we measured"
INTRODUCTION = (
    "The experiments of de Kroon, Belgrave and Mooij, Causal Bandits without prior knowledge using separating sets, "
    "run again. Methods play the same worlds with the same random numbers, so comparisons are paired. Tables show "
    "what each was given about the world; methods that were given more show what that knowledge is worth."
)


def read_summaries(root: Path, warn: Callable[[str], None]) -> list[Summary]:
    """The summaries in a results folder: the paper's figures in its order, then others by name."""
    order = {name: place for place, name in enumerate(EXPERIMENTS)}
    found: list[Summary] = []
    for path in sorted(root.glob("*/summary.json")):
        summary = read_json(path)
        if summary is None or summary.get("figure") != path.parent.name:
            warn(f"{path} is not a summary of this folder; it is left out of the report")
        else:
            found.append(cast(Summary, summary))
    return sorted(found, key=lambda summary: order.get(summary["figure"], len(order)))


def write_report(
    root: ResultsFolder,
    made: Collection[str],
    warn: Callable[[str], None],
    title: str = TITLE,
    introduction: str = INTRODUCTION,
) -> Path:
    """Write report.html over everything in the folder; `made` are the figures of this run."""
    about = root.figures
    sections = []
    for summary in read_summaries(root.path, warn):
        name = summary["figure"]
        try:
            sections.append(_section(summary, about.get(name, {})))
        except Exception as error:
            if name in made:
                raise
            why = f"its section cannot be made: {type(error).__name__}"
            warn(f"{root.path / name / 'summary.json'} is corrupt ({why}); it is left out of the report")
    with replacing(root.path / "report.html", own=True) as path:
        shown = [section.summary for section, _ in sections]
        path.write_text(page_of(title, introduction, sections, claims_by_reading(shown)), encoding="utf-8")
    return root.path / "report.html"


def claims_by_reading(summaries: Sequence[Summary], figure: str = READINGS.name) -> ByReading | None:
    """The matrix of a summary that has one, with the other figures in the folder."""
    for summary in summaries:
        if summary["figure"] == figure and "matrix" in summary:
            rows = matrix(summary, [other for other in summaries if "matrix" not in other])
            return ByReading(rows, in_words(rows))
    return None


def _section(summary: Summary, about: About) -> Rendered:
    figure = summary["figure"]
    read = claims_by_reading([summary], figure)  # a corrupt one is found here
    verdicts, made = judge(summary), {**about, "again": again(figure, about)}
    return rendered(Section(summary, verdicts, cast(About, made), read if figure != READINGS.name else None))


def again(figure: str, about: About) -> str:
    """The command that makes a figure again."""
    options = about.get("options")
    of = options.get("figure", figure) if options else figure
    if of not in EXPERIMENTS or not options or "scale" not in options:  # a family may have the name of a figure
        return ""
    words = ["causal-bandits reproduce", of, "--scale", options["scale"], "--seed", str(options["seed"])]
    if options.get("runs"):
        words += ["--runs", str(options["runs"])]
    if options.get("weighted"):
        words.append("--weighted")
    words += [f"--reading '{name}={value}'" for name, value in options.get("reading", {}).items()]
    return " ".join(words)

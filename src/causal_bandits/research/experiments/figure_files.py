"""From a figure's name to its files: run what is missing, summarize, draw, report."""

import io
import os
import sys
import time
from collections.abc import Callable, Collection, Sequence
from pathlib import Path
from typing import Any, NamedTuple, cast

from ...core.files import output_folder, replacing
from ...core.secrecy import shown_argument
from ...errors import OptionError, whole_number
from ...reporting.results_page import ByReading, Section, page_of, rendered
from ...reporting.summaries import About, Summary
from ...reporting.summary_plots import draw
from .base import Experiment, Scale
from .claims import judge
from .engines import Engine, make_engine
from .known_experiments import EXPERIMENTS, find_experiments
from .matrix import in_words, matrix
from .store import SILENT, Progress, ResultsFolder, read_json, run_experiment, write_json

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
    figures: Collection[str],
    warn: Callable[[str], None],
    title: str = TITLE,
    introduction: str = INTRODUCTION,
) -> Path:
    """Write report.html over everything in the folder; `figures` are those of this run."""
    about = root.figures
    sections = []
    for summary in read_summaries(root.path, warn):
        name = summary["figure"]
        try:
            claims_by_reading([summary])  # a corrupt one is found here
            made = cast(About, {**about.get(name, {}), "again": again(name, about.get(name, {}))})
            sections.append(rendered(Section(summary, judge(summary), made)))
        except Exception as error:
            if name in figures:
                raise
            why = f"its section cannot be made: {type(error).__name__}"
            warn(f"{root.path / name / 'summary.json'} is corrupt ({why}); it is left out of the report")
    with replacing(root.path / "report.html", own=True) as path:
        shown = [section.summary for section, _ in sections]
        path.write_text(page_of(title, introduction, sections, claims_by_reading(shown)), encoding="utf-8")
    return root.path / "report.html"


def claims_by_reading(summaries: Sequence[Summary]) -> ByReading | None:
    """The matrix of the summary that has one, with the other figures in the folder."""
    for summary in summaries:
        if "matrix" in summary:
            rows = matrix(summary, [other for other in summaries if "matrix" not in other])
            return ByReading(rows, in_words(rows))
    return None


def again(figure: str, about: About) -> str:
    """The command that makes a figure again."""
    options = about.get("options")
    if figure not in EXPERIMENTS or not options or "scale" not in options:  # a family may have the name of a figure
        return ""
    words = ["causal-bandits reproduce", figure, "--scale", options["scale"], "--seed", str(options["seed"])]
    if options.get("runs"):
        words += ["--runs", str(options["runs"])]
    if options.get("weighted"):
        words.append("--weighted")
    return " ".join(words)


class Reproduced(NamedTuple):
    """A figure's summary, the folder of its files, and how it was made."""

    summary: Summary
    folder: Path
    about: About


def reproduce(
    figure: str,
    *,
    scale: str = "quick",
    seed: int = 0,
    jobs: int | None = None,
    out: str | os.PathLike[str] = "results",
    runs: int | None = None,
    weighted: bool = False,
    engine: str = "local",
    scheduler: str | None = None,
    progress: Progress = SILENT,
) -> list[Reproduced]:
    """Reproduce a figure of the paper, or `all`; returns the summary and folder of each.

    Finished chunks are kept, so the same call resumes after an interruption. The summary depends only on figure, scale,
    runs and seed.

    Args:
        figure: Name of the figure, or "all".
        scale: "smoke" (seconds), "quick" (minutes) or "paper" (the full design).
        seed: Seed of all runs.
        jobs: Number of processes; None uses all cores.
        out: Folder for the results.
        runs: Runs per world; overrides the scale.
        weighted: Weight each class of graphs by its number of labeled graphs.
        engine: "local" processes or "dask".
        scheduler: Address of a Dask scheduler; by default Dask starts local workers.
        progress: Callbacks for progress and warnings.
    """
    experiments = find_experiments(figure)
    sizes = {experiment.name: experiment.size(scale, runs) for experiment in experiments}
    seed = whole_number("seed", seed, 0, None)
    if weighted and not any(experiment.can_weigh for experiment in experiments):
        raise OptionError(f"{figure} has no classes of graphs to weigh; leave out --weighted")
    found = []
    with make_engine(engine, jobs=jobs, scheduler=scheduler) as workers:
        root = ResultsFolder(out)
        for experiment in experiments:
            progress.done(experiment.name, 0, len(experiment.chunks(sizes[experiment.name], seed)))
        for experiment in experiments:
            weighed = weighted and experiment.can_weigh
            options: dict[str, Any] = {"scale": scale, "runs": runs, "seed": seed, "weighted": weighed}
            found.append(make_files(experiment, sizes[experiment.name], options, root, workers, progress))
    write_report(root, [experiment.name for experiment in experiments], progress.warn)
    return found


def make_files(
    experiment: Experiment,
    size: Scale,
    options: dict[str, Any],
    root: ResultsFolder,
    engine: Engine,
    progress: Progress,
) -> Reproduced:
    """Run one experiment and write everything that is made from its rows."""
    start = time.monotonic()
    folder = output_folder(root.path / experiment.name)
    result = run_experiment(experiment, size, options["seed"], folder / "chunks", engine, progress)
    summary = experiment.summarise(result.rows, size, options["seed"], weighted=options["weighted"])
    buffer = io.BytesIO()
    result.rows.write_parquet(buffer)
    with replacing(folder / "runs.parquet", own=True) as path:
        path.write_bytes(buffer.getbuffer())
    write_json(folder / "summary.json", summary)
    for ending in ("png", "svg"):
        with replacing(folder / f"figure.{ending}", own=True) as path:
            draw(summary, path)
    about: About = {
        "command": _command(),
        "options": options,
        "workers": engine.workers,
        "seconds": round(time.monotonic() - start, 1),
        "work_seconds": round(result.seconds, 1),
    }
    root.record(experiment.name, about)
    return Reproduced(summary, folder, about)


def _command() -> str | None:
    """The command line, if this is one."""
    if "causal-bandits" not in sys.argv[0]:
        return None
    return " ".join(["causal-bandits", *map(shown_argument, sys.argv[1:])])

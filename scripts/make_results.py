"""`python scripts/make_results.py RESULTS`: write docs/results/paper.md from a results folder of `reproduce`.

Copies the summary.json and figure.png of each figure, and the manifest, to docs/results, then writes the page from
these files alone. Without an argument, only the page is written.
"""

import json
import shutil
import sys
from pathlib import Path

from causal_bandits.reporting.axes import duration
from causal_bandits.reporting.sheets import in_markdown
from causal_bandits.reporting.summaries import About, Summary
from causal_bandits.reporting.summary_plots import finding
from causal_bandits.reporting.summary_sheets import evidence, matrix_sheets, sheet_of
from causal_bandits.research.experiments import PAPER, judge
from causal_bandits.research.experiments.figure_files import again, claims_by_reading

DOCS = Path(__file__).parents[1] / "docs"
KEPT = DOCS / "results"
LONGEST = 20
WIDE = """---
hide:
  - navigation
  - toc
---"""
"""Give the matrix the whole width of the page."""


def keep(results: Path) -> None:
    """Copy the small files of a results folder."""
    manifest = json.loads((KEPT / "manifest.json").read_text())
    for figure, entry in json.loads((results / "manifest.json").read_text())["figures"].items():
        entry.pop("command")  # it names a folder of the machine it ran on
        manifest["figures"][figure] = entry
        shutil.copy(results / figure / "summary.json", KEPT / f"{figure}.json")
        shutil.copy(results / figure / "figure.png", KEPT / f"{figure}.png")
    (KEPT / "manifest.json").write_text(json.dumps(manifest, indent=1) + "\n")


def page() -> str:
    """The page, from the files in docs/results."""
    manifest = json.loads((KEPT / "manifest.json").read_text())["figures"]
    summaries = [json.loads((KEPT / f"{figure}.json").read_text()) for figure in PAPER]
    total = sum(manifest[figure]["work_seconds"] for figure in PAPER)
    about = next(iter(manifest.values()))
    read = claims_by_reading(summaries)
    assert read is not None
    tables = matrix_sheets(read.rows)
    parts = [
        WIDE,
        "# The paper's figures",
        "For readers who want every figure and claim of the paper with its numbers. The table has the verdict on each "
        "claim under each reading of what the paper leaves open.",
        read.words,
        *map(in_markdown, tables),
        tables[-1].caption,
        f"Each section names its command; together they took {duration(total)} of one core "
        f"({about['machine']}, a busy machine). `python scripts/make_results.py` writes this page from "
        "the summaries in [docs/results](manifest.json); the verdicts are computed from the numbers.",
        *(section(summary, manifest[summary["figure"]]) for summary in summaries),
    ]
    return "\n\n".join(parts) + "\n"


def section(summary: Summary, about: About) -> str:
    """One figure."""
    figure = summary["figure"]
    claims = [
        f"- {each.where}: {each.text} **{each.words}**\n" + "\n".join(f"    - {evidence(one)}" for one in each.measured)
        for each in judge(summary)
    ]
    sheet = sheet_of(summary)
    shown = sheet._replace(rows=sheet.rows[:LONGEST])
    cut = f" The first {LONGEST} of {len(sheet.rows)} rows." if len(sheet.rows) > LONGEST else ""
    return "\n\n".join(
        [
            f'<a id="{figure}"></a>\n\n## {summary["title"]}',
            f"*{summary['question']}*",
            *(["\n".join(claims)] if claims else []),
            f"![{finding(summary)}]({figure}.png)",
            in_markdown(shown),
            f"{sheet.caption[:1].upper()}{sheet.caption[1:]}.{cut} Command: `{again(figure, about)}`",
        ]
    )


def main() -> None:
    """Keep what is new and write the page."""
    if len(sys.argv) > 1:
        keep(Path(sys.argv[1]))
    (KEPT / "paper.md").write_text(page())


if __name__ == "__main__":
    main()

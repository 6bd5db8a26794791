"""`python scripts/make_results.py RESULTS`: the results page of the docs from a folder that `reproduce` made.

Copies the summary.json and figure.png of each figure in it and what the manifest says to docs/results, then writes
docs/results.md (the paper's figures) from these files alone. Without an argument only the page is written anew.
"""

import json
import shutil
import sys
from pathlib import Path

from causal_bandits.experiments import PAPER, judge
from causal_bandits.experiments.results_report import again, claims_by_reading
from causal_bandits.reporting import duration, evidence, sheet_of
from causal_bandits.reporting.matrices import matrix_html
from causal_bandits.reporting.sheets import Sheet
from causal_bandits.reporting.summaries import About, Summary

DOCS = Path(__file__).parents[1] / "docs"
KEPT = DOCS / "results"
LONGEST = 20
WIDE = """---
hide:
  - navigation
  - toc
---"""
"""The matrix takes the whole width of the page."""
STYLE = """<style>
.matrix { border-collapse: collapse; width: 100%; font-size: .62rem; line-height: 1.35; margin-bottom: .8rem; }
.matrix th, .matrix td { text-align: left; vertical-align: top; padding: .15rem .5rem .15rem 0; }
.matrix th, .matrix td { border-bottom: 1px solid var(--md-default-fg-color--lightest, #ddd); }
.matrix .n { text-align: right; } .matrix .n, .matrix .w { white-space: nowrap; }
.matrix .holds { color: #0a7b45; } .matrix .fails { color: #c8371d; } .matrix .open { color: #8f6b00; }
.scroll { overflow-x: auto; } .soft { font-size: .62rem; }
</style>
"""


def keep(results: Path) -> None:
    """Copy what is small from a folder of results."""
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
    parts = [
        WIDE,
        "# Results",
        read.words,
        STYLE + matrix_html(read.rows),
        f"Each section names the command that made it; all together took {duration(total)} of one core "
        f"({about['machine']}, busy with other work too). The page is written by `python scripts/make_results.py` from "
        "the summaries in [results](results/manifest.json); the verdicts are computed from the numbers.",
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
            f"![{summary['title']}](results/{figure}.png)",
            table(shown),
            f"{sheet.caption}.{cut} Again: `{again(figure, about)}`",
        ]
    )


def table(sheet: Sheet) -> str:
    """A table in Markdown."""

    def row(cells: tuple[str, ...]) -> str:
        return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"

    rule = tuple("---:" if place in sheet.numbers else "---" for place in range(len(sheet.columns)))
    return "\n".join([row(sheet.columns), row(rule), *(row(each) for each in sheet.rows)])


def main() -> None:
    """Keep what is new and write the page."""
    if len(sys.argv) > 1:
        keep(Path(sys.argv[1]))
    (DOCS / "results.md").write_text(page())


if __name__ == "__main__":
    main()

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
from causal_bandits.reporting.matrices import EXPLAINED, LEGEND, Block, MatrixCell, blocks_of
from causal_bandits.reporting.sheets import Sheet
from causal_bandits.reporting.summaries import About, Summary

DOCS = Path(__file__).parents[1] / "docs"
KEPT = DOCS / "results"
LONGEST = 20


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
        "# Results",
        read.words,
        *map(block_table, blocks_of(read.rows)),
        f"{LEGEND}. {EXPLAINED}",
        f"Each section names the command that made it; all together took {duration(total)} of one core "
        f"({about['machine']}, busy with other work too). The page is written by `python scripts/make_results.py` from "
        "the summaries in [results](results/manifest.json); the verdicts are computed from the numbers.",
        *(section(summary, manifest[summary["figure"]]) for summary in summaries),
    ]
    return "\n\n".join(parts) + "\n"


def block_table(block: Block) -> str:
    """Claims that are read by the same factors: a row each, with a line per setting of the factors beside."""
    rows = []
    for row in block.rows:
        lines = block.lines(row)
        cells = [
            "<br>".join(_noted(beside, cells[place], len(lines)) for beside, cells in lines)
            for place in range(len(block.columns))
        ]
        rows.append((f"[{row.where}](#{row.figure})", row.text, f"**{row.words}**", *cells))
    columns = ("where", "the paper says", "found", *(column or "measured" for column in block.columns))
    return table(Sheet("", "", columns, tuple(rows), ()))


def _noted(beside: str, cell: MatrixCell | None, lines: int) -> str:
    shown = "–" if cell is None else cell.shown
    return shown if lines == 1 else f"{beside}: {shown}"


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

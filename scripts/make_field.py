"""`python scripts/make_field.py COMPARISON`: the tables of docs/field.md from a folder that `compare` made.

Keeps the tables as docs/results/field.json and the figures beside it, then writes the part of docs/field.md between its
two marks from these files alone. Without an argument only that part is written anew.
"""

import json
import shutil
import sys
from pathlib import Path

from causal_bandits.experiments import FAMILIES
from causal_bandits.reporting import sheet_of

DOCS = Path(__file__).parents[1] / "docs"
KEPT = DOCS / "results"
START, END = "<!-- tables: written by scripts/make_field.py -->", "<!-- end of tables -->"


def keep(results: Path) -> None:
    """Tables and figures of every family in a folder of results."""
    about = json.loads((results / "manifest.json").read_text())["figures"]
    kept = {}
    for family in [name for name in FAMILIES if (results / name / "summary.json").exists()]:
        summary = json.loads((results / family / "summary.json").read_text())
        sheet = sheet_of(summary, about[family])
        kept[family] = {
            "title": sheet.title,
            "caption": sheet.caption,
            "columns": sheet.columns,
            "rows": sheet.rows,
            "version": summary["version"],
            "seed": summary["seed"],
            "horizon": summary["horizon"],
            "runs": summary["runs"],
        }
        shutil.copy(results / family / "figure.png", KEPT / f"field-{family}.png")
    (KEPT / "field.json").write_text(json.dumps(kept, indent=1) + "\n")


def tables() -> str:
    """The tables, from the files in docs/results."""
    parts = []
    for family, found in json.loads((KEPT / "field.json").read_text()).items():
        again = f"causal-bandits compare --worlds {family} --horizon {found['horizon']} --runs {found['runs']}"
        lines = ["| " + " | ".join(cell.replace("|", "\\|") for cell in row) + " |" for row in found["rows"]]
        head = ["| " + " | ".join(found["columns"]) + " |", "|" + "---|" * 3 + "---:|" * (len(found["columns"]) - 3)]
        parts += [
            f"## {found['title'][0].upper()}{found['title'][1:]}",
            f"![Regret over rounds, a plot per tier](results/field-{family}.png)",
            "\n".join([*head, *lines]),
            f"{found['caption']}. Again: `{again} --seed {found['seed']}`",
        ]
    return "\n\n".join(parts)


def page(text: str) -> str:
    """The page with its tables written anew."""
    before, rest = text.split(START)
    after = rest.split(END)[1]
    return f"{before}{START}\n\n{tables()}\n\n{END}{after}"


def main() -> None:
    """Keep what is new and write the tables."""
    if len(sys.argv) > 1:
        keep(Path(sys.argv[1]))
    place = DOCS / "field.md"
    place.write_text(page(place.read_text()))


if __name__ == "__main__":
    main()

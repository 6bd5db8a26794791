"""`python scripts/make_field.py COMPARISON`: docs/results/field-tables.md from a folder that `compare` made.

Keeps the tables as docs/results/field.json and the figures next to it, then rewrites the part of the page between its
two marks from these files alone. Families that are not in the folder stay as they are. If the folder holds some
policies of a family (`compare --policies`) and the others were made by the same command, rows are added and the figure
stays. Without an argument, only the tables are rewritten.
"""

import json
import shutil
import sys
from pathlib import Path
from typing import Any

from causal_bandits.reporting.summary_sheets import sheet_of
from causal_bandits.research.experiments import FAMILIES

DOCS = Path(__file__).parents[1] / "docs"
KEPT = DOCS / "results"
Table = dict[str, Any]
START, END = "<!-- tables: written by scripts/make_field.py -->", "<!-- end of tables -->"


def keep(results: Path) -> None:
    """Tables and figures of every family in a folder of results."""
    about = json.loads((results / "manifest.json").read_text())["figures"]
    found = json.loads((KEPT / "field.json").read_text())
    for family in [name for name in FAMILIES if (results / name / "summary.json").exists()]:
        summary = json.loads((results / family / "summary.json").read_text())
        sheet = sheet_of(summary, about[family])
        made = {
            "title": sheet.title,
            "caption": sheet.caption,
            "columns": sheet.columns,
            "rows": sheet.rows,
            "version": summary["version"],
            "seed": summary["seed"],
            "horizon": summary["horizon"],
            "runs": summary["runs"],
        }
        found[family], complete = merged(found.get(family), json.loads(json.dumps(made)))
        if complete:
            shutil.copy(results / family / "figure.png", KEPT / f"field-{family}.png")
    kept = {family: found[family] for family in FAMILIES if family in found}
    (KEPT / "field.json").write_text(json.dumps(kept, indent=1) + "\n")


def merged(before: Table | None, made: Table) -> tuple[Table, bool]:
    """The table with the rows of both, and whether the new one holds all policies; equal rows must be equal."""
    if before is None or {row[1] for row in before["rows"]} <= {row[1] for row in made["rows"]}:
        return made, True
    for key in ("caption", "columns", "version", "seed", "horizon", "runs"):
        if before[key] != made[key]:
            raise SystemExit(f"{made['title']}: {key} was {before[key]!r} and is {made[key]!r}; run all policies again")
    rows = {row[1]: row for row in before["rows"]}
    for row in made["rows"]:
        if row[:-1] != rows.setdefault(row[1], row)[:-1]:  # the last column is a time
            raise SystemExit(f"{made['title']}: {row[1]} is not as it was; run all policies again")
    by_regret = sorted(rows.values(), key=lambda row: (row[0], float(row[3].split(" ")[0].replace(",", ""))))
    return {**before, "rows": by_regret}, False


def tables() -> str:
    """The tables, from the files in docs/results."""
    parts = []
    for family, found in json.loads((KEPT / "field.json").read_text()).items():
        again = f"causal-bandits compare --worlds {family} --horizon {found['horizon']} --runs {found['runs']}"
        lines = ["| " + " | ".join(cell.replace("|", "\\|") for cell in row) + " |" for row in found["rows"]]
        head = ["| " + " | ".join(found["columns"]) + " |", "|" + "---|" * 3 + "---:|" * (len(found["columns"]) - 3)]
        parts += [
            f"## {found['title'][0].upper()}{found['title'][1:]}",
            f"![{finding(found)}](field-{family}.png)",
            "\n".join([*head, *lines]),
            f"{found['caption']}. Command: `{again} --seed {found['seed']}`",
        ]
    return "\n\n".join(parts)


def finding(table: Table) -> str:
    """The policy with the least relative regret among those that are given neither graph nor sets."""
    ours = [row for row in table["rows"] if row[0].startswith(("0:", "1:"))]
    base = next(row for row in ours if row[4] == "1")
    best = min(ours, key=lambda row: float(row[4].split(" ")[0]))
    return (
        f"{best[1]} has {best[4]} times the regret of {base[1]}" if best != base else f"{base[1]} has the least regret"
    )


def page(text: str) -> str:
    """The page with new tables."""
    before, rest = text.split(START)
    after = rest.split(END)[1]
    return f"{before}{START}\n\n{tables()}\n\n{END}{after}"


def main() -> None:
    """Keep what is new and write the tables."""
    if len(sys.argv) > 1:
        keep(Path(sys.argv[1]))
    place = KEPT / "field-tables.md"
    place.write_text(page(place.read_text()))


if __name__ == "__main__":
    main()

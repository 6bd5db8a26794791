"""`python -m benchmarks.tables [ROWS ...]`: a table in a CSV file analyzed, beside a polars group-by of the same file.

Every measurement is a separate process on one core, with everything compiled: CPU seconds, and how far the peak of
its resident memory is above what it had before (Linux). The group-by reads the same file and says what plain means
say: rows and mean reward per arm. Tables: a funnel (two levers, two discrete and two real-valued columns), the same
with semicolons and decimal commas, and 60 columns (two levers, 57 observed; a tenth of the rows).
"""

import os
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
import polars as pl
from rich.console import Console
from rich.table import Table

SEED = 0
SIZES = (100_000, 1_000_000)

SETUP = """
import sys, time
from pathlib import Path
import polars as pl
import causal_bandits as cb
path, separator = sys.argv[1:]
cb.analyze("example", target="purchase", interventions=["banner", "discount"])
def memory(name):
    lines = Path("/proc/self/status").read_text().splitlines()
    return int(next(line for line in lines if line.startswith(name)).split()[1]) / 1024
Path("/proc/self/clear_refs").write_text("5")  # the peak begins again
before, begun = memory("VmRSS"), time.process_time()
"""
TASKS = {
    "analyze": """
found = cb.analyze(path, target="purchase", interventions=["banner", "discount"])
found.to_dict(history=False)
""",
    "group-by": """
pl.read_csv(path, separator=separator).group_by("banner", "discount").agg(pl.len(), pl.col("purchase").mean())
""",
}
REPORT = """
print(time.process_time() - begun, memory("VmHWM") - before)
"""


def funnel(rows: int, more: int = 0) -> pl.DataFrame:
    """Banner and discount move clicks and carts, which move purchases; other columns move with some of them."""
    rng = np.random.default_rng(SEED)
    banner, discount = rng.integers(3, size=rows), rng.integers(2, size=rows)
    clicked = rng.random(rows) < 0.2 + 0.1 * banner
    cart = (rng.random(rows) < 0.3 + 0.2 * clicked + 0.1 * discount) + (rng.random(rows) < 0.2).astype(np.int64)
    columns = {
        "banner": np.array(["none", "red", "blue"])[banner],
        "discount": np.array(["none", "10%"])[discount],
        "clicked": clicked.astype(np.int64),
        "cart": np.array(["empty", "some", "full"])[cart],
        "age": rng.integers(18, 90, size=rows),
        "seconds": rng.gamma(2, 10, size=rows).round(2),
    }
    for number in range(more):
        real = rng.normal(size=rows).round(3) + 0.2 * discount * (number % 3 == 0)
        coin = (rng.random(rows) < 0.3 + 0.2 * clicked * (number % 3 == 0)).astype(np.int64)
        columns[f"v{number}"] = coin if number % 4 else real
    columns["purchase"] = (rng.random(rows) < 0.05 + 0.1 * clicked + 0.05 * cart).astype(np.int64)
    return pl.DataFrame(columns)


def measured(task: str, path: Path, separator: str) -> tuple[float, float]:
    """CPU seconds and megabytes of one task, in a separate process on one core."""
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
    command = [sys.executable, "-c", SETUP + TASKS[task] + REPORT, str(path), separator]
    found = subprocess.run(command, check=True, capture_output=True, text=True)
    seconds, megabytes = map(float, found.stdout.split())
    return seconds, megabytes


def with_decimal_commas(table: pl.DataFrame) -> pl.DataFrame:
    """Numbers as spreadsheets write them in half of Europe."""
    return table.with_columns(pl.col(pl.Float64).cast(pl.String).str.replace(".", ",", literal=True))


def main() -> None:
    """Write the tables, measure, print."""
    shown = Table("table", "rows", "MB", "analyze, s", "MB", "group-by, s", "MB", title="CPU time and memory, one core")
    with tempfile.TemporaryDirectory() as folder:
        for rows in [int(text) for text in sys.argv[1:]] or SIZES:
            wide = max(rows // 10, 1)
            cases = {
                "funnel": (funnel(rows), ","),
                "decimal commas": (with_decimal_commas(funnel(rows)), ";"),
                "60 columns": (funnel(wide, 53), ","),
            }
            for name, (table, separator) in cases.items():
                path = Path(folder) / "table.csv"
                table.write_csv(path, separator=separator)
                ours, theirs = measured("analyze", path, separator), measured("group-by", path, separator)
                numbers = [
                    f"{value:,.2f}" if place % 2 == 0 else f"{value:,.0f}" for place, value in enumerate(ours + theirs)
                ]
                shown.add_row(name, f"{len(table):,}", f"{path.stat().st_size / 1e6:,.0f}", *numbers)
    Console(width=120).print(shown)


if __name__ == "__main__":
    main()

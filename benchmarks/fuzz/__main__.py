"""`python -m benchmarks.fuzz`: every part in its own processes, a table, and results.json."""

import argparse
import contextlib
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console
from rich.table import Table

from .api import api_calls
from .commands import command_line
from .databases import events, log, pages
from .judging import KEPT, OUTCOMES, Score
from .options import all_options
from .stored import caches, chunk_files, save_files

Room = Callable[[int, np.random.Generator], Score]
ROOMS: dict[str, tuple[Room, str, float, int]] = {
    "api": (api_calls, "API calls", 1.0, 2000),
    "commands": (command_line, "command lines", 0.2, 500),
    "events": (events, "edited events", 0.2, 500),
    "saves": (save_files, "save files", 0.3, 1000),
    "pages": (pages, "database pages", 0.15, 500),
    "log": (log, "write-ahead log", 0.1, 500),
    "chunks": (chunk_files, "stored chunks", 0.02, 100),
    "options": (all_options, "options", 0.2, 500),
    "caches": (caches, "caches", 0.002, 10),
}
"""Each room: what runs it, its name in words, its share of `--cases`, and how many cases one process does."""
MOST_BYTES = 8 * 2**30
"""A case that asks for more memory gets an error, and not the machine."""
RESULTS = Path(__file__).with_name("results.json")


def run_room(name: str, cases: int, seed: int) -> Score:
    """One part in this process, in its own folder: hostile names may end up as files."""
    with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):
        return ROOMS[name][0](cases, np.random.default_rng([seed, list(ROOMS).index(name)]))


def _in_processes(name: str, cases: int, seed: int) -> dict[str, Any]:
    """One part in batches, each in its own process: a crash is counted, and does not end the rest."""
    total: dict[str, Any] = {"cases": 0, **dict.fromkeys(OUTCOMES, 0), "failures": [], "seconds": 0.0}
    start = time.monotonic()
    batch, done = ROOMS[name][3], 0
    while done < cases:
        count = min(batch, cases - done)
        command = [sys.executable, "-m", "benchmarks.fuzz", "--worker", name, "--cases", str(count)]
        ended = subprocess.run(
            [*command, "--seed", str(seed * 1_000_003 + done)],
            capture_output=True,
            text=True,
            check=False,
            env=os.environ,
        )
        done += count
        try:
            part = json.loads(ended.stdout.splitlines()[-1])
        except (IndexError, ValueError):
            part = {
                "cases": count,
                "raw": 1,
                "failures": [f"raw: the process ended with {ended.returncode}: {ended.stderr[-400:]}"],
            }
        for key in ("cases", *OUTCOMES):
            total[key] += part.get(key, 0)
        total["failures"] = [*total["failures"], *part["failures"]][:KEPT]
    return {**total, "seconds": round(time.monotonic() - start, 1)}


def _show(console: Console, results: dict[str, dict[str, Any]]) -> None:
    table = Table("room", "cases", "fine", "one sentence", "silently different", "raw errors", "seconds")
    for column in table.columns[1:]:
        column.justify = "right"
    for name, found in results.items():
        numbers = (found[key] for key in ("cases", "fine", "sentence", "different", "raw", "seconds"))
        table.add_row(ROOMS[name][1], *(f"{number:,}" for number in numbers))
    console.print(table)
    for name, found in results.items():
        for failure in found["failures"][:5]:
            console.print(f"{name}: {failure}", markup=False, highlight=False, soft_wrap=True)


def main() -> None:
    """Run what was asked for; the exit code says whether all rooms held."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.fuzz", description=__doc__)
    parser.add_argument("--cases", type=int, default=5000, help="calls of the API; the other rooms have a share of it")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--only", choices=list(ROOMS), action="append", help="these rooms alone")
    parser.add_argument("--out", type=Path, default=RESULTS, help="the JSON file to write")
    parser.add_argument("--worker", choices=list(ROOMS), help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.worker:
        resource.setrlimit(resource.RLIMIT_AS, (MOST_BYTES, MOST_BYTES))
        print(json.dumps(run_room(given.worker, given.cases, given.seed).to_dict()))
        return
    console = Console()
    results = {}
    for name in given.only or ROOMS:
        cases = max(int(given.cases * ROOMS[name][2]), 1)
        console.print(f"{ROOMS[name][1]}: {cases:,} cases")
        results[name] = _in_processes(name, cases, given.seed)
    _show(console, results)
    given.out.write_text(json.dumps({"seed": given.seed, "rooms": results}, indent=1) + "\n")
    sys.exit(any(found["different"] or found["raw"] for found in results.values()))


if __name__ == "__main__":
    main()

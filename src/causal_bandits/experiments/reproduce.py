"""From a figure's name to its files: run what is missing, summarise, draw."""

import json
import os
import platform
import sys
import time
from collections.abc import Callable
from datetime import UTC, datetime
from importlib import metadata
from pathlib import Path
from typing import Any

import polars as pl

from .. import __version__
from ..errors import whole_number
from ..files import output_folder, replacing
from ..reporting import draw_regret
from .chunks import run_plan
from .registry import find_experiment
from .summary import summarise

DEPENDENCIES = ("numpy", "scipy", "numba", "polars", "matplotlib")


def _ignore(_done: int, _of: int) -> None:
    pass


def reproduce(
    figure: str,
    *,
    scale: str = "quick",
    seed: int = 0,
    jobs: int | None = None,
    out: str | os.PathLike[str] = "results",
    weighted: bool = False,
    on_done: Callable[[int, int], None] = _ignore,
) -> tuple[dict[str, Any], Path]:
    """Run one figure; gives its summary and the folder of its files.

    Finished chunks are kept: after an interruption the same call goes on where it stopped. `weighted` weighs each
    class of graphs by the number of labelled graphs in it.
    """
    experiment = find_experiment(figure)
    size = experiment.scale(scale)
    jobs = whole_number("jobs", os.cpu_count() or 1 if jobs is None else jobs, 1)
    seed = whole_number("seed", seed, 0)
    start = time.monotonic()
    root = output_folder(out)
    folder = output_folder(root / figure)
    plan = experiment.plan(seed, size)
    rows = run_plan(plan, folder / "chunks", jobs, on_done)
    summary = summarise(experiment, plan, rows, weighted=weighted)
    _write_files(folder, rows, summary)
    _write_manifest(root, figure, {"scale": scale, "seed": seed, "jobs": jobs}, time.monotonic() - start)
    return summary, folder


def _write_files(folder: Path, rows: pl.DataFrame, summary: dict[str, Any]) -> None:
    with replacing(folder / "runs.parquet") as path:
        rows.write_parquet(path)
    with replacing(folder / "summary.json") as path:
        path.write_text(json.dumps(summary, indent=1) + "\n")
    for ending in ("png", "svg"):
        with replacing(folder / f"figure.{ending}") as path:
            draw_regret(summary, path)


def _write_manifest(root: Path, figure: str, options: dict[str, Any], seconds: float) -> None:
    """What may differ between two equal runs stands here, so that summaries stay equal."""
    place = root / "manifest.json"
    try:
        manifest = json.loads(place.read_text())
    except (OSError, ValueError):
        manifest = {}
    manifest[figure] = {
        "command": " ".join(["causal-bandits", *sys.argv[1:]]) if "causal-bandits" in sys.argv[0] else None,
        "options": options,
        "finished": datetime.now(UTC).isoformat(timespec="seconds"),
        "seconds": round(seconds, 1),
        "version": __version__,
        "python": platform.python_version(),
        "libraries": {name: metadata.version(name) for name in DEPENDENCIES},
        "machine": f"{platform.system()} {platform.machine()}, {os.cpu_count()} cores",
    }
    with replacing(place) as path:
        path.write_text(json.dumps(manifest, indent=1) + "\n")

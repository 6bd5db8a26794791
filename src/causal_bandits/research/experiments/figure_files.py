"""From a figure's name to its files: run what is missing, summarize, draw, report."""

import io
import os
import sys
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

from ...core.files import output_folder, replacing
from ...core.secrecy import shown_argument
from ...errors import OptionError, whole_number
from ...reporting import draw
from ...reporting.summaries import About, Summary
from .base import Experiment, Scale
from .engines import Engine, make_engine
from .folder import ResultsFolder, write_json
from .known_experiments import find_experiments
from .results_report import write_report
from .resume import SILENT, Progress, Result, run_experiment


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
    reading: Mapping[str, str] | None = None,
    engine: str = "local",
    scheduler: str | None = None,
    progress: Progress = SILENT,
) -> list[Reproduced]:
    """Reproduce a figure of the paper, or `all`; returns each one's summary and folder.

    Finished chunks are kept: after an interruption the same call resumes. The summary depends only on figure, scale,
    runs and seed.

    Args:
        figure: Name of the figure, or "all".
        scale: "smoke" (seconds), "quick" (minutes) or "paper" (the full design).
        seed: Seed of all runs.
        jobs: Number of processes; None uses all cores.
        out: Folder for the results.
        runs: Runs per world; overrides the scale.
        weighted: Weight each class of graphs by its number of labeled graphs.
        reading: Judge the figure's claims under this reading of what the paper leaves open, such as
            ``{"test": "marginal"}``; the figure "readings" does so for all figures and readings.
        engine: "local" processes or "dask".
        scheduler: Address of a Dask scheduler; by default Dask starts local workers.
        progress: Callbacks for progress and warnings.
    """
    experiments = find_experiments(figure, reading)
    sizes = {experiment.name: experiment.size(scale, runs) for experiment in experiments}
    seed = whole_number("seed", seed, 0, None)
    if weighted and not any(experiment.can_weigh() for experiment in experiments):
        raise OptionError(f"{figure} has no classes of graphs to weigh; leave out --weighted")
    found = []
    with make_engine(engine, jobs=jobs, scheduler=scheduler) as workers:
        root = ResultsFolder(out)
        for experiment in experiments:
            progress.done(experiment.name, 0, len(experiment.chunks(sizes[experiment.name], seed)))
        for experiment in experiments:
            weighed = weighted and experiment.can_weigh()
            options: dict[str, Any] = {"scale": scale, "runs": runs, "seed": seed, "weighted": weighed}
            options |= {"figure": figure, "reading": dict(reading)} if reading else {}
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
    _write(folder, result, summary)
    about: About = {
        "command": _command(),
        "options": options,
        "workers": engine.workers,
        "seconds": round(time.monotonic() - start, 1),
        "work_seconds": round(result.seconds, 1),
    }
    root.record(experiment.name, about)
    return Reproduced(summary, folder, about)


def _write(folder: Path, result: Result, summary: Summary) -> None:
    buffer = io.BytesIO()
    result.rows.write_parquet(buffer)
    with replacing(folder / "runs.parquet", own=True) as path:
        path.write_bytes(buffer.getbuffer())
    write_json(folder / "summary.json", summary)
    for ending in ("png", "svg"):
        with replacing(folder / f"figure.{ending}", own=True) as path:
            draw(summary, path)


def _command() -> str | None:
    """The command line, if this is one."""
    if "causal-bandits" not in sys.argv[0]:
        return None
    return " ".join(["causal-bandits", *map(shown_argument, sys.argv[1:])])

"""Run the chunks of a plan that are not stored yet, store them, and read all rows in order."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

from ...libraries import pl
from .base import Experiment, Scale
from .engines import Engine
from .store import ChunkStore


class Progress(NamedTuple):
    """Callbacks for progress and warnings."""

    done: Callable[[str, int, int], None]
    """(experiment, chunks done, all chunks)."""
    warn: Callable[[str], None]


def _ignore(*_: object) -> None:
    pass


SILENT = Progress(_ignore, _ignore)


class Result(NamedTuple):
    """All rows of a plan, and the time its chunks took, added up."""

    rows: pl.DataFrame
    seconds: float


def run_experiment(
    experiment: Experiment, size: Scale, seed: int, folder: Path, engine: Engine, progress: Progress = SILENT
) -> Result:
    """Run the chunks that are not stored yet and return all rows, in a fixed order."""
    store = ChunkStore(folder, experiment.fingerprint(size, seed))
    chunks = experiment.chunks(size, seed)
    missing = store.missing(chunks, progress.warn)
    done = len(chunks) - len(missing)
    progress.done(experiment.name, done, len(chunks))
    for chunk, found in engine.run(missing):
        store.put(chunk, found.rows, found.seconds)
        done += 1
        progress.done(experiment.name, done, len(chunks))
    stored = [store.get(chunk) for chunk in chunks]
    return Result(pl.concat([rows for rows, _ in stored]), sum(seconds for _, seconds in stored))

"""From a plan to its rows: run what is not stored yet, keep it, read everything back in order."""

from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import polars as pl

from .base import Experiment, Scale
from .engines import Engine
from .store import ChunkStore


class Told(NamedTuple):
    """Callbacks while a plan runs."""

    done: Callable[[str, int, int], None]
    """(experiment, chunks done, all chunks)."""
    warn: Callable[[str], None]


def _nobody(*_: object) -> None:
    pass


SILENT = Told(_nobody, _nobody)


class Result(NamedTuple):
    """All rows of a plan, and the time its chunks took, added up."""

    rows: pl.DataFrame
    seconds: float


def run_experiment(
    experiment: Experiment, size: Scale, seed: int, folder: Path, engine: Engine, told: Told = SILENT
) -> Result:
    """Run the chunks that are not stored yet and give all rows, in an order that does not depend on who ran them."""
    store = ChunkStore(folder, experiment.fingerprint(size, seed))
    chunks = experiment.chunks(size, seed)
    missing = store.missing(chunks, told.warn)
    done = len(chunks) - len(missing)
    told.done(experiment.name, done, len(chunks))
    for chunk, found in engine.run(missing):
        store.put(chunk, found.rows, found.seconds)
        done += 1
        told.done(experiment.name, done, len(chunks))
    stored = [store.get(chunk) for chunk in chunks]
    return Result(pl.concat([rows for rows, _ in stored]), sum(seconds for _, seconds in stored))

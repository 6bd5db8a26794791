"""The unit of work: some runs in one world, all policies. A chunk is one Parquet file, written in one step."""

import contextlib
import multiprocessing
import signal
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ProcessPoolExecutor, as_completed
from pathlib import Path
from typing import NamedTuple

import numpy as np
import polars as pl

from ..files import output_folder, replacing
from ..simulate import play
from ..simulate.run import World
from ..simulate.runs import even_checkpoints
from .base import Plan, WorldMaker
from .registry import find_experiment

RUNS_PER_CHUNK = 10
"""Small enough that stopping costs seconds."""


class Chunk(NamedTuple):
    """Runs `first` to `last` (not included) in world `world` of a plan."""

    plan: Plan
    world: int
    first: int
    last: int

    def path(self, folder: Path) -> Path:
        """Where its file is, once it is done."""
        return folder / f"{self.plan.fingerprint}-{self.world:03d}-{self.first:04d}.parquet"


def chunks_of(plan: Plan) -> list[Chunk]:
    """All the work of a plan, in order."""
    worlds = range(find_experiment(plan.experiment).worlds)
    starts = range(0, plan.runs, RUNS_PER_CHUNK)
    return [Chunk(plan, w, start, min(start + RUNS_PER_CHUNK, plan.runs)) for w in worlds for start in starts]


def run_chunk(chunk: Chunk) -> pl.DataFrame:
    """Play all policies in the same worlds with the same streams: one row per series, run and checkpoint.

    A run's numbers depend on the seed, the world's number and the run's number alone.
    """
    plan = chunk.plan
    experiment = find_experiment(plan.experiment)
    points = even_checkpoints(plan.horizon)
    frames = []
    for run in range(chunk.first, chunk.last):
        root = np.random.SeedSequence(plan.seed, spawn_key=(chunk.world, run))
        of_world, of_draws, of_policy = root.spawn(3)
        worlds: dict[WorldMaker, World] = {}
        for series in experiment.series:
            maker = series.world or experiment.world
            if maker not in worlds:
                worlds[maker] = maker(chunk.world, of_world)
            world = worlds[maker]
            policy = series.policy(world)(world.problem, seed=np.random.default_rng(of_policy))
            regret = play(policy, world, plan.horizon, np.random.default_rng(of_draws)).regret(world.means)
            frames.append(
                pl.DataFrame({"t": points, "regret": regret[points - 1]}).select(
                    pl.lit(series.key).alias("series"),
                    pl.lit(chunk.world, dtype=pl.Int32).alias("world"),
                    pl.lit(run, dtype=pl.Int32).alias("run"),
                    "t",
                    "regret",
                )
            )
    return pl.concat(frames)


def _run_and_store(chunk: Chunk, folder: Path) -> None:
    frame = run_chunk(chunk)
    with replacing(chunk.path(folder)) as path:
        frame.write_parquet(path)


def _stored(chunk: Chunk, folder: Path) -> pl.DataFrame | None:
    """The chunk's file, unless it is missing or damaged."""
    with contextlib.suppress(OSError, pl.exceptions.PolarsError):
        return pl.read_parquet(chunk.path(folder))
    return None


def run_plan(plan: Plan, folder: Path, jobs: int, on_done: Callable[[int, int], None]) -> pl.DataFrame:
    """Run the chunks that are not stored yet, tell `on_done(done, all)`, and give all rows in order."""
    store = output_folder(folder)
    chunks = chunks_of(plan)
    missing = [chunk for chunk in chunks if _stored(chunk, store) is None]
    done = len(chunks) - len(missing)
    on_done(done, len(chunks))
    for _ in _executed(missing, store, min(jobs, len(missing))):
        done += 1
        on_done(done, len(chunks))
    return pl.concat([pl.read_parquet(chunk.path(store)) for chunk in chunks])


def _executed(chunks: list[Chunk], store: Path, jobs: int) -> Iterator[None]:
    if jobs <= 1:
        for chunk in chunks:
            _run_and_store(chunk, store)
            yield
        return
    # Ctrl-C goes to the whole group: the workers finish their chunk, this process stops handing out more.
    ignore = (signal.SIGINT, signal.SIG_IGN)
    context = multiprocessing.get_context("spawn")
    pool = ProcessPoolExecutor(jobs, mp_context=context, initializer=signal.signal, initargs=ignore)
    try:
        futures: list[Future[None]] = [pool.submit(_run_and_store, chunk, store) for chunk in chunks]
        for future in as_completed(futures):
            future.result()
            yield
    finally:
        pool.shutdown(wait=True, cancel_futures=True)

"""Where chunks are run: in this process, in local processes, or on a Dask cluster.

An engine hands chunks to what others have made (`concurrent.futures`, Dask); nothing here schedules. A worker
that dies takes its chunk with it, and that chunk is run again: Dask does so itself, and a broken local pool is replaced
by a new one.
"""

from __future__ import annotations

import contextlib
import importlib
import pickle
import time
from collections.abc import Callable, Iterator
from concurrent.futures import BrokenExecutor, CancelledError, Executor, Future, as_completed
from typing import Any, Literal, NamedTuple, get_args

from ..._version import __version__
from ...core.compiled import compiling_first
from ...core.processes import Interrupts, checked_jobs, open_pool, stop_pool, unnoticed_by_children
from ...errors import EngineError, OptionError, missing_extra
from ...libraries import pl
from .base import Chunk

EngineName = Literal["local", "dask"]
PATIENCE = 3
"""Number of consecutive worker deaths without a finished chunk after which the engine stops."""


class Done(NamedTuple):
    """A chunk's rows and how long one core worked on them."""

    rows: pl.DataFrame
    seconds: float


def work_on(chunk: Chunk, version: str) -> Done:
    """Run a chunk, wherever this is called."""
    if version != __version__:
        raise EngineError(f"a worker has causal-bandits {__version__}, not {version}; install the same release there")
    start = time.thread_time()
    with compiling_first("the experiment"):
        rows = chunk.work()
    return Done(rows, time.thread_time() - start)


def work_on_packed(chunk: bytes, version: str) -> Done:
    """Run a chunk that was packed by this very program."""
    return work_on(pickle.loads(chunk), version)


Submit = Callable[[Chunk], "Future[Done]"]
Opener = Callable[[contextlib.ExitStack], Submit]
"""Starts workers, and puts on the stack what ends them."""


class Engine(contextlib.AbstractContextManager["Engine"]):
    """Runs chunks; one engine serves all figures of a command, so that workers start only once.

    At an interrupt or an error the workers are killed first; then it is raised.
    """

    def __init__(self, open_workers: Opener | None, workers: int) -> None:
        self.workers = workers
        self.elsewhere = open_workers is not None
        self._open = open_workers
        self._stack = contextlib.ExitStack()
        self._submit: Submit | None = None
        self._interrupts = Interrupts()

    def __enter__(self) -> Engine:
        self._interrupts.__enter__()
        return self

    def __exit__(self, *exception: object) -> None:
        try:
            self._close()
        finally:
            self._interrupts.__exit__()

    def _close(self) -> None:
        with self._interrupts.held():
            self._submit = None
            self._stack.close()

    def run(self, chunks: list[Chunk]) -> Iterator[tuple[Chunk, Done]]:
        """Each chunk with its result, in order of completion."""
        if self._open is None:
            yield from ((chunk, work_on(chunk, __version__)) for chunk in chunks)
            return
        with compiling_first():
            pass  # says here if there is no compiler, since workers do not
        left = dict(enumerate(chunks))
        losses = 0
        while left:
            try:
                for place, done in self._submitted(left):
                    yield left.pop(place), done
                    losses = 0
            except BrokenExecutor:  # a worker died, and the pool with it
                losses += 1
                if losses == PATIENCE:
                    raise EngineError(
                        f"workers died {PATIENCE} times without finishing anything (out of memory?); use fewer --jobs"
                    ) from None
            except CancelledError:
                raise EngineError(
                    "the Dask scheduler went away; finished work is kept, run the same command again to resume"
                ) from None
            finally:
                if left:
                    self._close()

    def _submitted(self, left: dict[int, Chunk]) -> Iterator[tuple[int, Done]]:
        with self._interrupts.held(), unnoticed_by_children():
            if self._submit is None:
                assert self._open is not None
                self._submit = self._open(self._stack)
            places = {self._submit(chunk): place for place, chunk in left.items()}
        for future in as_completed(places):
            yield places[future], future.result()


def make_engine(name: str = "local", *, jobs: int | None = None, scheduler: str | None = None) -> Engine:
    """An engine by name; `jobs` processes, all cores by default.

    With `jobs=1` the local engine works in this very process. `scheduler` is the address of a Dask scheduler that is
    running; without one, Dask runs in this process, listens nowhere, and has its own `jobs` processes.
    """
    if name not in get_args(EngineName):
        raise OptionError(f"engine {name!r} is not known; expected one of {', '.join(get_args(EngineName))}")
    count = checked_jobs(jobs)
    if name == "dask":
        try:
            dask = importlib.import_module(".dask_engine", __package__)
        except ImportError:
            raise missing_extra("dask.distributed", "dask") from None
        return Engine(lambda stack: _over_dask(stack, dask, scheduler, count), count)
    if scheduler is not None:
        raise OptionError(f"scheduler={scheduler!r} is for the Dask engine; add --engine dask")
    return Engine(None if count == 1 else lambda stack: _processes(stack, count), count)


def _processes(stack: contextlib.ExitStack, jobs: int) -> Submit:
    pool = open_pool(jobs)
    stack.callback(stop_pool, pool)
    return lambda chunk: pool.submit(work_on, chunk, __version__)


def _over_dask(stack: contextlib.ExitStack, dask: Any, scheduler: str | None, jobs: int) -> Submit:
    if scheduler is not None:
        there: Executor = dask.cluster_at(stack, scheduler)
        return lambda chunk: there.submit(work_on, chunk, __version__)
    here: Executor = dask.cluster_here(stack, jobs)
    # Dask would send what a user's script defines by value, which cannot be passed on to the worker processes.
    return lambda chunk: here.submit(work_on_packed, pickle.dumps(chunk), __version__)

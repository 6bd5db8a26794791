"""Where chunks are run: in this process, in local processes, or on a Dask cluster.

An engine is a maker of `concurrent.futures` executors; nothing here schedules. A worker that dies takes its chunk with
it, and that chunk is run again: Dask does so itself, and a broken local pool is replaced by a new one.
"""

import contextlib
import importlib
import multiprocessing
import os
import signal
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import BrokenExecutor, CancelledError, Executor, Future, ProcessPoolExecutor, as_completed
from typing import Any, Literal, NamedTuple, get_args

import polars as pl

from .. import __version__
from ..errors import EngineError, OptionError, missing_extra, whole_number
from ..simulate.runs import MOST_JOBS
from .base import Chunk

EngineName = Literal["local", "dask"]
PATIENCE = 3
"""How often in a row workers may die without a single chunk done before we give up."""


class Done(NamedTuple):
    """A chunk's rows and how long one core worked on them."""

    rows: pl.DataFrame
    seconds: float


def work_on(chunk: Chunk, version: str) -> Done:
    """Run a chunk, wherever this is called."""
    if version != __version__:
        raise EngineError(f"a worker has causal-bandits {__version__}, not {version}; install the same release there")
    start = time.thread_time()
    rows = chunk.work()
    return Done(rows, time.thread_time() - start)


class Engine(contextlib.AbstractContextManager["Engine"]):
    """Runs chunks; one engine serves all figures of a command, so that workers start only once."""

    def __init__(self, open_executor: Callable[[contextlib.ExitStack], Executor] | None, workers: int) -> None:
        self.workers = workers
        self.elsewhere = open_executor is not None
        self._open = open_executor
        self._stack = contextlib.ExitStack()
        self._executor: Executor | None = None
        self._futures: dict[Future[Done], int] = {}

    def __exit__(self, *exception: object) -> None:
        self._close()

    def _close(self) -> None:
        for future in self._futures:
            future.cancel()
        if self._executor is not None:
            self._executor.shutdown(wait=True)
        self._executor, self._futures = None, {}
        self._stack.close()

    def run(self, chunks: list[Chunk]) -> Iterator[tuple[Chunk, Done]]:
        """Each chunk with what came of it, in the order in which they are done."""
        if self._open is None:
            yield from ((chunk, work_on(chunk, __version__)) for chunk in chunks)
            return
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
                    "the Dask scheduler went away; finished work is kept, and the same command goes on from there"
                ) from None
            finally:
                if left:  # stopped early: hand out no more, let the workers finish what they have
                    self._close()

    def _submitted(self, left: dict[int, Chunk]) -> Iterator[tuple[int, Done]]:
        if self._executor is None:
            assert self._open is not None
            self._executor = self._open(self._stack)
        with _undisturbed():
            self._futures = {self._executor.submit(work_on, chunk, __version__): place for place, chunk in left.items()}
        for future in as_completed(self._futures):
            yield self._futures[future], future.result()


@contextlib.contextmanager
def _undisturbed() -> Iterator[None]:
    """Processes that start meanwhile ignore Ctrl-C from their first moment: it goes to the whole group.

    The workers finish their chunk; this process hands out no more.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


def make_engine(name: str = "local", *, jobs: int | None = None, scheduler: str | None = None) -> Engine:
    """An engine by name; `jobs` processes, all cores by default.

    With `jobs=1` the local engine works in this very process. `scheduler` is the address of a Dask scheduler that is
    running; without one, Dask starts a cluster of `jobs` processes on this machine.
    """
    if name not in get_args(EngineName):
        raise OptionError(f"engine {name!r} is not known; expected one of {', '.join(get_args(EngineName))}")
    count = whole_number("jobs", os.cpu_count() or 1 if jobs is None else jobs, 1, MOST_JOBS)
    if name == "dask":
        return Engine(lambda stack: _dask(stack, scheduler, count), count)
    if scheduler is not None:
        raise OptionError(f"scheduler={scheduler!r} is for the Dask engine; add --engine dask")
    return Engine(None if count == 1 else lambda _stack: _processes(count), count)


def _processes(jobs: int) -> Executor:
    return ProcessPoolExecutor(jobs, mp_context=multiprocessing.get_context("spawn"))


def _dask(stack: contextlib.ExitStack, scheduler: str | None, jobs: int) -> Executor:
    try:
        distributed: Any = importlib.import_module("distributed")
    except ImportError:
        raise missing_extra("dask.distributed", "dask") from None
    if scheduler is None:
        cluster = stack.enter_context(
            distributed.LocalCluster(n_workers=jobs, threads_per_worker=1, dashboard_address=None)
        )
        address: Any = cluster
    else:
        address = scheduler
    try:
        client = stack.enter_context(distributed.Client(address, timeout=5, set_as_default=False))
        client.wait_for_workers(1, timeout=10)
    except (OSError, ValueError, TimeoutError) as error:
        stack.close()
        raise EngineError(
            f"no Dask scheduler with workers answers at {scheduler!r} ({type(error).__name__}); start one with "
            "'dask scheduler' and, for each core, 'dask worker ADDRESS --nthreads 1', or leave out --scheduler"
        ) from None
    executor: Executor = client.get_executor(pure=False, retries=PATIENCE)
    return executor

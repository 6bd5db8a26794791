"""Worker processes that end with their parent, and Ctrl-C that is handled once.

A worker ignores Ctrl-C, which a terminal sends to the whole group, and leaves when its parent is gone, however that
ended. The owner of a pool stops it: the workers are killed, whatever they are doing.
"""

from __future__ import annotations

import contextlib
import os
import signal
import threading
from collections.abc import Iterator
from types import FrameType
from typing import TYPE_CHECKING, Any

from ..errors import whole_number
from ..libraries import later

if TYPE_CHECKING:
    import multiprocessing
    from concurrent import futures
    from multiprocessing import resource_tracker
else:
    futures, multiprocessing = later("concurrent.futures"), later("multiprocessing")
    resource_tracker = later("multiprocessing.resource_tracker")

STOPPING = (signal.SIGINT, signal.SIGTERM)
MOST_JOBS = max(64, 4 * (os.cpu_count() or 1))
CLOSING_SECONDS = 4.0


def checked_jobs(jobs: int | None) -> int:
    """How many processes; as many as there are cores unless given."""
    return whole_number("jobs", os.cpu_count() or 1 if jobs is None else jobs, 1, MOST_JOBS)


def open_pool(jobs: int) -> futures.ProcessPoolExecutor:
    """A pool of fresh processes; submit to it within `unnoticed_by_children`."""
    context = multiprocessing.get_context("spawn")
    return futures.ProcessPoolExecutor(jobs, mp_context=context, initializer=begin_worker)


def stop_pool(pool: futures.ProcessPoolExecutor) -> None:
    """Kill the workers and wait until they are gone."""
    workers: Any = pool._processes
    manager: Any = pool._executor_manager_thread
    _kill(workers)  # first: a worker that is just starting would fail on what is closed next
    pool.shutdown(wait=False, cancel_futures=True)
    _kill(workers)
    if manager is not None:
        manager.join(CLOSING_SECONDS)


def _kill(workers: Any) -> None:
    for worker in list((workers or {}).values()):
        with contextlib.suppress(ValueError):  # it is gone and closed
            worker.kill()


def begin_worker() -> None:
    """The first thing that a worker does."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=_leave_with_parent, name="leaves with its parent", daemon=True).start()


def _leave_with_parent() -> None:
    """The parent holds one end of a pipe, which the system closes when it dies, even by kill -9."""
    parent = multiprocessing.parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)


@contextlib.contextmanager
def unnoticed_by_children() -> Iterator[None]:
    """Processes and threads that start in this context ignore Ctrl-C."""
    if not hasattr(signal, "pthread_sigmask"):  # Windows
        yield
        return
    resource_tracker.ensure_running()  # starting it later would let the signal through again
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


class Terminated(KeyboardInterrupt):
    """SIGTERM, handled like Ctrl-C."""


def _terminate(*_: object) -> None:
    raise Terminated


class Interrupts(contextlib.AbstractContextManager["Interrupts"]):
    """Within this context the first interrupt is raised, and later ones do not disturb the cleanup. The previous
    handlers of SIGINT and SIGTERM decide what an interrupt is, and are restored afterwards. Signals
    come to the main thread alone, so elsewhere this does nothing.

    In a `command` SIGTERM is an interrupt, too, and those after the first are also ignored when the context has ended.
    """

    def __init__(self, *, command: bool = False) -> None:
        self._command = command
        self._before: dict[int, Any] = {}
        self._handlers: dict[int, Any] = {}
        self._raised = False
        self._held = False
        self._waiting: int | None = None

    def __enter__(self) -> Interrupts:
        if threading.current_thread() is threading.main_thread():
            self._before = {number: signal.getsignal(number) for number in STOPPING}
            self._handlers = {number: handler for number, handler in self._before.items() if callable(handler)}
            if self._command and self._before[signal.SIGTERM] == signal.SIG_DFL:
                self._handlers[signal.SIGTERM] = _terminate
            for number in self._handlers:
                signal.signal(number, self._heed)
        return self

    def __exit__(self, *exception: object) -> None:
        for number in self._handlers:
            signal.signal(number, signal.SIG_IGN if self._command and self._raised else self._before[number])
        self._handlers = {}

    def _heed(self, number: int, frame: FrameType | None) -> None:
        if self._raised:
            return
        if self._held:
            self._waiting = number
            return
        try:
            self._handlers[number](number, frame)
        except BaseException:
            self._raised = True
            raise

    @contextlib.contextmanager
    def held(self) -> Iterator[None]:
        """An interrupt that comes meanwhile is raised at the end."""
        outer, self._held = self._held, True
        try:
            yield
        finally:
            self._held = outer
        if not outer and self._waiting is not None:
            waiting, self._waiting = self._waiting, None
            self._heed(waiting, None)

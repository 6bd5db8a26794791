"""Hands: threads that do what would hold up the event loop.

A pool of the standard library does the same, with two futures and a chain of calls between them for each piece of work;
for pieces of a millisecond that is a tenth of the time.
"""

import asyncio
import contextlib
import threading
from collections.abc import Callable
from queue import SimpleQueue
from typing import Any, TypeVar

T = TypeVar("T")


class Hands:
    """As many threads as there is work at once, up to a limit."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._jobs: SimpleQueue[tuple[Callable[[], Any], asyncio.Future[Any]] | None] = SimpleQueue()
        self._threads = self._at_work = 0

    async def do(self, work: Callable[[], T]) -> T:
        """What `work` gives, done by a thread."""
        done: asyncio.Future[T] = asyncio.get_running_loop().create_future()
        self._at_work += 1
        if self._threads < min(self._at_work, self._most):
            self._threads += 1
            threading.Thread(target=self._toil, name="hand", daemon=True).start()
        self._jobs.put((work, done))
        return await done

    def _toil(self) -> None:
        while (job := self._jobs.get()) is not None:
            work, done = job
            try:
                settle: tuple[Callable[..., None], Any] = done.set_result, work()
            except BaseException as error:
                settle = done.set_exception, error
            with contextlib.suppress(RuntimeError):  # nobody waits any more: the loop is closed
                done.get_loop().call_soon_threadsafe(self._settle, done, *settle)
            del job, work, done, settle

    def _settle(self, done: asyncio.Future[Any], how: Callable[[Any], None], found: Any) -> None:
        self._at_work -= 1
        if not done.done():
            how(found)

    def close(self) -> None:
        """Let the threads go, each after the work that it has."""
        for _ in range(self._threads):
            self._jobs.put(None)
        self._threads = 0

"""Batches: calls that come while one batch is being stored are stored together in the next one.

There is no thread for this: a caller that finds nobody at work stores what waits, with its own call, and passes the
work on to one who came meanwhile.
"""

import threading
from collections import deque
from collections.abc import Callable, Sequence
from typing import Any

from ...errors import CausalBanditsError, StorageError
from .calls import Call

MOST = 500
"""Calls in one batch."""
INTERRUPTED = "the call was interrupted while it was being stored, and may or may not be; check, or repeat it"


class Batches:
    """Calls of many threads, stored a batch at a time by `store`, which leaves a result or an error in each."""

    def __init__(self, store: Callable[[Sequence[Call]], None]) -> None:
        self._store = store
        self._lock = threading.Lock()
        self._waiting: deque[Call] = deque()
        self._busy = False

    def submit(self, call: Call) -> Any:
        """Store a call; returns when it is stored."""
        with self._lock:
            self._waiting.append(call)
            leads, self._busy = not self._busy, True
        if not leads:
            self._wait(call)
            leads = call.leads
        if leads:
            self._lead()
        if call.error is not None:
            raise call.error
        return call.result

    def _wait(self, call: Call) -> None:
        """Until the call is stored, or is to lead; one that is interrupted leaves the queue and passes the lead on."""
        try:
            call.event.wait()
        except BaseException:
            with self._lock:
                if call in self._waiting:
                    self._waiting.remove(call)
            if call.leads:
                self._pass_on()
            raise

    def _pass_on(self) -> None:
        """Let the first one that waits lead."""
        with self._lock:
            following = self._waiting[0] if self._waiting else None
            self._busy = following is not None
            if following is not None:
                following.leads = True
                following.event.set()

    def _lead(self) -> None:
        """Store what waits, and let the next one lead; whoever leads has its own call among the first that wait."""
        with self._lock:
            batch = [self._waiting.popleft() for _ in range(min(MOST, len(self._waiting)))]
        try:
            self._store(batch)
        except CausalBanditsError as error:
            for call in batch:
                call.error = call.error or error
        except BaseException:
            for call in batch:
                call.error = call.error or StorageError(INTERRUPTED)
            raise
        finally:
            self._pass_on()
            for call in batch:
                call.event.set()

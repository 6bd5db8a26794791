"""Batches: calls that come while one batch is being stored are stored together in the next one, in one statement.

There is no thread for this: a caller that finds nobody at work stores what waits, with its own call, and passes the
work on to one who came meanwhile.
"""

import threading
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from ....errors import CausalBanditsError, StorageError
from ..storage import AppendLog, Known, RaceError, Row

MOST = 500
"""Calls in one batch."""
MOST_TRIES = 1000
INTERRUPTED = "the call was interrupted while it was being stored, and may or may not be; check, or repeat it"


@dataclass(eq=False)
class Call:
    """One call: all its rows are stored, or none. What it returns is in `result`, or in `error`."""

    rows: Callable[[Known | None], tuple[list[Row], Any]]
    """The rows to append and the result, given what the log has; None: expect nothing stored."""
    keys: Sequence[str] = ()
    decisions: Sequence[int] = ()
    """What must not be used by another call of the same batch, and is looked up in the log."""
    asks: int = 0
    """How many decisions it makes. The first of them is the result, as the number within the call."""
    is_new: Callable[[int], bool] = lambda _: False
    """Whether nothing in the log is likely to matter, when this many decisions are known to be made."""
    result: Any = None
    error: Exception | None = None
    event: threading.Event = field(default_factory=threading.Event)
    leads: bool = False


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


class StoreCalls:
    """Stores calls in the append log: look at what must be looked at, then append all rows in one statement."""

    def __init__(self, log: AppendLog, publish_rows: int | None) -> None:
        self._log, self._publish_rows = log, publish_rows
        self._made = 0
        """This process knows that this many decisions are made."""

    def __call__(self, calls: Sequence[Call]) -> None:
        """Store each call or leave an error in it; calls about the same key or decision follow each other."""
        left = list(calls)
        look = False
        for _ in range(MOST_TRIES):
            if not left:
                return
            now, later = _apart(left)
            try:
                self._append(now, look=look)
            except RaceError:
                look = True
                continue
            left, look = later, bool(later)
        raise StorageError("other workers wrote first in 1,000 attempts; try again")

    def _append(self, calls: Sequence[Call], *, look: bool) -> None:
        looking = [call for call in calls if look or not call.is_new(self._made)]
        known = self._looked_at(looking) if looking else None
        looked = set(map(id, looking))
        rows: list[Row] = []
        asking: list[tuple[Call, int]] = []
        asks = 0
        for call in calls:
            call.error = None
            try:
                found, call.result = call.rows(known if id(call) in looked else None)
            except CausalBanditsError as error:
                call.error = error
                continue
            if call.asks and found:
                found = [row._replace(decision=row.decision + asks) for row in found]
                asking.append((call, asks))
                asks += call.asks
            rows += found
        if not rows:
            return
        _, decisions = self._log.append(rows, asks, self._publish_rows)
        self._made = max(self._made, decisions + asks)
        for call, before in asking:
            call.result = call.result._replace(first=decisions + before + 1)

    def _looked_at(self, calls: Sequence[Call]) -> Known:
        keys = [key for call in calls for key in call.keys]
        known = self._log.known(keys, [number for call in calls for number in call.decisions])
        self._made = max(self._made, known.decisions)
        return known


def _apart(calls: Sequence[Call]) -> tuple[list[Call], list[Call]]:
    """The calls that may be stored at once, and those that come after one about the same."""
    used: set[object] = set()
    now: list[Call] = []
    later: list[Call] = []
    for call in calls:
        about = {*call.keys, *call.decisions}
        (later if about & used else now).append(call)
        used |= about
    return now, later

"""Batches: calls that come while one batch is being stored are stored together in the next one, in one statement.

There is no thread for this: a caller that finds nobody at work stores what waits, with its own call.
"""

import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from ....errors import CausalBanditsError, StorageError
from ..storage.append_log import AppendLog, Known, RaceError, Row

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
    is_stored: bool = False
    """Whether it is done, with a result or an error."""


class Batches:
    """Calls of many threads, stored a batch at a time by `store`, which leaves a result or an error in each."""

    def __init__(self, store: Callable[[Sequence[Call]], None]) -> None:
        self._store = store
        self._turn = threading.Condition()
        self._waiting: list[Call] = []
        self._busy = False

    def submit(self, call: Call) -> Any:
        """Store a call; returns when it is stored. One that is interrupted while it waits is not stored."""
        with self._turn:
            self._waiting.append(call)
        while not call.is_stored:
            batch: list[Call] = []
            error: CausalBanditsError | None = StorageError(INTERRUPTED)
            try:
                with self._turn:
                    self._turn.wait_for(lambda: call.is_stored or not self._busy)
                    if not call.is_stored:
                        batch, self._busy = self._waiting[:MOST], True
                        del self._waiting[:MOST]
                if batch:
                    self._store(batch)
                error = None
            except CausalBanditsError as problem:
                error = problem
            finally:
                if batch or error is not None:
                    self._end(batch, call, error)
        if call.error is not None:
            raise call.error
        return call.result

    def _end(self, batch: Sequence[Call], call: Call, error: CausalBanditsError | None) -> None:
        """A batch is stored or has failed; without one, `call` was interrupted while it waited."""
        with self._turn:
            if batch:
                self._busy = False
                self._turn.notify_all()
            elif call in self._waiting:
                self._waiting.remove(call)
            for each in batch:
                each.error, each.is_stored = each.error or error, True


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

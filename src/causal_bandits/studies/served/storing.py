"""Storing a batch of calls in the append log: look at what must be looked at, then append all rows in one statement."""

from collections.abc import Sequence

from ...errors import CausalBanditsError, StorageError
from ..storage import AppendLog, Known, RaceError, Row
from .calls import Call

MOST_TRIES = 1000


class Storing:
    """The way from calls to the log."""

    def __init__(self, log: AppendLog) -> None:
        self._log = log
        self._made = 0
        """So many decisions are made, as far as this process knows."""

    def __call__(self, calls: Sequence[Call]) -> None:
        """Store each call or leave an error in it; calls about the same key or decision follow each other."""
        left = list(calls)
        look = False
        for _ in range(MOST_TRIES):
            if not left:
                return
            now, later = _apart(left)
            try:
                self._store(now, look=look)
            except RaceError:
                look = True
                continue
            left, look = later, bool(later)
        raise StorageError("other workers were faster a thousand times in a row; try again")

    def _store(self, calls: Sequence[Call], *, look: bool) -> None:
        looking = [call for call in calls if look or call.must_look(self._made)]
        known = self._looked_at(looking) if looking else None
        looked = set(map(id, looking))
        rows: list[Row] = []
        adding: list[Call] = []
        asks = 0
        for call in calls:
            call.error = None
            try:
                found = call.rows(known if id(call) in looked else None, asks)
            except CausalBanditsError as error:
                call.error = error
                continue
            if found:
                rows += found
                adding.append(call)
                asks += call.asks
        if not rows:
            return
        _, decisions = self._log.append(rows, asks)
        self._made = max(self._made, decisions + asks)
        for call in adding:
            call.stored(decisions)

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

"""The aggregator: counts what was appended, in order, and so publishes the next snapshot.

Every worker of a study stands for election; the one that holds the seat counts, and when its process or its connection
ends, another takes the seat. Nothing depends on there being one at a time: counting takes the study's lock and begins
where the last event ended, so two would take turns. A worker therefore also counts when the seat is held by one that
does not move.
"""

import json
import logging
import time
from collections.abc import Sequence
from functools import partial
from typing import Any

from ...errors import CausalBanditsError, StorageError
from ..session import DAMAGE, Draft, Session
from ..storage import AppendLog, Ends, Row, Seat, damaged

log = logging.getLogger("causal_bandits.studies")

CHUNK = 5000
"""Rows in one event, at most."""
GROWTH, MOST_ROWS = 0.01, 1000
"""Where a study does not say after how many rows a snapshot is due: this share of those that it has, up to a limit."""
STUCK_SECONDS = 5.0
"""Rows that wait for longer than this, and than five times what was asked for, are counted by whoever sees it."""


def counted_body(after: int, first: int, rows: Sequence[Row]) -> dict[str, Any]:
    """The body of the event that counts rows behind a position; `first` is the next decision."""
    asked: list[Any] = []
    told: list[Any] = []
    made = first - 1
    for row in rows:
        body = json.loads(row.body)
        if row.kind == "asked":
            if row.decision != made + 1:
                raise ValueError(f"decision {row.decision} after {made}")
            asked.append([row.time, *body])
            made += len(body[2])
        elif "closed" in body:
            told.append([row.decision, row.time, body["closed"]])
        else:
            told.append([row.decision, row.time, body["seen"], *([body["metrics"]] if "metrics" in body else [])])
    return {"after": after, "until": after + len(rows), "first": first, "asked": asked, "told": told}


def _time_of(session: Session) -> float:
    return session.clock()


class UncountableError(Exception):
    """Rows of the log cannot be counted together; `rows` is how many they are."""

    def __init__(self, rows: int, reason: str) -> None:
        super().__init__(reason)
        self.rows = rows


class Aggregator:
    """Counts for one study; any number of processes may have one."""

    def __init__(self, session: Session, log: AppendLog) -> None:
        consistency = session.settings.consistency
        assert consistency is not None
        self.seat = Seat(session.store, session.row.id)
        self._rows: int | None = consistency["rows"]
        self._seconds = float(consistency["seconds"])
        self._session, self._log = Session(session.store, session.row), log
        self._session.clock = partial(_time_of, session)
        self._waits_since: float | None = None
        self._counted = 0

    def count(self) -> int:
        """Count all that is appended; returns how many rows that were.

        A row that cannot be counted is set aside: fewer rows are tried until it is alone.
        """
        total, most = 0, CHUNK
        while True:
            try:
                now = self._session.write(partial(self._count_some, most=most))
            except UncountableError as error:
                if error.rows > 1:
                    most = error.rows // 2
                    continue
                now = self._session.write(partial(self._set_aside, reason=str(error)))
            total += now
            if now < most:
                break
            most = min(2 * most, CHUNK)
        self._waits_since = None
        return total

    def _count_some(self, draft: Draft, *, most: int) -> int:
        state = draft.state
        rows = self._log.after(draft.transaction, state.appended, most)
        if not rows:
            return 0
        try:
            draft.add("counted", counted_body(state.appended, len(state.decisions) + 1, rows))
        except StorageError:
            raise
        except (*DAMAGE, CausalBanditsError) as error:
            raise UncountableError(len(rows), f"{type(error).__name__}: {error}") from error
        return len(rows)

    def _set_aside(self, draft: Draft, *, reason: str) -> int:
        """Go on behind the next row; decisions that it made get no outcome."""
        state = draft.state
        row = self._log.after(draft.transaction, state.appended, 1)[0]
        body = {**counted_body(state.appended, len(state.decisions) + 1, []), "until": row.position}
        try:
            arms = json.loads(row.body)[2] if row.kind == "asked" else []
            draft.add("counted", {**body, "aside": [row.position, row.decision, [*arms], reason]})
        except DAMAGE as error:
            what = f"row {row.position} of the append log of study {self._session.row.name!r}"
            raise damaged(self._session.store.place, what) from error
        log.error(
            "study %r: row %d of its log (decision %d) cannot be counted and is set aside: %s",
            *(self._session.row.name, row.position, row.decision, reason),
        )
        return 1

    def overdue(self) -> list[int]:
        """Decisions that have been open for too long, as far as they are counted."""
        after = self._session.settings.expire_after
        if after is None:
            return []
        return self._session.at_hand(lambda state: state.overdue(self._session.clock(), after))

    def is_due(self, ends: Ends, counted: int) -> bool:
        """Whether to count now: enough rows wait, or for long enough; and the seat is ours, or nobody moves."""
        waiting = ends.position - counted
        now = time.monotonic()
        if waiting <= 0 or counted != self._counted or self._waits_since is None:
            self._counted, self._waits_since = counted, now if waiting > 0 else None
        waited = 0.0 if self._waits_since is None else now - self._waits_since
        if not self.seat.take():
            return waited > max(STUCK_SECONDS, 5 * self._seconds)
        enough = self._rows or min(MOST_ROWS, max(1, int(GROWTH * counted)))
        return waiting >= enough or (waiting > 0 and waited >= self._seconds)

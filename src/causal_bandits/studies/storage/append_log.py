"""The append log of a served study: what workers have acknowledged, in order, for the aggregator to count.

Workers never take the study's lock. An append is one statement of many rows, sent at once: the server takes the end of
the log, writes the rows behind it and commits, whatever becomes of the worker meanwhile. So positions and decisions
have no gaps, and whoever sees a position sees all before it.
"""

import os
from collections.abc import Callable, Sequence
from hashlib import blake2b
from typing import Any, NamedTuple

import sqlalchemy as sa

from ...errors import UnknownStudyError
from .links import Link
from .patience import database_errors, sqlstate
from .sentences import plainly
from .store import Store
from .transaction import Transaction, damaged

ELECTION = 0x63626171
"""With the number of a study and the schema it is in: the advisory lock that its aggregator holds."""
AGGREGATOR = "causal-bandits aggregator"
"""How the connection of an aggregator is called in pg_stat_activity, before the number of its process."""
TAKEN = "23505"
"""PostgreSQL: a row with this key is there already."""

_APPEND = """
WITH head AS (
    UPDATE cb_served SET position = position + %(rows)s, decisions = decisions + %(asks)s WHERE study = %(study)s
    RETURNING position - %(rows)s AS position, decisions - %(asks)s AS decisions
), added AS (
    INSERT INTO cb_appended (study, position, kind, decision, part, mark, time, body)
    SELECT %(study)s, head.position + r.place, r.kind, r.decision + CASE WHEN r.part = 0 THEN head.decisions ELSE 0 END,
        r.part, r.mark, r.time, r.body
    FROM head, unnest(%(kinds)s::text[], %(decisions)s::bigint[], %(parts)s::int[], %(marks)s::bytea[],
        %(times)s::float8[], %(bodies)s::text[]) WITH ORDINALITY AS r(kind, decision, part, mark, time, body, place)
)
SELECT position, decisions FROM head"""

_COLUMNS = "position, kind, decision, part, mark, time, body"
_KNOWN = f"""
SELECT position, 'ends', decisions, 0, NULL::bytea, 0::float8, '' FROM cb_served WHERE study = %(study)s
UNION ALL SELECT {_COLUMNS} FROM cb_appended WHERE study = %(study)s AND mark = ANY(%(marks)s)
UNION ALL SELECT {_COLUMNS} FROM cb_appended WHERE study = %(study)s AND decision = ANY(%(decisions)s) AND part > 0
UNION ALL SELECT seq, 'key', 0, 0, NULL, 0, key FROM cb_keys WHERE study = %(study)s AND key = ANY(%(keys)s)"""

_ENDS = """SELECT h.seq, s.position, s.decisions FROM cb_served s JOIN cb_heads h ON h.study = s.study
WHERE s.study = %(study)s"""
_AFTER = sa.text(
    f"SELECT {_COLUMNS} FROM cb_appended WHERE study = :study AND position > :after AND position <= :until "
    "ORDER BY position"
)
_ELECT = "SELECT pg_try_advisory_lock(hashtextextended(current_schema() || ':' || %s, %s))"
_MARK = sa.text("SELECT 1 FROM cb_appended WHERE study = :study AND mark = :mark")


class Row(NamedTuple):
    """One row of the log; in one to append, the decision of an ask counts from 1 within its batch."""

    position: int
    kind: str
    decision: int
    part: int
    mark: bytes | None
    time: float
    body: str


class Ends(NamedTuple):
    """How far a study is: its newest event, and the last position and decision of its log."""

    seq: int
    position: int
    decisions: int


class Known(NamedTuple):
    """What the log has for some keys and decisions."""

    decisions: int
    asks: dict[bytes, Row]
    told: dict[int, list[Row]]
    other: set[str]
    """Keys that were used for imports."""


class RaceError(Exception):
    """Another worker was faster with one of the keys or decisions; nothing was appended."""


def mark_of(key: str) -> bytes:
    """What stands for a key in the log, however long it is."""
    return blake2b(key.encode("utf-8", "surrogatepass"), digest_size=16).digest()


class AppendLog:
    """The log of one study."""

    def __init__(self, store: Store, study: int) -> None:
        self._store = store
        self._study = study

    def append(self, rows: Sequence[Row], asks: int) -> tuple[int, int]:
        """Append rows, all or none, durably; the last position and the last decision before them."""
        values = {
            "study": self._study,
            "rows": len(rows),
            "asks": asks,
            "kinds": [row.kind for row in rows],
            "decisions": [row.decision for row in rows],
            "parts": [row.part for row in rows],
            "marks": [row.mark for row in rows],
            "times": [row.time for row in rows],
            "bodies": [row.body for row in rows],
        }

        def work(raw: Any) -> Any:
            try:
                return raw.execute(_APPEND, values).fetchone()
            except database_errors() as error:
                if sqlstate(error) == TAKEN:  # the connection is as good as before
                    return error
                raise

        found = self._at_once(work)
        if found is None:
            raise _gone()
        if isinstance(found, Exception):
            raise RaceError from found
        return int(found[0]), int(found[1])

    def known(self, keys: Sequence[str], decisions: Sequence[int]) -> Known:
        """What is stored for keys and decisions."""
        values = {"study": self._study, "keys": [*keys], "marks": [*map(mark_of, keys)], "decisions": [*decisions]}
        found = [Row(*row) for row in self._at_once(lambda raw: raw.execute(_KNOWN, values).fetchall())]
        ends = next((row for row in found if row.kind == "ends"), None)
        if ends is None:
            raise _gone()
        told: dict[int, list[Row]] = {}
        for row in sorted((row for row in found if row.part > 0), key=lambda row: row.part):
            told.setdefault(row.decision, []).append(row)
        asks = {row.mark: row for row in found if row.kind == "asked" and row.mark is not None}
        return Known(ends.decision, asks, told, {row.body for row in found if row.kind == "key"})

    def ends(self) -> Ends:
        """How far the study is; one small query."""
        found = self._at_once(lambda raw: raw.execute(_ENDS, {"study": self._study}).fetchone())
        if found is None:
            raise _gone()
        return Ends(*map(int, found))

    def _at_once(self, work: Callable[[Any], Any]) -> Any:
        return plainly(self._store.url, lambda: self._store.links.at_once(work))

    def after(self, transaction: Transaction, position: int, most: int) -> list[Row]:
        """The rows behind a position, in order and without a gap."""
        values = {"study": self._study, "after": position, "until": position + most}
        found = [Row(*row) for row in transaction.connection.execute(_AFTER, values).fetchall()]
        if [row.position for row in found] != [*range(position + 1, position + 1 + len(found))]:
            raise damaged(self._store.place, f"row {position + 1} of the append log of a study")
        return found

    def has_key(self, transaction: Transaction, key: str) -> bool:
        """Whether an ask has used a key."""
        values = {"study": self._study, "mark": mark_of(key)}
        return transaction.connection.execute(_MARK, values).first() is not None


def _gone() -> UnknownStudyError:
    return UnknownStudyError("the study is no longer in its storage; it was deleted while open")


_inherited: list[Link] = []
"""Connections of a parent process: neither used nor closed."""


class Seat:
    """The seat of a study's aggregator: held by one connection at a time, and free again when that one ends."""

    def __init__(self, store: Store, study: int) -> None:
        self._store, self._study = store, study
        self._link: Link | None = None
        self._taken = False

    def take(self) -> bool:
        """Whether it is ours, or was free; asks the server each time, since a connection may have been cut."""
        try:
            if self._link is None:
                self._link = plainly(self._store.url, self._store.links.own)
            if self._taken:
                self._link.raw.execute("SELECT 1")
            elif self._link.raw.execute(_ELECT, (str(self._study), ELECTION)).fetchone()[0]:
                self._link.raw.execute(f"SET application_name = '{AGGREGATOR} {os.getpid()}'")
                self._taken = True
        except database_errors():
            self.leave()
        return self._taken

    def leave(self) -> None:
        """Give it up."""
        link, self._link, self._taken = self._link, None, False
        if link is not None:
            link.discard()

    def start_afresh(self) -> None:
        """In a child process: the parent holds it, or tries to."""
        if self._link is not None:
            _inherited.append(self._link)
        self._link, self._taken = None, False

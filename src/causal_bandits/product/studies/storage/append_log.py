"""The append log of a study in high-throughput mode: what workers have acknowledged, in order, to be counted.

Workers never take the study's lock. An append is one statement of many rows, sent at once: the server takes the end of
the log, writes the rows behind it and commits, whatever becomes of the worker meanwhile. So positions and decisions
have no gaps, and whoever sees a position sees all before it.
"""

from collections.abc import Sequence
from hashlib import blake2b
from typing import Any, NamedTuple

import sqlalchemy as sa

from .connections import UNIQUE_VIOLATION, Connections, database_errors, sqlstate
from .schema import log_ends
from .transaction import CHANNEL, Transaction, corrupt, deleted

LEADER_LOCK = 0x63626171
"""With the number of a study and the schema it is in: the advisory lock of whoever counts its rows."""

_APPEND = f"""
WITH head AS (
    UPDATE cb_log_ends SET position = position + %(rows)s, decisions = decisions + %(asks)s WHERE study = %(study)s
    RETURNING position - %(rows)s AS position, decisions - %(asks)s AS decisions, counted
), added AS (
    INSERT INTO cb_log_rows (study, position, kind, decision, part, mark, time, body)
    SELECT %(study)s, head.position + r.nth, r.kind, r.decision + CASE WHEN r.part = 0 THEN head.decisions ELSE 0 END,
        r.part, r.mark, r.time, r.body
    FROM head, unnest(%(kinds)s::text[], %(decisions)s::bigint[], %(parts)s::int[], %(marks)s::bytea[],
        %(times)s::float8[], %(bodies)s::text[]) WITH ORDINALITY AS r(kind, decision, part, mark, time, body, nth)
), enough AS (
    SELECT position - counted AS waited,
        coalesce(%(publish)s::bigint, least(%(most)s, greatest(1, floor(%(growth)s * counted)))) AS rows FROM head
)
SELECT position, decisions, CASE WHEN waited = 0 OR (waited < enough.rows AND waited + %(rows)s >= enough.rows)
    THEN pg_notify({CHANNEL}, %(study)s || ' rows') END FROM head, enough"""
"""A notification is sent for the first row that waits and when enough rows wait: twice for each time they are counted,
since every commit with a notification takes a lock that all of them share."""

_COLUMNS = "position, kind, decision, part, mark, time, body"
_KNOWN = f"""
SELECT position, 'ends', decisions, 0, NULL::bytea, 0::float8, '' FROM cb_log_ends WHERE study = %(study)s
UNION ALL SELECT {_COLUMNS} FROM cb_log_rows WHERE study = %(study)s AND mark = ANY(%(marks)s)
UNION ALL SELECT {_COLUMNS} FROM cb_log_rows WHERE study = %(study)s AND decision = ANY(%(decisions)s) AND part > 0
UNION ALL SELECT seq, 'key', 0, 0, NULL, 0, key FROM cb_keys WHERE study = %(study)s AND key = ANY(%(keys)s)"""

_ENDS = """SELECT s.study, h.seq, s.position, s.counted FROM cb_log_ends s JOIN cb_heads h ON h.study = s.study
WHERE s.study = ANY(%(studies)s)"""
_AFTER = sa.text(
    f"SELECT {_COLUMNS} FROM cb_log_rows WHERE study = :study AND position > :after AND position <= :until "
    "ORDER BY position"
)
_MARK = sa.text("SELECT 1 FROM cb_log_rows WHERE study = :study AND mark = :mark")
_COUNTED = sa.text("UPDATE cb_log_ends SET counted = :counted WHERE study = :study RETURNING position")

LISTEN = "SELECT " + CHANNEL
TRY_LEAD = f"SELECT pg_try_advisory_lock(hashtextextended(current_schema() || ':' || %s, {LEADER_LOCK}))"
STOP_LEADING = f"SELECT pg_advisory_unlock(hashtextextended(current_schema() || ':' || %s, {LEADER_LOCK}))"

GROWTH, MOST_ROWS = 0.01, 1000
"""Where a study does not say after how many rows they are counted: this share of those that it has, up to a limit."""


def make_log(connection: sa.Connection, study: int) -> None:
    """Make the log of a new study."""
    connection.execute(log_ends.insert(), {"study": study, "position": 0, "decisions": 0, "counted": 0})


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
    """How far a study is: its newest event, the last position of its log, and the last one that is counted."""

    seq: int
    position: int
    counted: int


class Known(NamedTuple):
    """What the log has for some keys and decisions."""

    decisions: int
    asks: dict[bytes, Row]
    reported: dict[int, list[Row]]
    other: set[str]
    """Keys that were used for imports."""


class RaceError(Exception):
    """Another worker was faster with one of the keys or decisions; nothing was appended."""


def mark_of(key: str) -> bytes:
    """What stands for a key in the log, however long it is."""
    return blake2b(key.encode("utf-8", "surrogatepass"), digest_size=16).digest()


class AppendLog:
    """The log of one study."""

    def __init__(self, connections: Connections, study: int, address: str) -> None:
        self._connections, self._study, self._address = connections, study, address

    def append(self, rows: Sequence[Row], asks: int, publish: int | None) -> tuple[int, int]:
        """Append rows, all or none, durably; the last position and the last decision before them.

        Whoever counts the study is notified of the first row that waits, and when `publish` rows wait.
        """
        values = {
            "study": self._study,
            "rows": len(rows),
            "asks": asks,
            "publish": publish,
            "growth": GROWTH,
            "most": MOST_ROWS,
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
                if sqlstate(error) == UNIQUE_VIOLATION:  # the connection is as good as before
                    return error
                raise

        found = self._connections.statements(work)
        if found is None:
            raise deleted()
        if isinstance(found, Exception):
            raise RaceError from found
        return int(found[0]), int(found[1])

    def known(self, keys: Sequence[str], decisions: Sequence[int]) -> Known:
        """What is stored for keys and decisions."""
        stored = [key for key in keys if "\0" not in key]
        values = {"study": self._study, "keys": stored, "marks": [*map(mark_of, keys)], "decisions": [*decisions]}
        found = [Row(*row) for row in self._connections.statements(lambda raw: raw.execute(_KNOWN, values).fetchall())]
        ends = next((row for row in found if row.kind == "ends"), None)
        if ends is None:
            raise deleted()
        reported: dict[int, list[Row]] = {}
        for row in sorted((row for row in found if row.part > 0), key=lambda row: row.part):
            reported.setdefault(row.decision, []).append(row)
        asks = {row.mark: row for row in found if row.kind == "asked" and row.mark is not None}
        return Known(ends.decision, asks, reported, {row.body for row in found if row.kind == "key"})

    def after(self, transaction: Transaction, position: int, most: int) -> list[Row]:
        """The rows behind a position, in order and without a gap."""
        values = {"study": self._study, "after": position, "until": position + most}
        found = [Row(*row) for row in transaction.connection.execute(_AFTER, values).fetchall()]
        if [row.position for row in found] != [*range(position + 1, position + 1 + len(found))]:
            raise corrupt(self._address, f"row {position + 1} of the append log of a study")
        return found

    def has_key(self, transaction: Transaction, key: str) -> bool:
        """Whether an ask has used a key."""
        values = {"study": self._study, "mark": mark_of(key)}
        return transaction.connection.execute(_MARK, values).first() is not None

    def set_counted(self, transaction: Transaction, position: int) -> int:
        """Record up to which position rows are counted; returns the last position of the log."""
        values = {"study": self._study, "counted": position}
        return int(transaction.connection.execute(_COUNTED, values).scalar_one())


def ends_of(connections: Connections, studies: Sequence[int]) -> dict[int, Ends]:
    """How far studies are, in one small query; those that were deleted are left out."""
    found = connections.statements(lambda raw: raw.execute(_ENDS, {"studies": [*studies]}).fetchall())
    return {int(study): Ends(*map(int, ends)) for study, *ends in found}

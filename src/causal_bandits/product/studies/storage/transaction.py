"""One study inside one transaction: every event that is read is checked against the chain of digests.

The digest of an event covers the digest of the event before it, so the digest of the newest event stands for the whole
history: an event that was edited, removed, added or moved no longer fits the ones after it. The digests guard against
accidents (a corrupt page, a restored copy, a manual correction), not against somebody who recomputes all of them.
"""

import json
import math
import struct
from collections.abc import Iterator, Sequence
from hashlib import blake2b
from typing import Any, NamedTuple

import sqlalchemy as sa

from ....errors import StorageError, UnknownStudyError, UnreadableStudyError
from ..decisions import Event, Kind
from .schema import events, heads, keys, snapshots

SIZE = 8
"""Bytes of a digest: a change goes unnoticed with probability 2^-64."""


class Head(NamedTuple):
    """The newest event of a history: its number and its digest."""

    seq: int
    digest: bytes


START = Head(0, bytes(SIZE))
"""Before the first event."""


def _digest(*parts: bytes) -> bytes:
    made = blake2b(digest_size=SIZE)
    for part in parts:
        made.update(len(part).to_bytes(8, "big"))
        made.update(part)
    return made.digest()


def event_digest(before: bytes, seq: int, kind: str, time: float, body: str) -> bytes:
    """The digest of an event after the one with digest `before`.

    >>> first = event_digest(START.digest, 1, "created", 0.0, "{}")
    >>> len(first), first == event_digest(START.digest, 1, "created", 0.5, "{}")
    (8, False)
    """
    return _digest(before, struct.pack(">qd", seq, time), kind.encode(), body.encode())


def snapshot_digest(head: Head, content: bytes) -> bytes:
    """The digest of a snapshot: of its content and of the history it stands for."""
    return _digest(struct.pack(">q", head.seq), head.digest, content)


def key_digest(key: str, seq: int) -> bytes:
    """The digest of one key and its event."""
    return _digest(key.encode(), struct.pack(">q", seq))


def combined(one: bytes, other: bytes) -> bytes:
    """Digests of a set, put together in any order; a digest put in twice is out again.

    >>> combined(b"abcdefgh", combined(b"12345678", b"abcdefgh"))
    b'12345678'
    """
    return (int.from_bytes(one, "big") ^ int.from_bytes(other, "big")).to_bytes(SIZE, "big")


SNAPSHOT_RATIO = 1.5
"""Older snapshots are kept at numbers of events that grow by this factor."""

# Built once: making a statement costs more than running it.
_FROM = (
    sa.select(events.c.seq, events.c.kind, events.c.time, events.c.body, events.c.digest)
    .where(events.c.study == sa.bindparam("study"), events.c.seq >= sa.bindparam("first"))
    .order_by(events.c.seq)
)
_BETWEEN = _FROM.where(events.c.seq <= sa.bindparam("until"))
_NEWEST = (
    sa.select(events.c.seq, events.c.kind, events.c.time, events.c.body)
    .where(events.c.study == sa.bindparam("study"), events.c.kind.in_(sa.bindparam("kinds", expanding=True)))
    .order_by(events.c.seq.desc())
    .limit(sa.bindparam("most"))
)
_ADD = events.insert()
_HEAD = sa.select(heads.c.seq, heads.c.digest).where(heads.c.study == sa.bindparam("study"))
_MOVE = (
    heads.update()
    .where(heads.c.study == sa.bindparam("of"), heads.c.seq == sa.bindparam("before"))
    .values(seq=sa.bindparam("after"), digest=sa.bindparam("now"))
)
_KEY = sa.select(keys.c.seq).where(keys.c.study == sa.bindparam("study"), keys.c.key == sa.bindparam("key"))
CHANNEL = "'cb_' || md5(current_schema())"
"""Where workers in high-throughput mode hear of new rows ("STUDY rows") and of new events ("STUDY events")."""
_NOTIFY = sa.text(f"SELECT pg_notify({CHANNEL}, :study || ' events')")
_KEYS = sa.select(heads.c.of_keys).where(heads.c.study == sa.bindparam("study"))


def dump(value: object) -> str:
    """JSON, short and exact."""
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False, allow_nan=False)


def corrupt(address: str, what: str) -> UnreadableStudyError:
    """The error for something stored that cannot be read."""
    return UnreadableStudyError(f"storage {address} is corrupt: {what} cannot be read; restore it from a backup")


def deleted() -> UnknownStudyError:
    """The error for an open study that somebody deleted."""
    return UnknownStudyError("the study is no longer in its storage; it was deleted while open")


def newer(address: str, what: str) -> UnreadableStudyError:
    """The error for something that is intact, and unknown to this version."""
    return UnreadableStudyError(f"{what} in storage {address} was written by a newer version; upgrade causal-bandits")


def load(text: object, address: str, what: str) -> dict[str, Any]:
    """An object from its JSON."""
    try:
        found = json.loads(text) if isinstance(text, str) else None
    except (ValueError, RecursionError):
        found = None
    if not isinstance(found, dict):
        raise corrupt(address, what)
    return found


class Transaction:
    """One study inside one transaction."""

    def __init__(self, connection: sa.Connection, study: int, address: str) -> None:
        self.connection = connection
        self._study = study
        self._address = address

    # Events

    def head(self) -> Head:
        """The newest event; without one the study is gone."""
        row = self.connection.execute(_HEAD, {"study": self._study}).first()
        if row is None:
            raise deleted()
        if not isinstance(row[0], int) or not isinstance(row[1], bytes):
            raise corrupt(self._address, "the number of events of a study")
        return Head(row[0], row[1])

    def newer(self, known: Head) -> list[Event]:
        """The events after one that was read before; that must still be there, and so must be the newest."""
        head = self.head()
        if head == known:
            return []
        found = self._read(known.seq, None)
        if known.seq:
            self._expect(known, found)
            found = found[1:]
        news = list(self._checked(known, found))
        if not news or Head(news[-1].seq, news[-1].digest) != head:
            raise corrupt(self._address, f"event {max(head.seq, known.seq)} of a study")
        return news

    def check(self, known: Head) -> None:
        """Reject a history without an event that was read before."""
        if known.seq:
            self._expect(known, self._read(known.seq, known.seq))

    def _expect(self, known: Head, found: Sequence[Any]) -> None:
        if not found or (found[0][0], found[0][4]) != known:
            self.head()  # a study that was deleted is another matter
            raise StorageError(
                f"storage {self._address} was rolled back: event {known.seq} is not the one that this study has read; "
                "load the study again, and do not report outcomes of decisions that are no longer in it"
            )

    def events(self, after: int, until: int | None = None) -> list[Event]:
        """The events after a number, in order; up to and with `until`."""
        found = self._read(after, until)
        if after == 0:
            return list(self._checked(START, found))
        if not found or found[0][0] != after or not isinstance(found[0][4], bytes):
            raise corrupt(self._address, f"event {after} of a study")
        return list(self._checked(Head(after, found[0][4]), found[1:]))

    def newest_of(self, kinds: Sequence[Kind], most: int) -> list[Event]:
        """The newest events of some kinds, the newest first."""
        found = self.connection.execute(_NEWEST, {"study": self._study, "kinds": list(kinds), "most": most})
        return [
            Event(seq, kind, time, load(body, self._address, f"event {seq} of a study"))
            for seq, kind, time, body in found
        ]

    def _read(self, first: int, until: int | None) -> Sequence[Any]:
        values = {"study": self._study, "first": first}
        if until is None:
            return self.connection.execute(_FROM, values).fetchall()
        return self.connection.execute(_BETWEEN, {**values, "until": until}).fetchall()

    def _checked(self, before: Head, rows: Sequence[Any]) -> Iterator[Event]:
        """Events from their rows, each one the next and unchanged since it was written."""
        for seq, kind, time, body, digest in rows:
            what = f"event {before.seq + 1} of a study"
            whole = isinstance(kind, str) and isinstance(time, float) and isinstance(body, str)
            if seq != before.seq + 1 or not whole or event_digest(before.digest, seq, kind, time, body) != digest:
                raise corrupt(self._address, what)
            before = Head(seq, digest)
            yield Event(seq, kind, time, load(body, self._address, what), digest)

    def add(self, head: Head, new: Sequence[Event]) -> Head:
        """Add events after the newest one; gives the one that is the newest then."""
        before, rows = head, []
        for seq, kind, time, body, _ in new:
            text = dump(body)
            digest = event_digest(head.digest, seq, kind, time, text)
            rows.append({"study": self._study, "seq": seq, "kind": kind, "time": time, "body": text, "digest": digest})
            head = Head(seq, digest)
        self.connection.execute(_ADD, rows if len(rows) > 1 else rows[0])
        values = {"of": self._study, "before": before.seq, "after": head.seq, "now": head.digest}
        if self.connection.execute(_MOVE, values).rowcount != 1:
            raise corrupt(self._address, f"event {before.seq} of a study")
        return head

    def notify(self) -> None:
        """PostgreSQL: tell all workers of this study of new events, when the transaction is stored."""
        self.connection.execute(_NOTIFY, {"study": str(self._study)})

    # Keys

    def key(self, key: str) -> int | None:
        """The event that was stored with a key."""
        return self.connection.execute(_KEY, {"study": self._study, "key": key}).scalar()

    def put_key(self, key: str, seq: int) -> None:
        """Remember which event a key stands for, in place of an earlier one."""
        together = self.connection.execute(_KEYS, {"study": self._study}).scalar_one()
        before = self.key(key)
        if before is None:
            self.connection.execute(keys.insert(), {"study": self._study, "key": key, "seq": seq})
        else:
            own = (keys.c.study == self._study) & (keys.c.key == key)
            self.connection.execute(keys.update().where(own), {"seq": seq})
            together = combined(together, key_digest(key, before))
        self.connection.execute(
            heads.update().where(heads.c.study == self._study), {"of_keys": combined(together, key_digest(key, seq))}
        )

    def check_keys(self) -> None:
        """Look at all keys once: one that was lost or changed would give a new decision instead of the old one."""
        together = START.digest
        rows = self.connection.execute(sa.select(keys.c.key, keys.c.seq).where(keys.c.study == self._study))
        for key, seq in rows:
            if not isinstance(key, str) or not isinstance(seq, int):
                raise corrupt(self._address, "a key of a study")
            together = combined(together, key_digest(key, seq))
        if together != self.connection.execute(_KEYS, {"study": self._study}).scalar():
            raise corrupt(self._address, "a key of a study")

    # Snapshots

    def snapshot(self, until: int | None = None) -> tuple[Head, bytes] | None:
        """The newest snapshot (not after an event) that is whole and stands for this very history."""
        query = sa.select(snapshots.c.seq, snapshots.c.content, snapshots.c.digest, events.c.digest)
        query = query.where(snapshots.c.study == self._study, events.c.study == self._study)
        query = query.where(events.c.seq == snapshots.c.seq)
        if until is not None:
            query = query.where(snapshots.c.seq <= until)
        row = self.connection.execute(query.order_by(snapshots.c.seq.desc()).limit(1)).first()
        if row is None or not isinstance(row[1], bytes) or not isinstance(row[3], bytes):
            return None
        head, content = Head(int(row[0]), row[3]), bytes(row[1])
        return (head, content) if snapshot_digest(head, content) == row[2] else None

    def put_snapshot(self, head: Head, content: bytes) -> None:
        """Add a snapshot of this study, unless a newer one of this history is there.

        Some older ones are kept, so that the state at an old decision needs few events; together they are at most about
        three times as large as the newest.
        """
        newest = self.snapshot()
        if newest is None:
            self.drop_snapshots()
        if newest is None or newest[0].seq < head.seq:
            of_study = sa.select(snapshots.c.seq).where(snapshots.c.study == self._study).order_by(snapshots.c.seq)
            old = [int(row[0]) for row in self.connection.execute(of_study)]
            first = {math.floor(math.log(max(seq, 1), SNAPSHOT_RATIO)): seq for seq in reversed(old)}
            dense = [seq for seq in old if seq not in first.values() or seq >= head.seq]
            own = snapshots.c.study == self._study
            self.connection.execute(snapshots.delete().where(own, snapshots.c.seq.in_(dense)))
            values = {"study": self._study, "seq": head.seq, "content": content}
            self.connection.execute(snapshots.insert(), {**values, "digest": snapshot_digest(head, content)})

    def drop_snapshots(self) -> None:
        """Forget all snapshots; the events rebuild everything."""
        self.connection.execute(snapshots.delete().where(snapshots.c.study == self._study))

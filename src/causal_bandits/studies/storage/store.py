"""The store: studies by name, their events in order, keys that make a call repeatable, and snapshots."""

import contextlib
import json
import weakref
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple, TypeVar

import sqlalchemy as sa

from ...errors import StorageError, UnknownStudyError, brief, listing
from ..events import Event
from .address import file_of, read_url, shown
from .engine import WRITES, Process, make_engine, patiently, plainly, use_write_ahead_log
from .migrations import check_version, found_version, prepare
from .schema import VERSION, events, keys, snapshots, studies

T = TypeVar("T")


class StudyRow(NamedTuple):
    """A study as it stands in the store."""

    id: int
    name: str
    created: float
    settings: dict[str, Any]


def _dump(value: object) -> str:
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False, allow_nan=False)


def damaged(place: str, what: str) -> StorageError:
    """The error for something stored that cannot be read."""
    return StorageError(f"storage {place} is damaged: {what} cannot be read; restore it from a copy")


def _load(text: str, place: str, what: str) -> dict[str, Any]:
    try:
        found = json.loads(text)
    except (TypeError, ValueError):
        raise damaged(place, what) from None
    if not isinstance(found, dict):
        raise damaged(place, what)
    return found


# Built once: making a statement costs more than running it.
_AFTER = (
    sa.select(events.c.seq, events.c.kind, events.c.time, events.c.body)
    .where(events.c.study == sa.bindparam("study"), events.c.seq > sa.bindparam("after"))
    .order_by(events.c.seq)
)
_BETWEEN = _AFTER.where(events.c.seq <= sa.bindparam("until"))
_ADD = events.insert()
_KEY = sa.select(keys.c.seq).where(keys.c.study == sa.bindparam("study"), keys.c.key == sa.bindparam("key"))
_LOCK = sa.select(studies.c.id).where(studies.c.id == sa.bindparam("study")).with_for_update()
_FIND = sa.select(studies).where(studies.c.name == sa.bindparam("name"))


class Transaction:
    """One study inside one transaction."""

    def __init__(self, connection: sa.Connection, study: int, place: str) -> None:
        self._connection = connection
        self._study = study
        self._place = place

    def events(self, after: int, until: int | None = None) -> list[Event]:
        """The events after a number, in order; up to and with `until`."""
        if until is None:
            found = self._connection.execute(_AFTER, {"study": self._study, "after": after})
        else:
            found = self._connection.execute(_BETWEEN, {"study": self._study, "after": after, "until": until})
        return [
            Event(seq, kind, time, _load(body, self._place, f"event {seq} of a study"))
            for seq, kind, time, body in found.fetchall()
        ]

    def newer(self, known: int) -> list[Event]:
        """The events after one that was read before; if that is gone, so is the study."""
        found = self.events(known - 1)
        if not found or (known and found[0].seq != known):
            raise UnknownStudyError("the study is no longer in its storage; it was deleted meanwhile")
        return found[1:] if known else found

    def add(self, new: Sequence[Event]) -> None:
        """Add events; numbers are taken while the write lock is held."""
        rows = [
            {"study": self._study, "seq": seq, "kind": kind, "time": time, "body": _dump(body)}
            for seq, kind, time, body in new
        ]
        self._connection.execute(_ADD, rows if len(rows) > 1 else rows[0])

    def key(self, key: str) -> int | None:
        """The event that was stored with a key."""
        return self._connection.execute(_KEY, {"study": self._study, "key": key}).scalar()

    def put_key(self, key: str, seq: int) -> None:
        """Remember which event a key stands for."""
        self._connection.execute(keys.insert(), {"study": self._study, "key": key, "seq": seq})

    def snapshot(self, until: int | None = None) -> tuple[int, bytes] | None:
        """The newest snapshot, or the newest not after an event."""
        query = sa.select(snapshots.c.seq, snapshots.c.content).where(snapshots.c.study == self._study)
        if until is not None:
            query = query.where(snapshots.c.seq <= until)
        row = self._connection.execute(query.order_by(snapshots.c.seq.desc()).limit(1)).first()
        return None if row is None else (int(row[0]), bytes(row[1]))

    def put_snapshot(self, seq: int, content: bytes) -> None:
        """Replace the older snapshots, unless a newer one is there."""
        newest = self.snapshot()
        if newest is None or newest[0] < seq:
            self._connection.execute(snapshots.delete().where(snapshots.c.study == self._study))
            self._connection.execute(snapshots.insert(), {"study": self._study, "seq": seq, "content": content})

    def drop_snapshots(self) -> None:
        """Forget all snapshots; the events rebuild everything."""
        self._connection.execute(snapshots.delete().where(snapshots.c.study == self._study))


class Store:
    """An open storage. Events are never changed; a study is deleted as a whole."""

    def __init__(self, storage: object, *, create: bool) -> None:
        self.url = read_url(storage)
        self.place = shown(self.url)
        file = file_of(self.url)
        if file is not None and not create and not file.exists():
            raise StorageError(f"storage {self.place} does not exist; create a study first")
        self._engine = make_engine(self.url)
        self._writer = self._engine.execution_options(**{WRITES: True})
        self._process = Process(self._engine)
        self._close = weakref.finalize(self, self._engine.dispose)
        try:
            self._open(create)
        except BaseException:
            self.close()
            raise

    def _open(self, create: bool) -> None:
        with plainly(self.url):
            if self._engine.dialect.name == "sqlite" and create:
                use_write_ahead_log(self._engine)
            with self._engine.connect() as connection:
                version = patiently(lambda: found_version(connection))
            if version is None and not create:
                raise StorageError(f"storage {self.place} holds no studies; create one first")
            if version is not None:
                check_version(version, f"storage {self.place}")
            if version != VERSION:
                with self._writer.begin() as connection:
                    prepare(connection, f"storage {self.place}")

    def close(self) -> None:
        """Let go of all connections; the store may be used again."""
        self._engine.dispose()

    @contextlib.contextmanager
    def writing(self, study: int) -> Iterator[Transaction]:
        """One transaction that holds the study's write lock from the start: all of it is stored, or nothing."""
        self._process.check()
        with plainly(self.url), self._writer.begin() as connection:
            if connection.dialect.name == "postgresql":
                connection.execute(_LOCK, {"study": study})
            yield Transaction(connection, study, self.place)

    def reading(self, study: int, work: Callable[[Transaction], T]) -> T:
        """Read from one consistent state of the store."""
        return self._read(lambda connection: work(Transaction(connection, study, self.place)))

    def _read(self, work: Callable[[sa.Connection], T]) -> T:
        self._process.check()

        def attempt() -> T:
            with self._engine.begin() as connection:
                return work(connection)

        with plainly(self.url):
            return patiently(attempt)

    # Studies by name

    def add(self, name: str, created: float, settings: dict[str, Any]) -> tuple[StudyRow, bool]:
        """A study, new unless there is one of that name; and whether it is new."""
        self._process.check()
        with plainly(self.url), self._writer.begin() as connection:
            if connection.dialect.name == "postgresql":
                connection.execute(sa.text("LOCK TABLE cb_studies IN SHARE ROW EXCLUSIVE MODE"))
            found = connection.execute(_FIND, {"name": name}).first()
            if found is not None:
                return self._row(found), False
            values = {"name": name, "created": created, "settings": _dump(settings)}
            number = connection.execute(studies.insert().returning(studies.c.id), values).scalar_one()
            Transaction(connection, number, self.place).add([Event(1, "created", created, settings)])
            return StudyRow(number, name, created, settings), True

    def find(self, name: object) -> StudyRow:
        """A study by name."""
        found = self._read(lambda connection: connection.execute(_FIND, {"name": str(name)}).first())
        if found is None:
            names = [row.name for row in self.all()]
            raise UnknownStudyError(f"there is no study {brief(name)} in storage {self.place}; it has {listing(names)}")
        return self._row(found)

    def all(self) -> list[StudyRow]:
        """Every study, the oldest first."""
        query = sa.select(studies).order_by(studies.c.id)
        return [self._row(found) for found in self._read(lambda connection: connection.execute(query).fetchall())]

    def delete(self, name: object) -> None:
        """Delete a study and everything about it."""
        row = self.find(name)
        with plainly(self.url), self._writer.begin() as connection:
            if connection.dialect.name == "postgresql":
                connection.execute(_LOCK, {"study": row.id})
            for table in (events, keys, snapshots):
                connection.execute(table.delete().where(table.c.study == row.id))
            connection.execute(studies.delete().where(studies.c.id == row.id))

    def _row(self, found: Any) -> StudyRow:
        settings = _load(found.settings, self.place, f"the description of study {found.name!r}")
        return StudyRow(int(found.id), found.name, float(found.created), settings)

"""The store: studies by name, their events in order, keys that make a call repeatable, and snapshots."""

import weakref
from collections.abc import Callable
from typing import Any, NamedTuple, TypeVar

import sqlalchemy as sa

from ...errors import StorageError, UnknownStudyError, brief, listing
from ..events import Event
from .address import file_of, read_url, shown
from .append_tables import REMOVE_HEAD, REMOVE_ROWS, found_log
from .chain import START
from .database_file import DatabaseFile, read_only_url
from .links import Links
from .log_check import check_log, read_log
from .migrations import check_version, found_version, prepare
from .schema import VERSION, events, heads, keys, snapshots, studies
from .sentences import plainly
from .transaction import Transaction, damaged, dump, load

T = TypeVar("T")

_FIND = sa.select(studies).where(studies.c.name == sa.bindparam("name"))
_LOCK = sa.select(studies.c.id).where(studies.c.id == sa.bindparam("study")).with_for_update()


class StudyRow(NamedTuple):
    """A study as it stands in the store."""

    id: int
    name: str
    created: float
    settings: dict[str, Any]


class Store:
    """An open storage. Events are never changed; a study is deleted as a whole."""

    def __init__(self, storage: object, *, create: bool) -> None:
        self.url = read_url(storage)
        self.place = shown(self.url)
        path = file_of(self.url)
        file = None if path is None else DatabaseFile(path, self.place)
        if file is not None and create:
            file.create()
        if file is not None and not file.path.exists():
            self._refuse_absent(create)
        self._read_only = file is not None and not file.may_be_written()
        self.links = Links(read_only_url(self.url) if self._read_only else self.url, file)
        self._close = weakref.finalize(self, self.links.close)
        try:
            self._open(create)
        except BaseException:
            self.close()
            raise

    def _refuse_absent(self, create: bool) -> None:
        if create:
            raise StorageError(
                f"storage {self.place} cannot be opened; check that its folder exists and may be written to"
            )
        raise StorageError(f"storage {self.place} does not exist; create a study first")

    def _open(self, create: bool) -> None:
        path = None if self._read_only else file_of(self.url)
        log = None if path is None else read_log(path)
        if path is not None:
            plainly(self.url, self.links.use_write_ahead_log)
        version = self._run(found_version)
        if path is not None:
            plainly(self.url, lambda: check_log(path, log, self.links.frames_taken, self.place))
        if version is None and not create:
            raise StorageError(f"storage {self.place} holds no studies; create one first")
        if version is not None:
            check_version(version, f"storage {self.place}")
        if version != VERSION:
            self._run(lambda connection: prepare(connection, f"storage {self.place}"), write=True)

    def close(self) -> None:
        """Let go of all connections; the store may be used again."""
        self.links.close()

    def _run(self, work: Callable[[sa.Connection], T], *, write: bool = False) -> T:
        return plainly(self.url, lambda: self.links.run(work, write=write))

    def write(self, study: int, work: Callable[[Transaction], T]) -> T:
        """One transaction that holds the study's write lock: all of it is stored, or nothing.

        `work` is called again when the database asks for the whole transaction to be done again.
        """

        def locked(connection: sa.Connection) -> T:
            if connection.dialect.name == "postgresql":
                connection.execute(_LOCK, {"study": study})
            return work(Transaction(connection, study, self.place))

        return self._run(locked, write=True)

    def read(self, study: int, work: Callable[[Transaction], T]) -> T:
        """Read from one consistent state of the store."""
        return self._run(lambda connection: work(Transaction(connection, study, self.place)))

    # Studies by name

    def add(self, name: str, created: float, settings: dict[str, Any]) -> tuple[StudyRow, bool]:
        """A study, new unless there is one of that name; and whether it is new."""

        def work(connection: sa.Connection) -> tuple[StudyRow, bool]:
            if connection.dialect.name == "postgresql":
                connection.execute(sa.text("LOCK TABLE cb_studies IN SHARE ROW EXCLUSIVE MODE"))
            found = connection.execute(_FIND, {"name": name}).first()
            if found is not None:
                return self._row(connection, found), False
            values = {"name": name, "created": created, "settings": dump(settings)}
            number = connection.execute(studies.insert().returning(studies.c.id), values).scalar_one()
            none = {"study": number, "seq": START.seq, "digest": START.digest, "of_keys": START.digest}
            connection.execute(heads.insert(), none)
            Transaction(connection, number, self.place).add(START, [Event(1, "created", created, settings)])
            return StudyRow(number, name, created, settings), True

        return self._run(work, write=True)

    def find(self, name: object) -> StudyRow:
        """A study by name."""

        def work(connection: sa.Connection) -> StudyRow | None:
            found = connection.execute(_FIND, {"name": str(name)}).first()
            return None if found is None else self._row(connection, found)

        row = self._run(work)
        if row is None:
            names = self._run(lambda connection: connection.execute(sa.select(studies.c.name)).scalars().all())
            raise UnknownStudyError(f"there is no study {brief(name)} in storage {self.place}; it has {listing(names)}")
        return row

    def all(self) -> list[StudyRow]:
        """Every study, the oldest first."""
        query = sa.select(studies).order_by(studies.c.id)
        return self._run(
            lambda connection: [self._row(connection, found) for found in connection.execute(query).fetchall()]
        )

    def delete(self, name: object) -> None:
        """Delete a study and everything about it, readable or not."""

        def work(connection: sa.Connection) -> bool:
            found = connection.execute(_FIND, {"name": str(name)}).first()
            if found is None:
                return False
            if connection.dialect.name == "postgresql":
                connection.execute(_LOCK, {"study": found.id})
            if found_log(connection):
                connection.execute(REMOVE_HEAD, {"study": found.id})
                connection.execute(REMOVE_ROWS, {"study": found.id})
            for table in (events, heads, keys, snapshots):
                connection.execute(table.delete().where(table.c.study == found.id))
            connection.execute(studies.delete().where(studies.c.id == found.id))
            return True

        if not self._run(work, write=True):
            self.find(name)

    def _row(self, connection: sa.Connection, found: Any) -> StudyRow:
        """A study's row, which must say what its first event says."""
        what = f"the description of study {found.name!r}"
        settings = load(found.settings, self.place, what)
        first = Transaction(connection, int(found.id), self.place).events(0, 1)
        if not first or (first[0].kind, first[0].time, first[0].body) != ("created", found.created, settings):
            raise damaged(self.place, what)
        return StudyRow(int(found.id), found.name, float(found.created), settings)


def opened(storage: object, *, create: bool = False) -> Store:
    """The store at an address; one that is open is used as it is, so that many studies may share its connections."""
    return storage if isinstance(storage, Store) else Store(storage, create=create)


def engine_of(storage: object) -> tuple[str, str]:
    """The kind of database that an address leads to, and the address as it may be shown; nothing is opened."""
    url = storage.url if isinstance(storage, Store) else read_url(storage)
    return url.get_backend_name(), shown(url)

"""The store: studies by name, their events in order, keys that make a call repeatable, and snapshots."""

import weakref
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, TypeVar

import sqlalchemy as sa

from ...errors import StorageError, UnknownStudyError, UnreadableStudyError, brief, listing
from ..events import Event
from .address import file_of, read_url, shown
from .append_tables import REMOVE_HEAD, REMOVE_ROWS, found_log, make_log
from .chain import START
from .database_file import DatabaseFile, read_only_url
from .links import Links
from .log_check import check_log, read_log
from .migrations import check_current, found_version, make_tables, upgrade_tables
from .patience import cannot_write, database_errors
from .schema import VERSION, events, heads, keys, snapshots, studies
from .sentences import FULL, plainly, sentence
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


class UnreadableRow(NamedTuple):
    """A study in the list of studies that cannot be opened."""

    name: str
    error: UnreadableStudyError


class Store:
    """An open storage. Events are never changed; a study is deleted as a whole.

    Opening a database changes nothing in it: with `create` an empty one gets its tables, and one with another schema
    is refused (see `upgrade`). On a full disk or a read-only file system it can still be read.
    """

    def __init__(self, storage: object, *, create: bool) -> None:
        self.url = read_url(storage)
        self.place = shown(self.url)
        path = file_of(self.url)
        self._file = file = None if path is None else DatabaseFile(path, self.place)
        if file is not None and create:
            file.create()
        if file is not None and not file.path.exists():
            raise _absent(self.place, create)
        self._why_read_only: str | None = None
        log = None if file is None else read_log(file.path)  # before SQLite looks at it
        self.links = plainly(self.url, lambda: self._linked(file))
        weakref.finalize(self, self.links.close)
        try:
            if file is not None and self._why_read_only is None:
                plainly(self.url, lambda: check_log(file.path, log, self.links.frames_taken, self.place))
            self._open(create)
        except BaseException:
            self.close()
            raise

    def _linked(self, file: DatabaseFile | None) -> Links:
        """Connections that may write, or where SQLite cannot, connections that read."""
        if file is None:
            return Links(self.url, None)
        reason = f"storage {self.place} is read-only; make it writable, or use another one"
        if file.may_be_written:
            links = Links(self.url, file)
            try:
                links.run(found_version)
            except database_errors() as error:
                links.close()
                if not cannot_write(error):
                    raise
                reason = f"storage {self.place} {FULL}" if file.disk_is_full else sentence(self.url, error)
            else:
                return links
        readers = Links(read_only_url(self.url, has_log=file.has_log), file)
        try:
            readers.run(found_version)
        except database_errors():
            readers.close()
            raise StorageError(reason) from None
        self._why_read_only = reason
        return readers

    def _open(self, create: bool) -> None:
        version = self._run(found_version)
        if version is not None:
            check_current(version, self.place)
        elif not create:
            raise StorageError(f"storage {self.place} holds no studies; create one first")
        if create and self._why_read_only is None and self._file is not None:
            plainly(self.url, self.links.use_write_ahead_log)
        if version is None:
            self._run(lambda connection: make_tables(connection, self.place), write=True)

    def close(self) -> None:
        """Let go of all connections; the store may be used again."""
        self.links.close()

    @property
    def needs_reopening(self) -> bool:
        """Whether the file was deleted, replaced or truncated while it was open, or could not be written then."""
        try:
            if self._file is not None:
                self._file.check()
        except StorageError:
            return True
        return self._why_read_only is not None

    def check_answers(self) -> None:
        """Raise unless the database answers one small query."""
        self._run(found_version)

    def _run(self, work: Callable[[sa.Connection], T], *, write: bool = False) -> T:
        if write and self._why_read_only is not None:
            raise StorageError(self._why_read_only)
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
            if "consistency" in settings:
                make_log(connection, number)
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

    def all(self) -> list[StudyRow | UnreadableRow]:
        """Every study, the oldest first; those that cannot be read with the reason."""
        query = sa.select(studies).order_by(studies.c.id)
        found: Sequence[Any] = ()

        def work(connection: sa.Connection) -> list[StudyRow | UnreadableRow]:
            nonlocal found
            found = connection.execute(query).fetchall()
            return [self._row_or_error(each, connection) for each in found]

        try:
            return self._run(work)
        except UnreadableStudyError:  # SQLite ends a transaction at a damaged page: one for each study
            if not found:
                raise
            return [self._row_or_error(each) for each in found]

    def _row_or_error(self, found: Any, connection: sa.Connection | None = None) -> StudyRow | UnreadableRow:
        try:
            if connection is None:
                return self._run(lambda own: self._row(own, found))
            return self._row(connection, found)
        except UnreadableStudyError as error:
            return UnreadableRow(str(found.name), error)

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


def _absent(place: str, create: bool) -> StorageError:
    if create:
        return StorageError(f"storage {place} cannot be opened; check that its folder exists and may be written to")
    return StorageError(f"storage {place} does not exist; create a study first")


def upgrade(storage: object) -> tuple[int, int]:
    """Upgrade a database to the current schema, all or nothing; returns the schema versions before and after."""
    url = read_url(storage)
    place, path = shown(url), file_of(url)
    if path is not None and not path.exists():
        raise _absent(place, create=False)
    log = None if path is None else read_log(path)
    links = Links(url, None if path is None else DatabaseFile(path, place))

    def work() -> int:
        links.run(found_version)
        if path is not None:
            check_log(path, log, links.frames_taken, place)
        before = links.run(lambda connection: upgrade_tables(connection, place), write=True)
        if path is not None:
            links.use_write_ahead_log()
        return before

    try:
        return plainly(url, work), VERSION
    finally:
        links.close()


def opened(storage: object, *, create: bool = False) -> Store:
    """The store at an address; one that is open is used as it is, so that many studies may share its connections."""
    return storage if isinstance(storage, Store) else Store(storage, create=create)


def engine_of(storage: object) -> tuple[str, str]:
    """The kind of database that an address leads to, and the address as it may be shown; nothing is opened."""
    url = storage.url if isinstance(storage, Store) else read_url(storage)
    return url.get_backend_name(), shown(url)

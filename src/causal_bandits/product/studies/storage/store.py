"""The store: studies by name, their events in order, keys that make a call repeatable, and snapshots."""

import os
import shutil
import sqlite3
import subprocess
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

import sqlalchemy as sa

from ....core.files import file_path, replacing
from ....errors import StorageError, UnknownStudyError, brief, listing
from ..decisions import Event
from . import schema
from .address import file_of, read_url, shown
from .append_log import make_log
from .connections import (
    FULL,
    READ_ONLY,
    RETRY_SECONDS,
    Connections,
    cannot_write,
    connections_to,
    database_errors,
    read_only_url,
    retried,
    translated,
)
from .schema import OF_A_STUDY, check_current, found_version, heads, make_tables, studies, upgrade_tables
from .transaction import START, Transaction, corrupt, dump, load

T = TypeVar("T")

_FIND = sa.select(studies).where(studies.c.name == sa.bindparam("name"))
_LOCK = sa.select(studies.c.id).where(studies.c.id == sa.bindparam("study")).with_for_update()
LEAST_BYTES = 65_536
"""What SQLite needs for the files beside the database."""


class StudyRow(NamedTuple):
    """A study in its current state in the store."""

    id: int
    name: str
    created: float
    settings: dict[str, Any]


class Store:
    """An open storage. Events are never changed; a study is deleted as a whole.

    Opening a database changes nothing in it: with `create` an empty one gets its tables, and one with another schema
    is rejected (see `upgrade`). On a full disk or a read-only file system it can still be read.
    """

    def __init__(self, storage: object, *, create: bool) -> None:
        self.url = read_url(storage)
        self.address = shown(self.url)
        path = file_of(self.url)
        if path is not None and create:
            _make_file(path)
        if path is not None and not path.exists():
            raise _absent(self.address, create)
        self._why_read_only: str | None = None
        self._is_open = True
        self.connections = connections_to(self.url) if path is None else self._connections_to_file(path)
        try:
            self._check_tables(create=create)
        except BaseException:
            self.close()
            raise

    def _check_tables(self, *, create: bool) -> None:
        version = self.run(found_version)
        if version is not None:
            check_current(version, self.address)
        elif not create:
            raise StorageError(f"storage {self.address} holds no studies; create one first")
        if create and self._why_read_only is None and file_of(self.url) is not None:
            self.connections.use_write_ahead_log()
        if version is None:
            self.run(lambda connection: make_tables(connection, self.address), write=True)

    def _connections_to_file(self, path: Path) -> Connections:
        """Connections that may write, or where SQLite cannot, connections that read."""
        reason = f"storage {self.address} {READ_ONLY}"
        if os.access(path, os.W_OK) and os.access(path.parent, os.W_OK):
            connections = connections_to(self.url)
            try:
                retried(lambda: connections.transaction(found_version))
            except database_errors() as error:
                connections.close()
                problem = translated(self.url, error, RETRY_SECONDS)
                if not cannot_write(error):
                    raise problem from None
                full = shutil.disk_usage(path.parent).free < LEAST_BYTES
                reason = f"storage {self.address} {FULL}" if full else str(problem)
            else:
                return connections
        readers = Connections(read_only_url(path, self.url), path)
        try:
            readers.transaction(found_version)
        except database_errors():
            readers.close()
            raise StorageError(reason) from None
        self._why_read_only = reason
        return readers

    def close(self) -> None:
        """Close all connections; the store may be used again."""
        if self._is_open:
            self._is_open = False
            self.connections.close()

    @property
    def needs_reopening(self) -> bool:
        """Whether the file was deleted or replaced while it was open, or could not be written then."""
        try:
            self.connections.check_file()
        except StorageError:
            return True
        return self._why_read_only is not None

    def check_answers(self) -> None:
        """Raise unless the database answers one small query."""
        self.run(found_version)

    def run(self, work: Callable[[sa.Connection], T], *, write: bool = False) -> T:
        """One transaction without the lock of a study: all of it is stored, or nothing."""
        if write:
            self._check_writable()
        return self.connections.run(work, write=write)

    def _check_writable(self) -> None:
        if self._why_read_only is not None:
            raise StorageError(self._why_read_only)

    def write(self, study: int, work: Callable[[Transaction], T]) -> T:
        """One transaction that holds the study's write lock: all of it is stored, or nothing.

        `work` is called again when the database asks for the whole transaction to be done again.
        """

        def locked(connection: sa.Connection) -> T:
            if connection.dialect.name == "postgresql":
                connection.execute(_LOCK, {"study": study})
            return work(Transaction(connection, study, self.address))

        self._check_writable()
        return self.connections.run(locked, write=True)

    def read(self, study: int, work: Callable[[Transaction], T]) -> T:
        """Read from one consistent state of the store."""
        return self.connections.run(lambda connection: work(Transaction(connection, study, self.address)))

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
            Transaction(connection, number, self.address).add(START, [Event(1, "created", created, settings)])
            if "mode" in settings["rules"]:
                make_log(connection, number)
            return StudyRow(number, name, created, settings), True

        return self.run(work, write=True)

    def find(self, name: object) -> StudyRow:
        """A study by name."""

        def work(connection: sa.Connection) -> StudyRow | None:
            found = connection.execute(_FIND, {"name": str(name)}).first()
            return None if found is None else self._row(connection, found)

        row = self.run(work)
        if row is None:
            known = listing(self.names())
            raise UnknownStudyError(f"there is no study {brief(name)} in storage {self.address}; it has {known}")
        return row

    def names(self) -> Sequence[str]:
        """The names of all studies, the oldest first."""
        query = sa.select(studies.c.name).order_by(studies.c.id)
        return self.run(lambda connection: connection.execute(query).scalars().all())

    def delete(self, name: object) -> None:
        """Delete a study and everything about it, readable or not."""

        def work(connection: sa.Connection) -> bool:
            found = connection.execute(_FIND, {"name": str(name)}).first()
            if found is None:
                return False
            if connection.dialect.name == "postgresql":
                connection.execute(_LOCK, {"study": found.id})
            for table in OF_A_STUDY:
                connection.execute(table.delete().where(table.c.study == found.id))
            connection.execute(studies.delete().where(studies.c.id == found.id))
            return True

        if not self.run(work, write=True):
            self.find(name)

    def _row(self, connection: sa.Connection, found: Any) -> StudyRow:
        """A study's row, which must say what its first event says."""
        what = f"the description of study {found.name!r}"
        settings = load(found.settings, self.address, what)
        first = Transaction(connection, int(found.id), self.address).events(0, 1)
        if not first or (first[0].kind, first[0].time, first[0].body) != ("created", found.created, settings):
            raise corrupt(self.address, what)
        return StudyRow(int(found.id), found.name, float(found.created), settings)


def _make_file(path: Path) -> None:
    """An empty file that only its owner may read, unless there is one."""
    try:
        os.close(os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600))
    except OSError:  # it is there, or cannot be made: then SQLite says why
        return


def _absent(address: str, create: bool) -> StorageError:
    if create:
        return StorageError(f"storage {address} cannot be opened; check that its folder exists and may be written to")
    return StorageError(f"storage {address} does not exist; create a study first")


def upgrade(storage: object) -> tuple[int, int]:
    """Upgrade a database to the current schema, all or nothing; returns the schema versions before and after."""
    url = read_url(storage)
    address, path = shown(url), file_of(url)
    if path is not None and not path.exists():
        raise _absent(address, create=False)
    connections = connections_to(url)
    try:
        before = connections.run(lambda connection: upgrade_tables(connection, address), write=True)
        if path is not None:
            connections.use_write_ahead_log()
    finally:
        connections.close()
    return before, schema.VERSION


def opened(storage: object, *, create: bool = False) -> Store:
    """The store at an address; one that is open is used as it is, so that many studies may share its connections."""
    return storage if isinstance(storage, Store) else Store(storage, create=create)


def engine_of(storage: object) -> tuple[str, str]:
    """The kind of database that an address leads to, and the address as it may be shown; nothing is opened."""
    url = storage.url if isinstance(storage, Store) else read_url(storage)
    return url.get_backend_name(), shown(url)


def backup(storage: object, to: str | os.PathLike[str]) -> Path:
    """Copy a database to a new file: SQLite by its online backup, PostgreSQL by pg_dump (restore with pg_restore)."""
    store, target = opened(storage), file_path(to)
    if target.exists():
        raise StorageError(f"the file {str(target)!r} exists already; name a new file for the backup")
    source = file_of(store.url)
    with replacing(target) as temporary:
        temporary.chmod(0o600)
        if source is None:
            _dump(store.url, store.address, temporary)
        else:
            _copy(source, store.address, temporary)
    return target


def _copy(source: Path, address: str, target: Path) -> None:
    try:
        there, copy = sqlite3.connect(source), sqlite3.connect(target)
        try:
            there.backup(copy)
        finally:
            there.close()
            copy.close()
    except sqlite3.Error as error:
        raise StorageError(f"storage {address} cannot be copied ({error}); check the disk and try again") from None


def _dump(url: sa.URL, address: str, target: Path) -> None:
    program = shutil.which("pg_dump")
    if program is None:
        raise StorageError(
            f"storage {address} is PostgreSQL and pg_dump was not found; install PostgreSQL's client programs"
        )
    login = url.set(drivername="postgresql", password=None).render_as_string()
    secret = {"PGPASSWORD": str(url.password)} if url.password else {}
    command = [program, "--format=custom", "--table=cb_*", f"--file={target}", f"--dbname={login}"]
    done = subprocess.run(command, env={**os.environ, **secret}, capture_output=True, check=False)
    if done.returncode:
        reason = " ".join(done.stderr.decode(errors="replace").split())
        raise StorageError(f"storage {address} cannot be copied: {reason}")

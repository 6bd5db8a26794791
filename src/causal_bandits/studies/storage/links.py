"""Links: connections that are either in use by one transaction or known to be clean.

An interrupt (Ctrl-C, a time limit by alarm) may raise between any two lines, also inside the libraries below. So no
connection is trusted after an exception that is not ours: it is rolled back, closed and forgotten before the exception
propagates. A transaction is one call of a function, not a `with` block, because an interrupt between a generator's
`yield` and the block around it would leave the transaction open for as long as the traceback is kept.

SQLite: a write-ahead log that is flushed at every commit (synchronous=FULL), and `BEGIN IMMEDIATE` for whatever will
write, so that no transaction ever has to be upgraded. A process that finds the database taken tries again after a few
milliseconds of its own choosing; so many processes take turns, and none sees "database is locked".

PostgreSQL: READ COMMITTED whatever the server's default (writers queue for the study's row), one snapshot for readers,
and a limit for every wait.
"""

import contextlib
import sqlite3
import time
import warnings
from collections.abc import Callable
from typing import Any, TypeVar

import sqlalchemy as sa
from sqlalchemy import event, exc
from sqlalchemy.pool import NullPool

from ...errors import CausalBanditsError, StorageError, StorageWarning
from ...secrecy import without_secrets
from . import forking, patience, watchdog
from .address import secrets_of, shown
from .database_file import DatabaseFile
from .patience import cannot_write, database_errors, is_busy, patiently, sqlstate

T = TypeVar("T")

CONNECT_SECONDS = 10
BUSY_SECONDS = 0.02
"""How long SQLite itself waits for a lock; the rest of the waiting is ours, see `patiently`."""
SWITCH_SECONDS = 1.0
"""How long to try to switch a file that others use to a write-ahead log; it works without, too."""

CUT_OFF = ("08", "57P")
"""PostgreSQL's classes of errors for connections that failed or that the server ended."""

_inherited: list[Any] = []
"""Connections that a child process got from its parent: neither used nor closed, for they are the parent's."""


def make_engine(url: sa.URL) -> sa.Engine:
    """An engine whose connections are ours to keep: no pool, and no transaction but the ones begun here."""
    sqlite = url.get_backend_name() == "sqlite"
    options: dict[str, Any] = {"timeout": BUSY_SECONDS} if sqlite else {}
    if not sqlite and "connect_timeout" not in url.query:
        options["connect_timeout"] = CONNECT_SECONDS
    try:
        engine = sa.create_engine(
            url, connect_args=options, poolclass=NullPool, pool_reset_on_return=None, isolation_level="AUTOCOMMIT"
        )
    except (exc.SQLAlchemyError, TypeError, ValueError) as error:
        reason = without_secrets(" ".join(str(error).split()), secrets_of(url))
        raise StorageError(
            f"storage {shown(url)} is not a URL that can be used ({reason}); check its options"
        ) from None
    event.listen(engine, "connect", _prepare_sqlite if sqlite else _prepare_postgres)
    if sqlite:
        event.listen(engine, "close", _let_go)
    return engine


def _let_go(connection: Any, _record: object) -> None:
    """Roll back before closing: SQLite keeps the lock of a closed connection as long as one of its cursors lives."""
    with contextlib.suppress(sqlite3.Error):
        connection.rollback()


def _prepare_sqlite(connection: Any, _record: object) -> None:
    patiently(lambda: connection.execute("PRAGMA synchronous=FULL"))
    connection.execute("PRAGMA foreign_keys=ON")
    connection.execute("PRAGMA cell_size_check=ON")  # notices damaged pages where they are read


def _prepare_postgres(connection: Any, _record: object) -> None:
    """Limits for every wait, unless the address or the server sets others."""
    wait = round(patience.PATIENCE * 1000)
    for name, limit in (("lock_timeout", wait), ("statement_timeout", wait + 5000)):
        connection.execute(
            "SELECT set_config(%s, %s, false) FROM pg_settings WHERE name = %s AND setting = '0'",
            (name, str(limit), name),
        )


def _switch_to_log(connection: Any) -> str | None:
    """The journal mode after the try to switch; None when others use the file now, or it cannot be written."""
    end = time.monotonic() + SWITCH_SECONDS
    while True:
        try:
            return str(connection.execute("PRAGMA journal_mode=WAL").fetchone()[0])
        except sqlite3.OperationalError as error:
            if not is_busy(error) or time.monotonic() > end:
                return None
        forking.pause(patience.PAUSE)


class Link:
    """One connection. `begin`, `commit` and `rollback` speak to the driver directly, so they are one step each."""

    def __init__(self, engine: sa.Engine) -> None:
        self.connection = engine.connect()
        self.raw: Any = self.connection.connection.dbapi_connection
        self.is_new = True
        self.transactions = 0
        self._sqlite = engine.dialect.name == "sqlite"
        if not self._sqlite:
            watchdog.watch(self)

    def begin(self, *, write: bool) -> None:
        """Start a transaction; in SQLite one that writes takes the lock now, in PostgreSQL with the study's row."""
        self.transactions += 1
        if self._sqlite:
            text = "BEGIN IMMEDIATE" if write else "BEGIN"
        elif write:
            text = "BEGIN ISOLATION LEVEL READ COMMITTED READ WRITE"
        else:
            text = "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY"
        patiently(lambda: self.raw.execute(text))

    def commit(self) -> None:
        """Store what was done. Without a write-ahead log a reader may hold SQLite up here; then try again."""
        patiently(lambda: self.raw.execute("COMMIT"))

    def rollback(self) -> None:
        """Undo what was done."""
        self.raw.execute("ROLLBACK")

    def discard(self) -> None:
        """Undo what was done and close, whatever state the connection is in."""
        with contextlib.suppress(Exception):
            if self._sqlite:
                self.raw.rollback()
        with contextlib.suppress(Exception):
            self.raw.close()


class Links:
    """All connections of a storage in this process; any number of threads may use them."""

    def __init__(self, url: sa.URL, file: DatabaseFile | None) -> None:
        self._url = url
        self._file = file
        self.engine = make_engine(url)
        self._free: list[Link] = []
        forking.join(self)

    def run(self, work: Callable[[sa.Connection], T], *, write: bool = False) -> T:
        """One transaction: all that `work` did is stored, or nothing. A busy database is waited for."""
        return forking.inside(lambda: patiently(lambda: self._run(work, write)))

    def _run(self, work: Callable[[sa.Connection], T], write: bool) -> T:
        link = self._kept()
        try:
            try:
                link = self._begun(link, write)
                result = work(link.connection)
                link.commit()
            except CausalBanditsError:
                link.rollback()
                raise
            except database_errors() as error:
                if is_busy(error):
                    link.rollback()
                raise
        except CausalBanditsError:
            self._free.append(link)
            raise
        except BaseException:
            link.discard()
            raise
        if self._file is not None:
            self._file.check()
        self._free.append(link)
        return result

    def _kept(self) -> Link:
        try:
            return self._free.pop()
        except IndexError:
            return Link(self.engine)

    def _begun(self, link: Link, write: bool) -> Link:
        """The link in a fresh transaction, or another one: a server may have cut one that was kept."""
        while not link.is_new:
            try:
                link.begin(write=write)
            except database_errors():
                link.discard()
                link = self._kept()
            else:
                return link
        link.begin(write=write)
        link.is_new = False
        return link

    def at_once(self, work: Callable[[Any], T]) -> T:
        """PostgreSQL: statements of `work` are transactions of their own; a connection that was cut is tried anew.

        `work` gets the driver's connection and is called a second time if the first one fails with the connection: it
        must be such that this does no harm.
        """

        def tried() -> T:
            try:
                return self._outside(lambda raw: patiently(lambda: work(raw)))
            except database_errors() as error:
                if sqlstate(error) is not None and not str(sqlstate(error)).startswith(CUT_OFF):
                    raise
                self.close()
                return self._outside(work)

        return forking.inside(tried)

    def own(self) -> Link:
        """PostgreSQL: a connection for one purpose alone; who asks for it discards it."""
        return Link(self.engine)

    def use_write_ahead_log(self) -> None:
        """SQLite: switch the file to a write-ahead log; once for a file, a copy of it may have lost it."""
        mode = self._outside(lambda raw: patiently(lambda: raw.execute("PRAGMA journal_mode").fetchone()[0]))
        if mode != "wal" and self._outside(_switch_to_log) not in ("wal", None):
            warnings.warn(
                f"storage {shown(self._url)} cannot use a write-ahead log on this file system; it works, "
                "but readers and writers wait for each other",
                StorageWarning,
                stacklevel=2,
            )

    def frames_taken(self) -> int | None:
        """SQLite: how many frames of the write-ahead log are in use; None where nothing can be written."""
        query = "PRAGMA wal_checkpoint(PASSIVE)"
        try:
            return int(self._outside(lambda raw: patiently(lambda: raw.execute(query).fetchone()[1])))
        except sqlite3.Error as error:
            if cannot_write(error):
                return None
            raise

    def _outside(self, work: Callable[[Any], T]) -> T:
        """Something that is done outside of a transaction."""
        link = self._kept()
        try:
            result = work(link.raw)
        except BaseException:
            link.discard()
            raise
        self._free.append(link)
        return result

    def close(self) -> None:
        """Close the connections that are not in use; new ones are made when they are needed."""
        while self._free:
            self._free.pop().discard()

    def start_afresh(self) -> None:
        """In a child process the parent's connections are neither used nor closed."""
        _inherited.extend((*self._free, self.engine))
        watchdog.start_afresh()
        self._free = []
        self.engine = make_engine(self._url)

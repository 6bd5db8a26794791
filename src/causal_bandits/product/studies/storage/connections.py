"""Connections: SQLAlchemy's pool, and transactions that are stored as a whole or not at all.

SQLite: a write-ahead log that is flushed at every commit (synchronous=FULL), and `BEGIN IMMEDIATE` for whatever will
write, so that no transaction ever has to be upgraded. A process that finds the database locked tries again after a
random pause of a few milliseconds, so that many processes take turns.

PostgreSQL: READ COMMITTED whatever the server's default (writers queue for the study's row), one snapshot for readers,
and a limit for every wait. All studies of a process share the few connections to a database.

An interrupt (Ctrl-C, a time limit by alarm) may raise between any two lines, also inside the libraries below. So a
connection is closed, not returned to the pool, after any exception but our own. A transaction is one call of a
function and not a `with` block: an interrupt between the two would leave it open for as long as the traceback is kept.
"""

import contextlib
import random
import sqlite3
import sys
import time
import warnings
import weakref
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any, TypeVar
from urllib.parse import quote

import sqlalchemy as sa
from sqlalchemy import event, exc

from ....core.secrecy import without_secrets
from ....errors import CausalBanditsError, OptionError, StorageError, StorageWarning, UnreadableStudyError
from . import fork_safety
from .address import file_of, secrets_of, shown

T = TypeVar("T")

RETRY_SECONDS = 120.0
"""How long a busy database is tried again before that is an error."""
PAUSE_SECONDS = 0.004
"""The longest pause between two tries."""
BUSY_SECONDS = 0.02
"""How long SQLite itself waits for a lock; an interrupt has to wait for it."""
CONNECT_SECONDS = 10
POOL_SIZE = 4
"""Connections of one process to one PostgreSQL database."""
DISCONNECTED = ("08", "57P")
"""PostgreSQL's classes of errors for connections that failed or that the server ended."""

_BEGIN = {
    ("sqlite", True): "BEGIN IMMEDIATE",
    ("sqlite", False): "BEGIN",
    ("postgresql", True): "BEGIN ISOLATION LEVEL READ COMMITTED READ WRITE",
    ("postgresql", False): "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY",
}


_inherited: list[object] = []
"""Connections that a child process got from its parent; collecting them as garbage would close them."""


# Errors: which may be retried, and what our errors say of the others


SERIALIZATION_FAILURES = ("40001", "40P01")
"""PostgreSQL: could not serialize, deadlock detected; the same transaction may succeed when it is done again."""
LOCK_TIMEOUT, STATEMENT_TIMEOUT, UNIQUE_VIOLATION = "55P03", "57014", "23505"

FULL = "is on a full disk; nothing was stored; free disk space and try again"
CORRUPT = "is corrupt; restore it from a backup"
CUT = "closed the connection; the last call may or may not have been stored; check, or repeat it"
READ_ONLY = "is read-only; make it writable, or use another one"

REASONS = {
    "readonly": READ_ONLY,
    "read-only": READ_ONLY,
    "disk is full": FULL,
    "disk i/o error": "cannot be read or written (disk I/O error); check the disk",
    "unable to open": "cannot be opened; check that its folder exists and may be written to",
    "not a database": "is not an SQLite database; use another file",
    "malformed": CORRUPT,
    "could not decode": CORRUPT,
    "connection refused": "cannot be reached; check that the server runs",
    "could not translate host": "cannot be reached; check the name of the host",
    "failed to resolve host": "cannot be reached; check the name of the host",
    "timeout": "does not answer; check that the server runs and may be reached from here",
    "password authentication": "refuses the user or the password; check both",
    "does not exist": "does not exist; create it first",
    "no space left": FULL,
    "server closed the connection": CUT,
    "connection socket closed": "stopped answering; the last call may or may not have been stored; check, or repeat it",
    "terminating connection": CUT,
    "ssl syscall error": CUT,
}


class BusyError(Exception):
    """The database was busy for too long."""


def database_errors() -> tuple[type[Exception], ...]:
    """The errors of the drivers, bare or wrapped, and of text that no database can store."""
    psycopg = sys.modules.get("psycopg")
    drivers = (exc.SQLAlchemyError, sqlite3.Error, *(() if psycopg is None else (psycopg.Error,)))
    return (*drivers, UnicodeError, BusyError)


def sqlstate(error: BaseException) -> str | None:
    """PostgreSQL's code of an error."""
    state = getattr(getattr(error, "orig", None) or error, "sqlstate", None)
    return state if isinstance(state, str) else None


def is_busy(error: BaseException) -> bool:
    """Whether SQLite says that somebody else uses the file."""
    text = str(error)
    return isinstance(error, sqlite3.OperationalError | exc.OperationalError) and (
        "database is locked" in text or "database table is locked" in text or "database is busy" in text
    )


def may_retry(error: BaseException) -> bool:
    """Whether the same transaction may succeed when it is done again."""
    return is_busy(error) or sqlstate(error) in SERIALIZATION_FAILURES


def cannot_write(error: BaseException) -> bool:
    """Whether SQLite fails because it cannot write: a full disk, or a file or folder that is read-only."""
    code = getattr(getattr(error, "orig", None) or error, "sqlite_errorcode", 0) & 0xFF
    return code in (sqlite3.SQLITE_FULL, sqlite3.SQLITE_IOERR, sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_READONLY)


def translated(url: sa.URL, error: Exception, waited: float) -> BaseException:
    """The error to raise in place of one of a database; `waited` is how many seconds were spent on retries at most."""
    if isinstance(error, exc.StatementError) and not isinstance(error, exc.DBAPIError) and error.orig is not None:
        # SQLAlchemy wraps everything raised while it prepares a statement, even what a signal handler raised.
        if not isinstance(error.orig, database_errors()):
            return error.orig
        return translated(url, error.orig, waited)
    if isinstance(error, UnicodeEncodeError):
        near = error.object[max(error.start - 20, 0) : error.end + 20]
        return OptionError(f"the text {near!r} is not valid Unicode and cannot be stored; rewrite it")
    reason = _reason(url, error, waited)
    return (UnreadableStudyError if reason == CORRUPT else StorageError)(f"storage {shown(url)} {reason}")


def _reason(url: sa.URL, error: Exception, waited: float) -> str:
    if isinstance(error, BusyError | exc.TimeoutError) or sqlstate(error) == LOCK_TIMEOUT:
        return f"was busy for {waited:.0f} seconds; try again"
    if isinstance(error, UnicodeDecodeError):  # text of SQLite's own about a corrupt page
        return CORRUPT
    if is_busy(error):
        return "is busy; try again"
    if sqlstate(error) == STATEMENT_TIMEOUT:
        return "took too long for one statement (statement_timeout); try again, or raise that limit of the server"
    cause = " ".join(str(getattr(error, "orig", None) or error).partition("[SQL")[0].split())
    for sign, reason in REASONS.items():
        if sign in cause.lower():
            return reason
    return f"failed: {without_secrets(cause, secrets_of(url))}"


# Engines and transactions


class StaleConnectionError(Exception):
    """The server had closed a connection of the pool; nothing was done on it."""


def make_engine(url: sa.URL) -> sa.Engine:
    """An engine whose transactions are begun and ended by `Connections` alone."""
    if url.get_backend_name() == "sqlite":
        options: dict[str, Any] = {"connect_args": {"timeout": BUSY_SECONDS}}
        prepare: Callable[[Any, object], None] = _prepare_sqlite
    else:
        waits = {"connect_timeout": CONNECT_SECONDS, "keepalives_idle": 30, "keepalives_interval": 10}
        given = {name: value for name, value in waits.items() if name not in url.query}
        options = {"connect_args": given, "pool_size": POOL_SIZE, "max_overflow": 0, "pool_timeout": RETRY_SECONDS}
        prepare = _prepare_postgres
    try:
        engine = sa.create_engine(url, isolation_level="AUTOCOMMIT", **options)
    except (exc.SQLAlchemyError, TypeError, ValueError) as error:
        reason = without_secrets(" ".join(str(error).split()), secrets_of(url))
        raise StorageError(
            f"storage {shown(url)} is not a URL that can be used ({reason}); check its options"
        ) from None
    event.listen(engine, "connect", prepare)
    if url.get_backend_name() == "sqlite":
        event.listen(engine, "close", _roll_back)
    return engine


def _prepare_sqlite(connection: Any, _record: object) -> None:
    retried(lambda: connection.execute("PRAGMA synchronous=FULL"))
    connection.execute("PRAGMA foreign_keys=ON")
    connection.execute("PRAGMA cell_size_check=ON")  # notices corrupt pages where they are read


def _roll_back(connection: Any, _record: object) -> None:
    """End a transaction before its connection is closed.

    SQLAlchemy closes a connection at an interrupt, and SQLite keeps a closed connection with its locks for as long as
    one of its cursors lives, which may be in a traceback.
    """
    connection.rollback()


def _prepare_postgres(connection: Any, _record: object) -> None:
    """Limits for every wait, unless the address or the server sets others."""
    wait = round(RETRY_SECONDS * 1000)
    for name, limit in (("lock_timeout", wait), ("statement_timeout", wait + 5000)):
        connection.execute(
            "SELECT set_config(%s, %s, false) FROM pg_settings WHERE name = %s AND setting = '0'",
            (name, str(limit), name),
        )


def retried(attempt: Callable[[], T], stale: int = 0) -> T:
    """Do something that changes nothing when it fails because the database is busy, until it is not.

    As many connections as `stale` may turn out to have been closed by the server: all those of a pool.
    """
    end = time.monotonic() + RETRY_SECONDS
    while True:
        try:
            return attempt()
        except StaleConnectionError as error:
            stale -= 1
            if stale < 0:
                raise error.__cause__ or error from None
            continue
        except database_errors() as error:
            if not may_retry(error):
                raise
            if time.monotonic() > end:
                raise BusyError from error
        fork_safety.pause(random.random() * PAUSE_SECONDS)


def is_disconnect(error: BaseException) -> bool:
    """Whether PostgreSQL's connection failed, and not the statement."""
    original = getattr(error, "orig", None) or error
    lost = type(original).__name__ in ("OperationalError", "AdminShutdown", "InterfaceError")
    state = sqlstate(error)
    return (lost and state is None) or (state or "").startswith(DISCONNECTED)


class Connections:
    """The connections of this process to one database; any number of threads may use them."""

    def __init__(self, url: sa.URL, path: Path | None) -> None:
        self.url = url
        self.engine = make_engine(url)
        self._path = path
        self._file: tuple[int, int] | None = None
        self._users = 0
        self.aggregator: object = None
        """What counts the rows of high-throughput studies in this process."""
        fork_safety.register(self)
        if path is not None:
            fork_safety.close_before_fork(self.engine)
        weakref.finalize(self, self.engine.dispose)

    def run(self, work: Callable[[sa.Connection], T], *, write: bool = False, begin: bool = True) -> T:
        """One transaction: all that `work` did is stored, or nothing; `work` is called again after a retry."""
        try:
            attempt = partial(self.transaction, work, _BEGIN[self.engine.dialect.name, write] if begin else None)
            return fork_safety.inside(partial(retried, attempt, POOL_SIZE))
        except database_errors() as error:
            raise translated(self.url, error, RETRY_SECONDS) from None

    def statements(self, work: Callable[[Any], T]) -> T:
        """Statements outside of a transaction, each stored at once; `work` gets the driver's connection.

        After a failed connection `work` is called again: it must be such that this does no harm.
        """
        return self.run(lambda connection: work(connection.connection.dbapi_connection), begin=False)

    def transaction(self, work: Callable[[sa.Connection], T], begin: str | None = "BEGIN") -> T:
        """Try one transaction, or statements outside of one; raises errors of the driver."""
        pool, connection, may_repeat = self.engine.pool, self.engine.connect(), self._path is None
        try:
            raw: Any = connection.connection.dbapi_connection
            if begin is not None:
                raw.execute(begin)
                may_repeat = False
            result = work(connection)
            if begin is not None:
                raw.execute("COMMIT")
        except BaseException as error:
            self._end(connection, error)
            if may_repeat and is_disconnect(error):
                raise StaleConnectionError from error
            raise
        self._return(connection, pool)
        if begin is not None:
            self.check_file()
        return result

    def _return(self, connection: sa.Connection, pool: sa.Pool) -> None:
        """Return a connection to its pool; SQLAlchemy hides an interrupt meanwhile behind an AssertionError."""
        try:
            connection.close()
        except AssertionError as error:
            raise error.__context__ or error from None
        if self.engine.pool is not pool:  # replaced meanwhile, so nothing else would close what is in it
            pool.dispose()

    @staticmethod
    def _end(connection: sa.Connection, error: BaseException) -> None:
        """Undo what was done; after an error that is not ours the connection is closed, whatever state it is in."""
        with contextlib.suppress(Exception):
            raw: Any = connection.connection.dbapi_connection
            raw.rollback()
            if isinstance(error, CausalBanditsError):
                connection.close()
                return
        with contextlib.suppress(Exception):
            connection.invalidate()
            connection.close()

    def own(self) -> Any:
        """PostgreSQL: a connection for one purpose alone, outside of the pool; the caller closes it."""
        try:
            found = self.engine.raw_connection()
            found.detach()
        except database_errors() as error:
            raise translated(self.url, error, RETRY_SECONDS) from None
        return found

    # The file of an SQLite database

    def check_file(self) -> None:
        """Raise when the path no longer leads to the file that is open: what is stored there would be lost."""
        if self._path is None:
            return
        try:
            found = self._path.stat()
        except OSError as error:
            raise self._gone("was deleted" if isinstance(error, FileNotFoundError) else "cannot be found") from None
        if self._file is None:
            self._file = found.st_dev, found.st_ino
        elif self._file != (found.st_dev, found.st_ino):
            raise self._gone("was replaced by another file")

    def _gone(self, what: str) -> StorageError:
        return StorageError(
            f"the file of storage {shown(self.url)} {what} while it was open, so nothing more is acknowledged; "
            "put the right file in place and load the study again"
        )

    def use_write_ahead_log(self) -> None:
        """Switch the file to a write-ahead log: once for a new file, and for a copy that has lost it."""
        if self.statements(_journal_mode) not in ("wal", None):
            warnings.warn(
                f"storage {shown(self.url)} cannot use a write-ahead log on this file system; it works, "
                "but readers and writers wait for each other",
                StorageWarning,
                stacklevel=2,
            )

    def open(self) -> "Connections":
        """For one more user."""
        self._users += 1
        return self

    def close(self) -> None:
        """The last user closes the connections; new ones are made when they are needed."""
        self._users -= 1
        if self._users <= 0:
            pool = self.engine.pool
            self.engine.dispose()
            pool.dispose()  # what a thread returned before it could see that the pool was replaced

    def start_afresh(self) -> None:
        """In a child process the parent's connections are neither used nor closed."""
        _inherited.append(self.engine.pool)
        self.engine.dispose(close=False)


def _journal_mode(raw: Any) -> str | None:
    """The journal mode after the attempt to switch; None if others use the file now, or it cannot be written."""
    mode = raw.execute("PRAGMA journal_mode").fetchone()[0]
    try:
        return str(mode if mode == "wal" else raw.execute("PRAGMA journal_mode=WAL").fetchone()[0])
    except sqlite3.OperationalError:
        return None


_shared: "weakref.WeakValueDictionary[str, Connections]" = weakref.WeakValueDictionary()


def connections_to(url: sa.URL) -> Connections:
    """Connections to a database; all stores of a PostgreSQL database in this process share them."""
    path = file_of(url)
    if path is not None:
        return Connections(url, path).open()
    address = url.render_as_string(hide_password=False)
    found = _shared.get(address)
    if found is None:
        found = _shared[address] = Connections(url, None)
    return found.open()


def read_only_url(path: Path, url: sa.URL) -> sa.URL:
    """The address that reads a file and writes nothing; with a write-ahead log, others may still change the file."""
    log = Path(f"{path}-wal")
    query = {**url.query, "mode": "ro", "uri": "true"}
    if not log.exists() or not log.stat().st_size:
        query["immutable"] = "1"
    return url.set(database=f"file:{quote(str(path.absolute()))}", query=query)

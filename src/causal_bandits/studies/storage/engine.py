"""Connections: how a URL becomes an engine, and how another library's error becomes one sentence of ours.

SQLite: a write-ahead log that is flushed at every commit (synchronous=FULL), and `BEGIN IMMEDIATE` for whatever will
write, so that no transaction ever has to be upgraded. A process that finds the database taken tries again after a few
milliseconds of its own choosing; so many processes take turns, and none sees "database is locked".
"""

import contextlib
import os
import random
import sqlite3
import time
from collections.abc import Callable, Iterator
from typing import Any, TypeVar

import sqlalchemy as sa
from sqlalchemy import event, exc

from ...errors import OptionError, StorageError
from ...secrecy import without_secrets
from .address import secrets_of, shown

T = TypeVar("T")

PATIENCE = 120.0
"""Seconds of trying before a busy database is an error."""
PAUSE = 0.004
"""Seconds between two tries, at most."""
WRITES = "causal_bandits_writes"


def make_engine(url: sa.URL) -> sa.Engine:
    """An engine; connections are made when they are needed."""
    try:
        if url.get_backend_name() == "postgresql":
            return sa.create_engine(url, connect_args={"connect_timeout": 10}, pool_pre_ping=True)
        # A timeout of 20 ms: the waiting is ours, see `begin`.
        engine = sa.create_engine(url, connect_args={"timeout": 0.02}, pool_reset_on_return=None)
    except (exc.SQLAlchemyError, TypeError, ValueError) as error:
        reason = without_secrets(" ".join(str(error).split()), secrets_of(url))
        raise StorageError(
            f"storage {shown(url)} is not a URL that can be used ({reason}); check its options"
        ) from None
    event.listen(engine, "connect", _prepare_sqlite)
    event.listen(engine, "begin", _begin_sqlite)
    return engine


def _prepare_sqlite(connection: Any, _record: object) -> None:
    connection.isolation_level = None  # transactions begin where we say so
    with contextlib.closing(connection.cursor()) as cursor:
        patiently(lambda: cursor.execute("PRAGMA synchronous=FULL"))
        cursor.execute("PRAGMA foreign_keys=ON")


def use_write_ahead_log(engine: sa.Engine) -> None:
    """Once for a file: it stays so."""
    with engine.connect() as connection:
        raw = connection.connection.cursor()
        mode = patiently(lambda: raw.execute("PRAGMA journal_mode").fetchone()[0])
        if mode != "wal":
            patiently(lambda: raw.execute("PRAGMA journal_mode=WAL"))
        raw.close()


def _begin_sqlite(connection: sa.Connection) -> None:
    immediate = connection.get_execution_options().get(WRITES, False)
    cursor = connection.connection.cursor()
    try:
        patiently(lambda: cursor.execute("BEGIN IMMEDIATE" if immediate else "BEGIN"))
    finally:
        cursor.close()


def _is_busy(error: BaseException) -> bool:
    text = str(error)
    return isinstance(error, sqlite3.OperationalError | exc.OperationalError) and (
        "database is locked" in text or "database table is locked" in text or "database is busy" in text
    )


def patiently(work: Callable[[], T]) -> T:
    """Do something that changes nothing while the database is busy, until it is not."""
    end = time.monotonic() + PATIENCE
    while True:
        try:
            return work()
        except (sqlite3.OperationalError, exc.OperationalError) as error:
            if not _is_busy(error) or time.monotonic() > end:
                raise
            time.sleep(random.random() * PAUSE)


REASONS = {
    "readonly": "is read-only; make it writable, or name another one",
    "disk is full": "is on a full disk; make room, then do the same again: nothing was stored",
    "disk i/o error": "cannot be read or written (disk I/O error); check the disk",
    "unable to open": "cannot be opened; check that its folder exists and may be written to",
    "not a database": "is not an SQLite database; name another file",
    "malformed": "is damaged; restore it from a copy",
    "is locked": f"was busy for {PATIENCE:.0f} seconds; try again",
    "connection refused": "cannot be reached; check that the server runs",
    "could not translate host": "cannot be reached; check the name of the host",
    "failed to resolve host": "cannot be reached; check the name of the host",
    "timeout": "does not answer; check that the server runs and may be reached from here",
    "password authentication": "refuses the user or the password; check both",
    "does not exist": "does not exist; create it first",
    "no space left": "is on a full disk; make room, then do the same again: nothing was stored",
}


@contextlib.contextmanager
def plainly(url: sa.URL) -> Iterator[None]:
    """An error of the database becomes one sentence."""
    try:
        yield
    except (exc.SQLAlchemyError, sqlite3.Error) as error:
        cause = " ".join(str(getattr(error, "orig", None) or error).partition("[SQL")[0].split())
        for sign, reason in REASONS.items():
            if sign in cause.lower():
                raise StorageError(f"storage {shown(url)} {reason}") from None
        raise StorageError(f"storage {shown(url)} failed: {without_secrets(cause, secrets_of(url))}") from None
    except UnicodeEncodeError as error:
        near = error.object[max(error.start - 20, 0) : error.end + 20]
        raise OptionError(f"the text {near!r} is not valid Unicode and cannot be stored; write it otherwise") from None


class Process:
    """Notices that the process has been forked: a child must not use its parent's connections."""

    def __init__(self, engine: sa.Engine) -> None:
        self._engine = engine
        self._pid = os.getpid()

    def check(self) -> None:
        """Start afresh in a child."""
        if os.getpid() != self._pid:
            self._engine.dispose(close=False)
            self._pid = os.getpid()

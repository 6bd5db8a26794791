"""Waiting for a database that others use: how long, and what is tried again."""

import random
import sqlite3
import sys
import time
from collections.abc import Callable
from typing import TypeVar

from sqlalchemy import exc

from . import forking

T = TypeVar("T")

PATIENCE = 120.0
"""Seconds of trying before a busy database is an error."""
PAUSE = 0.004
"""Seconds between two tries, at most."""

DO_IT_AGAIN = ("40001", "40P01")
"""PostgreSQL: could not serialize, deadlock detected; the same transaction may succeed when it is done again."""
LOCK_TIMEOUT, STATEMENT_TIMEOUT = "55P03", "57014"


class WaitedTooLongError(Exception):
    """The database was busy for as long as patience lasts."""


def database_errors() -> tuple[type[Exception], ...]:
    """The errors of the drivers, bare or wrapped."""
    psycopg = sys.modules.get("psycopg")
    return (exc.SQLAlchemyError, sqlite3.Error, *(() if psycopg is None else (psycopg.Error,)))


def sqlstate(error: BaseException) -> str | None:
    """What PostgreSQL calls an error."""
    state = getattr(getattr(error, "orig", None) or error, "sqlstate", None)
    return state if isinstance(state, str) else None


def is_busy(error: BaseException) -> bool:
    """Whether SQLite says that somebody else uses the file."""
    text = str(error)
    return isinstance(error, sqlite3.OperationalError | exc.OperationalError) and (
        "database is locked" in text or "database table is locked" in text or "database is busy" in text
    )


def cannot_write(error: BaseException) -> bool:
    """Whether SQLite fails because it cannot write: a full disk, or a file or folder that is read-only."""
    code = getattr(getattr(error, "orig", None) or error, "sqlite_errorcode", 0) & 0xFF
    return code in (sqlite3.SQLITE_FULL, sqlite3.SQLITE_IOERR, sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_READONLY)


def patiently(work: Callable[[], T]) -> T:
    """Do something that changes nothing when it fails because the database is busy, until it is not."""
    end = time.monotonic() + PATIENCE
    while True:
        try:
            return work()
        except database_errors() as error:
            if sqlstate(error) == LOCK_TIMEOUT:
                raise WaitedTooLongError from error
            if not (is_busy(error) or sqlstate(error) in DO_IT_AGAIN):
                raise
            if time.monotonic() > end:
                raise WaitedTooLongError from error
        forking.pause(random.random() * PAUSE)

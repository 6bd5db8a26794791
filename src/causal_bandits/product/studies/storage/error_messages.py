"""Errors of databases: which may be retried, and what our errors say of the others."""

import sqlite3
import sys

import sqlalchemy as sa
from sqlalchemy import exc

from ....core.secrecy import without_secrets
from ....errors import OptionError, StorageError, UnreadableStudyError
from .address import secrets_of, shown

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

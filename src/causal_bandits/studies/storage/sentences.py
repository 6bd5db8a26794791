"""How an error of a database becomes one sentence of ours."""

from collections.abc import Callable
from typing import TypeVar

import sqlalchemy as sa
from sqlalchemy import exc

from ...errors import OptionError, StorageError, UnreadableStudyError
from ...secrecy import without_secrets
from . import patience
from .address import secrets_of, shown
from .patience import STATEMENT_TIMEOUT, WaitedTooLongError, database_errors, is_busy, sqlstate

T = TypeVar("T")

FULL = "is on a full disk; nothing was stored; free disk space and try again"
DAMAGED = "is damaged; restore it from a copy"
CUT = "closed the connection; the last call may or may not have been stored; check, or repeat it"

REASONS = {
    "readonly": "is read-only; make it writable, or use another one",
    "read-only": "is read-only; make it writable, or use another one",
    "disk is full": FULL,
    "disk i/o error": "cannot be read or written (disk I/O error); check the disk",
    "unable to open": "cannot be opened; check that its folder exists and may be written to",
    "not a database": "is not an SQLite database; use another file",
    "malformed": DAMAGED,
    "could not decode": DAMAGED,
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


def plainly(url: sa.URL, work: Callable[[], T]) -> T:
    """Do something with a database; an error of it becomes one sentence."""
    try:
        return _unwrapped(work)
    except WaitedTooLongError:
        reason = f"was busy for {patience.PATIENCE:.0f} seconds; try again"
    except database_errors() as error:
        reason = _reason(url, error)
    except UnicodeDecodeError:  # text of SQLite's own about a damaged page
        reason = DAMAGED
    except UnicodeEncodeError as error:
        near = error.object[max(error.start - 20, 0) : error.end + 20]
        raise OptionError(f"the text {near!r} is not valid Unicode and cannot be stored; rewrite it") from None
    raise (UnreadableStudyError if reason == DAMAGED else StorageError)(f"storage {shown(url)} {reason}")


def sentence(url: sa.URL, error: Exception) -> str:
    """What is said of an error of a driver."""
    return f"storage {shown(url)} {_reason(url, error)}"


def _unwrapped(work: Callable[[], T]) -> T:
    """SQLAlchemy wraps what is raised while it prepares a statement, were it the error of a signal handler."""
    try:
        return work()
    except exc.StatementError as error:
        if isinstance(error, exc.DBAPIError) or error.orig is None:
            raise
        raise error.orig from None


def _reason(url: sa.URL, error: Exception) -> str:
    if is_busy(error):
        return "is busy; try again"
    if sqlstate(error) == STATEMENT_TIMEOUT:
        return "took too long for one statement (statement_timeout); try again, or raise that limit of the server"
    cause = " ".join(str(getattr(error, "orig", None) or error).partition("[SQL")[0].split())
    for sign, reason in REASONS.items():
        if sign in cause.lower():
            return reason
    return f"failed: {without_secrets(cause, secrets_of(url))}"

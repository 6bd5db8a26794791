"""Where studies are kept: SQLite by default, PostgreSQL by URL. Append-only events, and snapshots to load quickly."""

from . import forking
from .append_log import AppendLog, Ends, Known, RaceError, Row, Seat, mark_of
from .chain import START, Head
from .store import Store, StudyRow, UnreadableRow, engine_of, opened, upgrade
from .transaction import Transaction, damaged, newer

__all__ = [
    "START",
    "AppendLog",
    "Ends",
    "Head",
    "Known",
    "RaceError",
    "Row",
    "Seat",
    "Store",
    "StudyRow",
    "Transaction",
    "UnreadableRow",
    "damaged",
    "engine_of",
    "forking",
    "mark_of",
    "newer",
    "opened",
    "upgrade",
]

"""Where studies are kept: SQLite by default, PostgreSQL by URL. Append-only events, and snapshots to load quickly."""

from . import alarm_queue, fork_safety
from .alarm_queue import Message, StoredAlarm
from .append_log import AppendLog, Known, RaceError, Row, mark_of
from .store import Store, StudyRow, UnreadableRow, backup, engine_of, opened, upgrade
from .transaction import START, Head, Transaction, corrupt, deleted, newer

__all__ = [
    "START",
    "AppendLog",
    "Head",
    "Known",
    "Message",
    "RaceError",
    "Row",
    "Store",
    "StoredAlarm",
    "StudyRow",
    "Transaction",
    "UnreadableRow",
    "alarm_queue",
    "backup",
    "corrupt",
    "deleted",
    "engine_of",
    "fork_safety",
    "mark_of",
    "newer",
    "opened",
    "upgrade",
]

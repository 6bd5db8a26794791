"""Where studies are kept: SQLite by default, PostgreSQL by URL. Append-only events, and snapshots to load quickly."""

from . import forking
from .chain import START, Head
from .store import Store, StudyRow, opened
from .transaction import Transaction, damaged

__all__ = ["START", "Head", "Store", "StudyRow", "Transaction", "damaged", "forking", "opened"]

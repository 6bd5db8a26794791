"""Where studies are kept: SQLite by default, PostgreSQL by URL. Append-only events, and snapshots to load quickly."""

from .store import Store, StudyRow, Transaction, damaged

__all__ = ["Store", "StudyRow", "Transaction", "damaged"]

"""What was done and seen: rows (`history`), and the counts every rule reads (`tables`)."""

from .history import History, Rows
from .tables import CountTables, TableLayout, count_row, count_rows

__all__ = ["CountTables", "History", "Rows", "TableLayout", "count_row", "count_rows"]

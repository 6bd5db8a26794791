"""What was done and seen: rows (`coding`, `history`), and the counts every discrete rule reads (`tables`)."""

from .coding import Rows
from .history import History
from .tables import CountTables, TableLayout, count_row, count_rows

__all__ = ["CountTables", "History", "Rows", "TableLayout", "count_row", "count_rows"]

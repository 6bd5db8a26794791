"""What was done and seen: rows (`coding`, `history`), and what the rules read: counts (`tables`) and `moments`."""

from .coding import Rows
from .history import History
from .moments import ArmMoments, DesignLayout, add_row, add_rows, design_row, merge_arms, merge_groups
from .subsets import SubsetLayout
from .tables import CountTables, TableLayout, count_row, count_rows

__all__ = [
    "ArmMoments",
    "CountTables",
    "DesignLayout",
    "History",
    "Rows",
    "SubsetLayout",
    "TableLayout",
    "add_row",
    "add_rows",
    "count_row",
    "count_rows",
    "design_row",
    "merge_arms",
    "merge_groups",
]

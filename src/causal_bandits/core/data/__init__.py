"""Data: rows (`coding`, `history`), and what the policies read: counts (`tables`) and `moments`."""

from .cells import (
    CellLayout,
    CellTables,
    add_reward,
    count_filled_reward,
    count_late,
    count_reward,
    with_late,
)
from .coding import MISSING, Rows
from .history import History
from .moments import (
    ArmMoments,
    DesignLayout,
    ViewMoments,
    add_row,
    add_rows,
    design_row,
    merge_groups,
    merge_into,
    mirror,
    nothing_merged,
    remove_row,
    view,
)
from .subsets import SubsetLayout
from .tables import (
    NONE_PENDING,
    CountTables,
    TableLayout,
    cell_of,
    count_pending,
    count_row,
    count_rows,
    with_pending,
)
from .waiting import WaitingRows

__all__ = [
    "MISSING",
    "NONE_PENDING",
    "ArmMoments",
    "CellLayout",
    "CellTables",
    "CountTables",
    "DesignLayout",
    "History",
    "Rows",
    "SubsetLayout",
    "TableLayout",
    "ViewMoments",
    "WaitingRows",
    "add_reward",
    "add_row",
    "add_rows",
    "cell_of",
    "count_filled_reward",
    "count_late",
    "count_pending",
    "count_reward",
    "count_row",
    "count_rows",
    "design_row",
    "merge_groups",
    "merge_into",
    "mirror",
    "nothing_merged",
    "remove_row",
    "view",
    "with_late",
    "with_pending",
]

"""What was done and seen: rows (`coding`, `history`), and what the rules read: counts (`tables`) and `moments`."""

from .cells import CellLayout, CellTables, add_reward, count_late, count_reward, merge_cell, reward_cell, with_late
from .coding import MISSING, Rows
from .history import History
from .margins import Levels, count_lines, empty_margins, levels_of, margin_bytes, margins_of, member_table
from .moments import (
    ArmMoments,
    DesignLayout,
    ViewMoments,
    add_row,
    add_rows,
    design_row,
    merge_arms,
    merge_groups,
    merge_into,
    mirror,
    nothing_merged,
    remove_row,
    view,
)
from .screened_tables import Screen, ScreenedLayout, layout_for
from .subsets import SubsetLayout
from .tables import (
    NONE_PENDING,
    CountTables,
    TableLayout,
    cell_of,
    count_pending,
    count_row,
    count_rows,
    recount_pending,
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
    "Levels",
    "Rows",
    "Screen",
    "ScreenedLayout",
    "SubsetLayout",
    "TableLayout",
    "ViewMoments",
    "WaitingRows",
    "add_reward",
    "add_row",
    "add_rows",
    "cell_of",
    "count_late",
    "count_lines",
    "count_pending",
    "count_reward",
    "count_row",
    "count_rows",
    "design_row",
    "empty_margins",
    "layout_for",
    "levels_of",
    "margin_bytes",
    "margins_of",
    "member_table",
    "merge_arms",
    "merge_cell",
    "merge_groups",
    "merge_into",
    "mirror",
    "nothing_merged",
    "recount_pending",
    "remove_row",
    "reward_cell",
    "view",
    "with_late",
    "with_pending",
]

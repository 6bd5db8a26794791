"""What people look at: figures, tables, progress. The only place that imports matplotlib."""

from .figures import draw_regret
from .graphs import draw_graphs
from .progress import progress
from .study_page import analysis_page, study_page
from .study_tables import arms_table, sets_table
from .tables import regret_table

__all__ = [
    "analysis_page",
    "arms_table",
    "draw_graphs",
    "draw_regret",
    "progress",
    "regret_table",
    "sets_table",
    "study_page",
]

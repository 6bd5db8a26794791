"""What people look at: figures, tables, progress. The only place that imports matplotlib."""

from .figures import draw_regret
from .graphs import draw_graphs
from .progress import progress
from .tables import regret_table

__all__ = ["draw_graphs", "draw_regret", "progress", "regret_table"]

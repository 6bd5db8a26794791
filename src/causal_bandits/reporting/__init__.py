"""What people look at: figures, tables, pages, progress. The only place that imports matplotlib."""

from .figures import draw
from .graphs import draw_graphs
from .page import Section, duration, report_page
from .progress import progress
from .tables import claims_sheet, evidence, sheet_of, terminal_table

__all__ = [
    "Section",
    "claims_sheet",
    "draw",
    "draw_graphs",
    "duration",
    "evidence",
    "progress",
    "report_page",
    "sheet_of",
    "terminal_table",
]

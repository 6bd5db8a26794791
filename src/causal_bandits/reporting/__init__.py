"""What people look at: figures, tables, pages, progress. The only package that imports matplotlib."""

from ..markup import printable
from .figures import draw
from .graphs import draw_graphs
from .page import Rendered, Section, duration, page_of, rendered, report_page
from .progress import progress
from .study_page import analysis_page, study_page
from .study_tables import arms_table, sets_table
from .tables import claims_sheet, evidence, sheet_of, terminal_table
from .terminal import PlainConsole, written

__all__ = [
    "PlainConsole",
    "Rendered",
    "Section",
    "analysis_page",
    "arms_table",
    "claims_sheet",
    "draw",
    "draw_graphs",
    "duration",
    "evidence",
    "page_of",
    "printable",
    "progress",
    "rendered",
    "report_page",
    "sets_table",
    "sheet_of",
    "study_page",
    "terminal_table",
    "written",
]

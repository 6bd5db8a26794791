"""What people look at: figures, tables, pages, progress. The only package that imports matplotlib."""

from ..markup import printable
from .figures import draw
from .graph_plots import draw_graphs
from .lift_sheets import effects_sheet, lifts_sheet
from .matrices import matrix_texts
from .progress import progress
from .results_page import ByReading, Rendered, Section, duration, page_of, rendered, report_page
from .study_page import analysis_page, study_page
from .study_sheets import answer, arms_sheet, first_rows, pending_words, recommended, sets_sheet
from .summary_sheets import claims_sheet, evidence, sheet_of
from .terminal import PlainConsole, terminal_table, written

__all__ = [
    "ByReading",
    "PlainConsole",
    "Rendered",
    "Section",
    "analysis_page",
    "answer",
    "arms_sheet",
    "claims_sheet",
    "draw",
    "draw_graphs",
    "duration",
    "effects_sheet",
    "evidence",
    "first_rows",
    "lifts_sheet",
    "matrix_texts",
    "page_of",
    "pending_words",
    "printable",
    "progress",
    "recommended",
    "rendered",
    "report_page",
    "sets_sheet",
    "sheet_of",
    "study_page",
    "terminal_table",
    "written",
]

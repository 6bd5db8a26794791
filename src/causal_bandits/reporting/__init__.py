"""Figures, tables, pages and progress. The only package that imports matplotlib."""

from ..core.markup import printable
from .described import AnalysisDescription, StudyDescription
from .plots import draw_graphs, figure_file
from .results_page import ByReading, Rendered, Section, duration, page_of, rendered, report_page
from .sheets import (
    Sheet,
    answer,
    arms_sheet,
    effects_sheet,
    finished_words,
    first_rows,
    lifts_sheet,
    other_notices,
    pending_words,
    recommended,
    sets_sheet,
)
from .study_page import analysis_page, study_page
from .summary_plots import draw
from .summary_sheets import claims_sheet, evidence, matrix_texts, sheet_of
from .terminal import PlainConsole, progress, terminal_table, written

__all__ = [
    "AnalysisDescription",
    "ByReading",
    "PlainConsole",
    "Rendered",
    "Section",
    "Sheet",
    "StudyDescription",
    "analysis_page",
    "answer",
    "arms_sheet",
    "claims_sheet",
    "draw",
    "draw_graphs",
    "duration",
    "effects_sheet",
    "evidence",
    "figure_file",
    "finished_words",
    "first_rows",
    "lifts_sheet",
    "matrix_texts",
    "other_notices",
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

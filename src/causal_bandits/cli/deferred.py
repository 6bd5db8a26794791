"""Packages that commands use, imported when a command runs; help and completion need none of them."""

from typing import TYPE_CHECKING

from ..libraries import later

if TYPE_CHECKING:
    from ..core import policies
    from ..core import problem as problems
    from ..core.data import table_files
    from ..product import analysis, service, studies
    from ..reporting import described, plots, sheets, summary_sheets
    from ..reporting import study_page as study_pages
    from ..reporting import terminal as terminals
    from ..research import experiments, simulation
else:
    policies, problems = later("causal_bandits.core.policies"), later("causal_bandits.core.problem")
    table_files = later("causal_bandits.core.data.table_files")
    analysis, service = later("causal_bandits.product.analysis"), later("causal_bandits.product.service")
    studies, sheets = later("causal_bandits.product.studies"), later("causal_bandits.reporting.sheets")
    described, plots = later("causal_bandits.reporting.described"), later("causal_bandits.reporting.plots")
    summary_sheets = later("causal_bandits.reporting.summary_sheets")
    study_pages, terminals = later("causal_bandits.reporting.study_page"), later("causal_bandits.reporting.terminal")
    experiments, simulation = later("causal_bandits.research.experiments"), later("causal_bandits.research.simulation")

__all__ = [
    "analysis",
    "described",
    "experiments",
    "plots",
    "policies",
    "problems",
    "service",
    "sheets",
    "simulation",
    "studies",
    "study_pages",
    "summary_sheets",
    "table_files",
    "terminals",
]

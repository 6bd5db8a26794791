"""Packages that commands use, imported when a command runs; help and completion need none of them."""

from typing import TYPE_CHECKING

from ..libraries import later

if TYPE_CHECKING:
    from .. import reporting
    from ..core import policies
    from ..core import problem as problems
    from ..core.data import table_files
    from ..product import analysis, service, studies
    from ..research import experiments, simulation
else:
    policies, problems = later("causal_bandits.core.policies"), later("causal_bandits.core.problem")
    table_files = later("causal_bandits.core.data.table_files")
    analysis, service = later("causal_bandits.product.analysis"), later("causal_bandits.product.service")
    studies, reporting = later("causal_bandits.product.studies"), later("causal_bandits.reporting")
    experiments, simulation = later("causal_bandits.research.experiments"), later("causal_bandits.research.simulation")

__all__ = [
    "analysis",
    "experiments",
    "policies",
    "problems",
    "reporting",
    "service",
    "simulation",
    "studies",
    "table_files",
]

"""Figures as frozen configurations: run -> files -> summary -> drawing -> report. One module per paper."""

from .base import Experiment, Scale
from .claims import judge
from .comparison import Comparison, compare
from .curves import Curves
from .families import FAMILIES
from .field import compare_field
from .figure_files import Reproduced, reproduce
from .known_experiments import ALL, EXPERIMENTS, PAPER, find_experiments
from .methods import Method, Panel
from .planning import Plan, plan
from .store import Progress

__all__ = [
    "ALL",
    "EXPERIMENTS",
    "FAMILIES",
    "PAPER",
    "Comparison",
    "Curves",
    "Experiment",
    "Method",
    "Panel",
    "Plan",
    "Progress",
    "Reproduced",
    "Scale",
    "compare",
    "compare_field",
    "find_experiments",
    "judge",
    "plan",
    "reproduce",
]

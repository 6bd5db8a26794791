"""Figures as frozen configurations: run -> files -> summary -> drawing -> report. One module per paper."""

from .base import Experiment, Scale
from .claims import judge
from .comparison import Comparison, compare
from .curves import Curves
from .families import FAMILIES
from .field import compare_field
from .methods import Method, Panel
from .registry import ALL, EXPERIMENTS, PAPER, find_experiments
from .reproduction import Reproduced, reproduce
from .run import Told

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
    "Reproduced",
    "Scale",
    "Told",
    "compare",
    "compare_field",
    "find_experiments",
    "judge",
    "reproduce",
]

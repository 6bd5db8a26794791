"""Figures as frozen configurations: run -> files -> summary -> drawing. One module per paper."""

from .base import Experiment, Plan, Scale, Series
from .de_kroon import FIG2A, FIG2C, FIG5
from .registry import EXPERIMENTS, find_experiment
from .reproduce import reproduce

__all__ = [
    "EXPERIMENTS",
    "FIG2A",
    "FIG2C",
    "FIG5",
    "Experiment",
    "Plan",
    "Scale",
    "Series",
    "find_experiment",
    "reproduce",
]

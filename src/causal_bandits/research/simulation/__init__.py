"""Run policies in worlds, once or many times, compiled if possible. Only this package computes regret."""

from .bayes_oracle import BayesOracle
from .delays import ByOutcome, Geometric
from .knowledge import FIELD, field, told
from .many_runs import Simulation, Tails, simulate
from .one_run import Run, observe, play

__all__ = [
    "FIELD",
    "BayesOracle",
    "ByOutcome",
    "Geometric",
    "Run",
    "Simulation",
    "Tails",
    "field",
    "observe",
    "play",
    "simulate",
    "told",
]

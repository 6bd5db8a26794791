"""Run policies in worlds, once or many times, compiled if possible. Only this package computes regret."""

from .bayes_oracle import BayesOracle
from .delays import ByOutcome, Geometric
from .knowledge import entries, field, told
from .many_runs import Simulation, Tails, simulate
from .one_run import Run, observe, play

__all__ = [
    "BayesOracle",
    "ByOutcome",
    "Geometric",
    "Run",
    "Simulation",
    "Tails",
    "entries",
    "field",
    "observe",
    "play",
    "simulate",
    "told",
]

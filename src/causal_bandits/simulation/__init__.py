"""Policies played in worlds: one run, many runs, compiled where both sides can be. Only this room computes regret."""

from .delays import Batched, ByOutcome, Geometric
from .knowledge import FIELD, field, told
from .many_runs import simulate
from .one_run import Run, observe, play
from .results import Simulation

__all__ = [
    "FIELD",
    "Batched",
    "ByOutcome",
    "Geometric",
    "Run",
    "Simulation",
    "field",
    "observe",
    "play",
    "simulate",
    "told",
]

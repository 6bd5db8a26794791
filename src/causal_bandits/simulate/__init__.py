"""Policies played in worlds: one run, many runs, compiled where both sides can be. Only this room computes regret."""

from .results import Simulation
from .run import Run, observe, play
from .runs import simulate
from .told import FIELD, field, told

__all__ = ["FIELD", "Run", "Simulation", "field", "observe", "play", "simulate", "told"]

"""Policies played in worlds: one run, many runs, compiled where both sides can be. Only this room computes regret."""

from .knowledge import FIELD, field, told
from .results import Simulation
from .run import Run, observe, play
from .runs import simulate

__all__ = ["FIELD", "Run", "Simulation", "field", "observe", "play", "simulate", "told"]

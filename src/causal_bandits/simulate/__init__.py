"""Policies played in worlds: one run, many runs, compiled where both sides can be. Only this room computes regret."""

from .results import Simulation
from .run import Run, observe, play
from .runs import simulate

__all__ = ["Run", "Simulation", "observe", "play", "simulate"]

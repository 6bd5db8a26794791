"""Worlds with real-valued rewards."""

from typing import Any

import polars as pl

from causal_bandits import (
    LoggedWorld,
    MixedGraph,
    Problem,
    datasets,
)
from causal_bandits.research.worlds import random_linear_world


def mixed_sachs() -> LoggedWorld:
    """Sachs with Erk as low, middle or high."""
    problem, frame = datasets.sachs()
    levels = ["low", "middle", "high"]
    third = frame["Erk"].rank("ordinal").to_numpy() * 3 // (frame.height + 1)
    cut = pl.Series("Erk", [levels[int(place)] for place in third])
    observed: dict[str, Any] = {"Mek": float, "Erk": levels, "Akt": float}
    levers = {variable.name: list(variable.levels) for variable in problem.interventions}
    arms = [dict(arm.items()) for arm in problem.arms]
    return LoggedWorld(Problem("Raf", observed, levers, arms=arms, reward=float), frame.with_columns(cut))


SACHS = LoggedWorld(*datasets.sachs())


SCM = random_linear_world(
    MixedGraph(["A", "B", "Y"], directed=[("A", "B"), ("B", "Y")], bidirected=[("A", "Y")]), seed=2
)

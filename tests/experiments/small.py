"""Experiments of the paper cut down to a few worlds: the same code in seconds."""

from dataclasses import replace

from causal_bandits.research.experiments import Curves, Scale
from causal_bandits.research.experiments.de_kroon import CLASSES, FIG2A, FIG2C
from causal_bandits.research.experiments.families import structureless_world

WEIGHTS = [1.0, 3.0, 3.0, 6.0]
SIZE = Scale(200, 3, slow_runs=2)


def weights() -> list[float]:
    return WEIGHTS


SMALL_2A: Curves = replace(
    FIG2A, panels=(replace(CLASSES, worlds=4),), weights=weights, scales={"smoke": SIZE, "quick": Scale(100, 1)}
)
SMALL_2C: Curves = replace(
    FIG2C,
    panels=(replace(CLASSES, worlds=4, world=structureless_world),),
    weights=weights,
    scales={"smoke": SIZE, "quick": Scale(100, 1)},
)

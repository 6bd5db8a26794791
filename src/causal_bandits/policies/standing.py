"""How arms stand among each other in draws from the posterior."""

from typing import Any, NamedTuple

import numpy as np

from ..compiled import Bools, Floats
from ..problem import Arm, Problem
from .estimates import Recommendation, checked_margin
from .protocol import BEST, CLOSE, LOSS, standings


class Ranking(NamedTuple):
    """What is recommended, and the probability of every arm to be the best one, from the same draws.

    Args:
        best: The recommended arm.
        probability_best: (arms,): NaN for the arms that are not compared.
    """

    best: Recommendation
    probability_best: Floats


def ranking_of(
    state: Any,
    arm: Arm,
    mean: float,
    problem: Problem,
    rows: int,
    draws: int,
    margin: float | None,
    cost: Floats,
    among: Bools,
) -> Ranking:
    """What draws of all means say of the arms to compare.

    The draws depend on the number of rows alone: they are those of `drawn_means`, whichever arms are compared.
    """
    near, arms = checked_margin(margin, mean), len(problem.arms)
    taken = np.where(among, cost, np.nan)  # a mean that is NaN is not compared
    everything = standings(state, np.random.default_rng(rows), draws, arms, near, taken, np.empty((0, arms))) / draws
    found = everything[problem.index(arm)]
    best = Recommendation(arm, mean, float(found[BEST]), float(found[CLOSE]), near, float(found[LOSS]))
    return Ranking(best, np.where(among, everything[:, BEST], np.nan))


def drawn_means(state: Any, rows: int, draws: int, arms: int) -> Floats:
    """(draws, arms): joint draws of all means from the posterior; they depend on the number of rows alone."""
    kept = np.empty((draws, arms))
    standings(state, np.random.default_rng(rows), draws, arms, 0.0, np.zeros(arms), kept)
    return kept

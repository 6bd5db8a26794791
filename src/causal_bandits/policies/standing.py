"""How arms stand among each other in draws from the posterior."""

from typing import Any

import numpy as np

from ..compiled import Floats
from ..problem import Arm, Problem
from .estimates import Recommendation, checked_margin
from .protocol import BEST, CLOSE, LOSS, standings


def recommendation(
    state: Any,
    arm: Arm,
    mean: float,
    problem: Problem,
    rows: int,
    draws: int,
    margin: float | None,
    cost: Floats | None = None,
) -> Recommendation:
    """What draws say of the arm that is recommended; they depend on the number of rows alone."""
    near, arms = checked_margin(margin, mean), len(problem.arms)
    taken = np.zeros(arms) if cost is None else cost
    everything = standings(state, np.random.default_rng(rows), draws, arms, near, taken, np.empty((0, arms)))
    found = everything[problem.index(arm)] / draws
    return Recommendation(arm, mean, float(found[BEST]), float(found[CLOSE]), near, float(found[LOSS]))


def drawn_means(state: Any, rows: int, draws: int, arms: int) -> Floats:
    """(draws, arms): joint draws of all means from the posterior; they depend on the number of rows alone."""
    kept = np.empty((draws, arms))
    standings(state, np.random.default_rng(rows), draws, arms, 0.0, np.zeros(arms), kept)
    return kept

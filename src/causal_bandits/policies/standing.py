"""How an arm stands among the others in draws from the posterior."""

from typing import Any

import numpy as np

from ..problem import Arm, Problem
from .estimates import Recommendation, checked_margin
from .protocol import BEST, CLOSE, LOSS, standings


def recommendation(
    state: Any, arm: Arm, mean: float, problem: Problem, rows: int, draws: int, margin: float | None
) -> Recommendation:
    """What draws say of the arm that is recommended; they depend on the number of rows alone."""
    near = checked_margin(margin, mean)
    everything = standings(state, np.random.default_rng(rows), draws, len(problem.arms), near)
    found = everything[problem.index(arm)] / draws
    return Recommendation(arm, mean, float(found[BEST]), float(found[CLOSE]), near, float(found[LOSS]))

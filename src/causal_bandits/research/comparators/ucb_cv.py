"""UCB with a control variate (Verma and Hanawal 2021: UCB-CV): known mediators take noise off the reward."""

import math
from typing import NamedTuple

import numpy as np

from ...core.compiled import Floats, Ints, by_reference, compiled
from .counts import Counts, arm_index, counted
from .told_set import ToldSetPolicy


@counted
@by_reference
class UCBCVState(NamedTuple):
    """Counts, and P(Z | arm)."""

    counts: Counts
    chances: Floats


@compiled
def control_variate_index(own: Ints, pooled: Ints, chances: Floats, t: int) -> float:
    """mu_cv + sqrt(4 ln t) sd(mu_cv) of an arm with rows `own` (cells, 2); infinite with fewer than four rows.

    The control of a row is w = E[Y | z] as pooled over all arms, whose mean omega = sum_z p(z | a) w_z is known:
    mu_cv = ybar - l (wbar - omega), l = Cov(y, w) / Var(w). Its variance is that of the residuals with n - 2 degrees of
    freedom, over n, times 1 + (wbar - omega)^2 / Var(w). It is unbiased whether or not Z separates.
    """
    n, ones, sum_w, sum_ww, sum_wy, omega = 0.0, 0.0, 0.0, 0.0, 0.0, 0.0
    for cell in range(len(own)):
        rows = own[cell, 0] + own[cell, 1]
        w = (1.0 + pooled[cell, 1]) / (2.0 + pooled[cell, 0] + pooled[cell, 1])
        n += rows
        ones += own[cell, 1]
        sum_w += rows * w
        sum_ww += rows * w * w
        sum_wy += own[cell, 1] * w
        omega += chances[cell] * w
    if n < 4:
        return math.inf
    mean, mean_w = ones / n, sum_w / n
    var_w = sum_ww / n - mean_w**2
    var_y = mean * (1 - mean)
    slope = (sum_wy / n - mean * mean_w) / var_w if var_w > 1e-12 else 0.0
    residual = max(var_y - slope**2 * var_w, 0.0) * n / (n - 2)
    spread = 1.0 + ((mean_w - omega) ** 2 / var_w if var_w > 1e-12 else 0.0)
    return mean - slope * (mean_w - omega) + math.sqrt(4 * math.log(t) * (residual * spread + 0.25 / n) / n)


@arm_index.of(UCBCVState)
@compiled
def ucb_cv_of_arm(state: UCBCVState, arm: int, rng: np.random.Generator) -> float:
    """The bound of an arm."""
    counts = state.counts
    return control_variate_index(counts.seen[arm], counts.pooled, state.chances[arm], counts.rows[0])


class UCBCV(ToldSetPolicy):
    """The highest mean corrected by a control variate, plus its width; unbiased even where Z does not separate.

    Deviation: the quantile 1 - 1 / t^2 of Student's t is replaced by sqrt(4 ln t), which is above it for large n, and
    1 / (4 n) is added to the variance, so that an arm with equal rewards is not treated as certain.

    Args:
        separating: Names of the variables of a set Z whose P(Z | arm) is known.
        chances: P(Z | arm): an axis for the arms and one per variable of `separating`, in that order.
    """

    name = "ucb-cv"
    hints = "a set Z, P(Z | a)"
    plays_highest = True

    def _start(self, counts: Counts) -> UCBCVState:
        return UCBCVState(counts, self.chances)

    def _shares(self, state: UCBCVState) -> bool:
        """Estimates are from own rows."""
        return False

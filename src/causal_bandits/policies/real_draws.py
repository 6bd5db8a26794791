"""One draw of an arm's mean for Gaussian Thompson Sampling: from its own rows, or through a pooled regression."""

import math

import numpy as np

from ..compiled import Ints, compiled
from ..data import ArmMoments
from ..estimators.cholesky import lower_root
from ..estimators.regression import Fit, own_mean_and_variance


@compiled
def _draw_t(rng: np.random.Generator, freedom: float) -> float:
    return float(rng.standard_normal() / math.sqrt(rng.chisquare(freedom) / freedom))


@compiled
def draw_own_mean(moments: ArmMoments, arm: int, rng: np.random.Generator) -> float:
    """One draw of an arm's mean from its own rows: normal-inverse-gamma with the reference prior, a scaled t."""
    mean, variance = own_mean_and_variance(moments, arm)
    return float(mean + math.sqrt(variance) * _draw_t(rng, moments.counts[arm] - 1.0))


@compiled
def draw_shared_mean(moments: ArmMoments, columns: Ints, fit: Fit, arm: int, rng: np.random.Generator) -> float:
    """One draw of an arm's mean through a set: Bayesian regression in the pool, own rows for the mean of S.

    Reference priors throughout: residual variance scaled inverse chi-squared, coefficients normal given it, and
    the arm's mean of the fitted part a scaled t given the coefficients.
    """
    size = len(columns)
    freedom = fit.rows - size - 1.0
    sigma = math.sqrt(fit.residual_sum / rng.chisquare(freedom))
    root = lower_root(fit.inverse, 0.0)
    noise = np.empty(size)
    slopes = fit.slopes.copy()
    for row in range(size):
        noise[row] = rng.standard_normal()
        for column in range(row + 1):
            slopes[row] += sigma * root[row, column] * noise[column]
    result = fit.means[-1] + sigma / math.sqrt(fit.rows) * rng.standard_normal()
    spread = 0.0
    for one in range(size):
        result += slopes[one] * (moments.means[arm, columns[one]] - fit.means[columns[one]])
        for other in range(size):
            spread += slopes[one] * moments.scatter[arm, columns[one], columns[other]] * slopes[other]
    rows = moments.counts[arm]
    return float(result + math.sqrt(max(spread, 0.0) / (rows * (rows - 1.0))) * _draw_t(rng, rows - 1.0))

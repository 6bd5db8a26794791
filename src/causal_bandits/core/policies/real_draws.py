"""One draw of an arm's mean for Gaussian Thompson Sampling: from its own rows, or through a pooled regression."""

import math
from typing import NamedTuple

import numpy as np

from ..compiled import Floats, Ints, compiled
from ..data import ArmMoments
from ..estimators.linear_algebra import lower_root
from ..estimators.regression import Fit, own_mean_and_variance


class Prior(NamedTuple):
    """What an arm's variance starts from: this many rows of this variance; no rows is the reference prior."""

    rows: float
    variance: float


@compiled
def prior_of(moments: ArmMoments, rows: float) -> Prior:
    """This many rows with the variance of all rewards; 1 where all are alike."""
    total = moments.counts.sum()
    if rows <= 0 or total == 0:
        return Prior(0.0, 0.0)
    mean, scatter = 0.0, 0.0
    for arm in range(len(moments.counts)):
        mean += moments.counts[arm] / total * moments.means[arm, -1]
    for arm in range(len(moments.counts)):
        scatter += moments.scatter[arm, -1, -1] + moments.counts[arm] * (moments.means[arm, -1] - mean) ** 2
    return Prior(rows, scatter / total if scatter > 0 else 1.0)


@compiled
def softened(variance: float, count: int, prior: Prior) -> float:
    """The variance of an arm's mean, where its row variance starts from the prior's rows.

    Without, an arm whose first rewards are alike has variance 0 and is left, or taken, for good.
    """
    if count < 2:
        return variance
    return (variance * count * (count - 1) + prior.rows * prior.variance) / (count - 1 + prior.rows) / count


@compiled
def _draw_t(rng: np.random.Generator, freedom: float) -> float:
    return float(rng.standard_normal() / math.sqrt(rng.chisquare(freedom) / freedom))


@compiled
def draw_own_mean(moments: ArmMoments, arm: int, prior: Prior, rng: np.random.Generator) -> float:
    """One draw of an arm's mean from its own rows: normal-inverse-gamma, a scaled t."""
    mean, variance = own_mean_and_variance(moments, arm)
    if prior.rows > 0:
        variance = softened(variance, moments.counts[arm], prior)
    return float(mean + math.sqrt(variance) * _draw_t(rng, moments.counts[arm] - 1.0 + prior.rows))


@compiled
def typical_reward(moments: ArmMoments) -> tuple[float, float]:
    """Mean and standard deviation of all rewards; 1 where there are fewer than two."""
    rows, means = moments.counts.sum(), moments.means[:, -1]
    if rows < 2:
        return means.sum(), 1.0
    mean = (moments.counts * means).sum() / rows
    scatter = moments.scatter[:, -1, -1].sum() + (moments.counts * (means - mean) ** 2).sum()
    return mean, math.sqrt(scatter / (rows - 1))


@compiled
def draw_like_others(moments: ArmMoments, arm: int, rng: np.random.Generator) -> float:
    """An arm with fewer than two rewards: as single rewards are spread, around its own or their mean."""
    typical, spread = typical_reward(moments)
    centre = moments.means[arm, -1] if moments.counts[arm] else typical
    return float(centre + spread * rng.standard_normal())


@compiled
def draw_shared_mean(
    moments: ArmMoments,
    columns: Ints,
    fit: Fit,
    scatter: Floats,
    arm: int,
    prior: Prior,
    rng: np.random.Generator,
) -> float:
    """One draw of an arm's mean through a set: Bayesian regression in the pool, own rows for the mean of S.

    Residual variance scaled inverse chi-squared, coefficients normal given it, and the arm's mean of the fitted part a
    scaled t given the coefficients; `moments` may have rows whose reward is pending. The prior of both variances is
    the reference one, or worth this many rows: of the variance of rewards, and of the fitted part in the pool
    (`scatter` is the pool's).
    """
    size = len(columns)
    freedom = fit.rows - size - 1.0 + prior.rows
    sigma = math.sqrt((fit.residual_sum + prior.rows * prior.variance) / rng.chisquare(freedom))
    root = lower_root(fit.inverse, 0.0)
    noise = np.empty(size)
    slopes = fit.slopes.copy()
    for row in range(size):
        noise[row] = rng.standard_normal()
        for column in range(row + 1):
            slopes[row] += sigma * root[row, column] * noise[column]
    result = fit.means[-1] + sigma / math.sqrt(fit.rows) * rng.standard_normal()
    spread, pooled = 0.0, 0.0
    for one in range(size):
        result += slopes[one] * (moments.means[arm, columns[one]] - fit.means[columns[one]])
        for other in range(size):
            spread += slopes[one] * moments.scatter[arm, columns[one], columns[other]] * slopes[other]
            pooled += slopes[one] * scatter[columns[one], columns[other]] * slopes[other]
    rows = moments.counts[arm]
    freedom = rows - 1.0 + prior.rows
    spread = max(spread, 0.0) + prior.rows * max(pooled, 0.0) / fit.rows
    return float(result + math.sqrt(spread / (rows * freedom)) * _draw_t(rng, freedom))

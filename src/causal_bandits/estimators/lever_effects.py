"""Lever effects with learnt scales: an arm is a common level, an effect of each lever, and a deviation of its own.

    value of arm a  =  level  +  effect[lever 1, its level]  +  effect[lever 2, its level]  +  ...  +  deviation[a]
    effects ~ N(0, effect variance),  deviations ~ N(0, deviation variance),  measured value ~ N(value, 1 / precision)

The variances come from `lever_scales`. With a single lever an effect of its level and a deviation of the arm are one
thing: pass codes without columns.
"""

import math
from typing import NamedTuple

import numpy as np

from ..compiled import Floats, Ints, compiled
from .linear_algebra import lower_root

NO_PIVOT = 1e-18
"""Pivots below it are 0 in the root of a covariance."""


class LeverFit(NamedTuple):
    """The posterior of level and effects; deviations are left to the arms."""

    none: float
    """How probable it is that every arm has the value 0."""
    mean: Floats
    """(1 + levels of all levers,): the level, then the effects."""
    covariance: Floats
    root: Floats
    """Lower triangular: root @ root.T is the covariance."""
    deviation: float
    """Variance of an arm's own deviation."""
    spread: float
    """Variance over arms: of all effects and the deviation."""


def effect_starts(levels: Ints) -> Ints:
    """Where each lever's effects begin; the level of all arms comes first."""
    starts: Ints = (1 + np.cumsum(levels) - levels).astype(np.int64)
    return starts


@compiled
def invert(matrix: Floats) -> float:
    """Invert a positive definite matrix in place (Gauss-Jordan); the logarithm of its determinant."""
    found, size = 0.0, len(matrix)
    for pivot in range(size):
        value = matrix[pivot, pivot]
        found += math.log(value)
        matrix[pivot, pivot] = 1.0
        for column in range(size):
            matrix[pivot, column] /= value
        for row in range(size):
            factor = matrix[row, pivot]
            if row != pivot and factor != 0.0:
                matrix[row, pivot] = 0.0
                for column in range(size):
                    matrix[row, column] -= factor * matrix[pivot, column]
    return found


@compiled
def _add_arm(matrix: Floats, vector: Floats, weight: float, value: float, codes: Ints, starts: Ints) -> None:
    """Add one measured value to the normal equations."""
    matrix[0, 0] += weight
    vector[0] += weight * value
    for lever in range(len(starts)):
        at = starts[lever] + codes[lever]
        vector[at] += weight * value
        matrix[0, at] += weight
        matrix[at, 0] += weight
        for other in range(len(starts)):
            matrix[at, starts[other] + codes[other]] += weight


@compiled
def gather(
    values: Floats, precision: Floats, codes: Ints, starts: Ints, deviation: float, matrix: Floats, vector: Floats
) -> float:
    """Fill the normal equations, given the variance of deviations; the part of log P(values) without effects."""
    found, size = 0.0, len(vector)
    for row in range(size):
        vector[row] = 0.0
        for column in range(size):
            matrix[row, column] = 0.0
    for arm in range(len(values)):
        if precision[arm] > 0:
            weight = 1 / (1 / precision[arm] + deviation)
            found += 0.5 * math.log(weight) - 0.5 * weight * values[arm] ** 2
            _add_arm(matrix, vector, weight, values[arm], codes[arm], starts)
    return found


@compiled
def solve(matrix: Floats, vector: Floats, level: float, effect: float, mean: Floats, covariance: Floats) -> float:
    """Fill mean and covariance of level and effects, from their prior variances; the rest of log P(values)."""
    size = len(mean)
    for row in range(size):
        for column in range(size):
            covariance[row, column] = matrix[row, column]
    covariance[0, 0] += 1 / level
    for place in range(1, size):
        covariance[place, place] += 1 / effect
    found = -0.5 * (math.log(level) + (size - 1) * math.log(effect)) - 0.5 * invert(covariance)
    for row in range(size):
        mean[row] = 0.0
        for column in range(size):
            mean[row] += covariance[row, column] * vector[column]
        found += 0.5 * mean[row] * vector[row]
    return found


@compiled
def fit_given(
    values: Floats, precision: Floats, codes: Ints, starts: Ints, size: int, none: float, variances: Floats
) -> LeverFit:
    """Level and effects given the variances of level, effects, deviations, and of arms in all segments if there are."""
    mean, covariance, matrix, vector = np.empty(size), np.empty((size, size)), np.empty((size, size)), np.empty(size)
    gather(values, precision, codes, starts, variances[2], matrix, vector)
    spread = variances[2] + len(starts) * variances[1]
    if len(variances) > 3:
        spread += variances[3] - variances[1]
        for place in range(starts[-1], size):
            matrix[place, place] += 1 / variances[3] - 1 / variances[1]
    solve(matrix, vector, variances[0], variances[1], mean, covariance)
    return LeverFit(none, mean, covariance, lower_root(covariance, NO_PIVOT), variances[2], spread)


@compiled
def keep_effects(fit: LeverFit, level: float, mean: Floats, root: Floats) -> None:
    """Copy level and effects, the level counted from `level`, into arrays of a state."""
    for row in range(len(mean)):
        mean[row] = fit.mean[row]
        for column in range(len(mean)):
            root[row, column] = fit.root[row, column]
    mean[0] += level


@compiled
def at_arm(effects: Floats, codes: Ints, starts: Ints) -> float:
    """Level and effects of one arm, added up."""
    found: float = effects[0]
    for lever in range(len(starts)):
        found += effects[starts[lever] + codes[lever]]
    return found


@compiled
def without_own(fit: LeverFit, value: float, precision: float, codes: Ints, starts: Ints) -> tuple[float, float]:
    """What the other arms say about an arm: mean and variance of its value, its own measurement left out."""
    variance = fit.covariance[0, 0]
    for lever in range(len(starts)):
        at = starts[lever] + codes[lever]
        variance += 2 * fit.covariance[0, at]
        for other in range(len(starts)):
            variance += fit.covariance[at, starts[other] + codes[other]]
    weight = 1 / (1 / precision + fit.deviation) if precision > 0 else 0.0
    rest = max(1 - weight * variance, 1e-9)
    mean = (at_arm(fit.mean, codes, starts) - weight * variance * value) / rest
    return mean, variance / rest + fit.deviation


@compiled
def draw_effects(mean: Floats, root: Floats, far: float, rng: np.random.Generator, drawn: Floats) -> None:
    """One joint draw of the level and all effects, `far` times as far from their mean as the posterior says."""
    size = len(mean)
    noise = np.empty(size)
    for row in range(size):
        noise[row] = far * rng.standard_normal()
        drawn[row] = mean[row]
        for column in range(row + 1):
            drawn[row] += root[row, column] * noise[column]

"""Lever effects with learnt scales: an arm is a common level, an effect of each lever, and a deviation of its own.

    value of arm a  =  level  +  effect[lever 1, its level]  +  effect[lever 2, its level]  +  ...  +  deviation[a]
    effects ~ N(0, effect variance),  deviations ~ N(0, deviation variance),  measured value ~ N(value, 1 / precision)

Both variances are weighed on a grid by the evidence of the measured values, and averaged. In units of `unit` (what one
log-odds is worth on the scale of the values: p (1 - p) for chances) the total standard deviation over arms is lognormal
beforehand, TYPICAL times or divided by FACTOR: real levers move chances by a tenth of a log-odds up to two. The weight
`none` belongs to the model in which all arms have the value 0: how probable it is that there is nothing to explain.

With a single lever an effect of its level and a deviation of the arm are one thing: pass codes without columns.
"""

import math
from typing import NamedTuple

import numpy as np

from ..compiled import Floats, Ints, compiled
from .cholesky import lower_root

EFFECTS = np.array([0.0, 0.1, 0.3, 0.9])
DEVIATIONS = np.array([0.06, 0.2, 0.6, 1.6])
TYPICAL = 0.35
FACTOR = 1.6
"""Standard deviation of the logarithm of the total spread."""
LEAST = 1e-6
NO_PIVOT = 1e-18
"""Variances are at least so large, in squared units: nothing is divided by zero."""


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


@compiled
def effect_starts(levels: Ints) -> Ints:
    """Where each lever's effects begin; the level of all arms comes first."""
    starts = np.empty(len(levels), dtype=np.int64)
    place = 1
    for lever in range(len(levels)):
        starts[lever] = place
        place += levels[lever]
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
    matrix[:] = 0.0
    vector[:] = 0.0
    found = 0.0
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
def _prior(spread: float, factor: float) -> float:
    """Log density, but for a constant, of a total variance in squared units."""
    away = (0.5 * math.log(spread + LEAST) - math.log(TYPICAL)) / factor
    return -0.5 * away * away


class Beforehand(NamedTuple):
    """What is known before any row."""

    unit: float
    """What one log-odds is worth on the scale of the values."""
    level: float
    """Variance of the common level."""
    none: float
    """Chance that every value is 0."""
    beside: float
    """Variance, in squared units, that adds to the spread over arms."""
    factor: float
    """Standard deviation of the logarithm of the total spread."""


@compiled
def _to_weights(logs: Floats, nothing: float, prior: float) -> tuple[float, float]:
    """Turn logarithms into weights, in place; the weight of nothing, and the sum of the others."""
    kinds, deviations = logs.shape
    highest, total = nothing, 0.0
    for i in range(kinds):
        for j in range(deviations):
            logs[i, j] += prior
            highest = max(highest, logs[i, j])
    for i in range(kinds):
        for j in range(deviations):
            logs[i, j] = math.exp(logs[i, j] - highest)
            total += logs[i, j]
    return math.exp(nothing - highest), total


@compiled
def weigh_scales(
    values: Floats, precision: Floats, codes: Ints, starts: Ints, size: int, before: Beforehand
) -> tuple[float, float, float]:
    """P(every value is 0), and the variances of effects and deviations, averaged over the grid; `size`: of the mean."""
    levers = len(starts)
    kinds = len(EFFECTS) if levers else 1
    mean, covariance, matrix, vector = np.empty(size), np.empty((size, size)), np.empty((size, size)), np.empty(size)
    logs = np.empty((kinds, len(DEVIATIONS)))
    square = before.unit**2
    nothing = -np.inf
    if before.none > 0:
        nothing = math.log(before.none) + _prior(before.beside, before.factor)
        nothing += gather(values, precision, codes, starts, LEAST * square, matrix, vector)
        nothing += solve(matrix, vector, before.level, LEAST * square, mean, covariance)
    for j in range(len(DEVIATIONS)):
        apart = gather(values, precision, codes, starts, DEVIATIONS[j] ** 2 * square, matrix, vector)
        for i in range(kinds):
            effect_variance = max(EFFECTS[i] ** 2, LEAST) * square
            logs[i, j] = apart + solve(matrix, vector, before.level, effect_variance, mean, covariance)
            logs[i, j] += _prior(before.beside + levers * EFFECTS[i] ** 2 + DEVIATIONS[j] ** 2, before.factor)
    zero, total = _to_weights(logs, nothing, math.log((1 - before.none) / (kinds * len(DEVIATIONS))))
    effect, deviation = 0.0, 0.0
    if total <= 0.0:  # not a weight is left beside that of nothing
        return 1.0, EFFECTS[1] ** 2 * square, DEVIATIONS[0] ** 2 * square
    for i in range(kinds):
        for j in range(len(DEVIATIONS)):
            effect += logs[i, j] / total * EFFECTS[i] ** 2
            deviation += logs[i, j] / total * DEVIATIONS[j] ** 2
    return zero / (zero + total), max(effect, LEAST) * square, deviation * square


@compiled
def fit_given(
    values: Floats, precision: Floats, codes: Ints, starts: Ints, size: int, none: float, variances: Floats
) -> LeverFit:
    """Level and effects given the variances of level, effects and deviations."""
    mean, covariance, matrix, vector = np.empty(size), np.empty((size, size)), np.empty((size, size)), np.empty(size)
    gather(values, precision, codes, starts, variances[2], matrix, vector)
    solve(matrix, vector, variances[0], variances[1], mean, covariance)
    spread = variances[2] + len(starts) * variances[1]
    return LeverFit(none, mean, covariance, lower_root(covariance, NO_PIVOT), variances[2], spread)


@compiled
def fit_levers(values: Floats, precision: Floats, codes: Ints, starts: Ints, size: int, before: Beforehand) -> LeverFit:
    """Learn the scales, then level and effects given them."""
    none, effect, deviation = weigh_scales(values, precision, codes, starts, size, before)
    variances = np.array([before.level, effect, deviation])
    return fit_given(values, precision, codes, starts, size, none, variances)


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

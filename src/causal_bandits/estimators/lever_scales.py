"""How large lever effects and deviations are: variances weighed on a grid by the evidence of all arms, and averaged.

In units of `unit` (what one log-odds is worth on the scale of the values: p (1 - p) for chances) the total standard
deviation over arms is lognormal beforehand, TYPICAL times or divided by FACTOR: real levers move chances by a tenth of
a log-odds up to two. The weight `none` belongs to the model in which all arms have the value 0: how probable it is that
there is nothing to explain.

Where a problem has segments, a deviation belongs to an arm in a single segment, or to the arm in all of them
(`joined_segments`). The grid has both, and `alike` is the weight of the second beforehand.
"""

import math
from typing import NamedTuple

import numpy as np

from ..compiled import Floats, Ints, compiled
from .joined_segments import join_segments
from .lever_effects import LeverFit, fit_given, gather, solve

EFFECTS = np.array([0.0, 0.1, 0.3, 0.9])
DEVIATIONS = np.array([0.06, 0.2, 0.6, 1.6])
TYPICAL = 0.35
FACTOR = 1.6
"""Standard deviation of the logarithm of the total spread."""
LEAST = 1e-6
"""Variances are at least so large, in squared units: nothing is divided by zero."""


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
    alike: float
    """Chance that levers do the same in all segments; above 0 the last column of codes is the arm but for its segment,
    and its effects come last. 0: there are no segments, or they are levers like the others."""


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
def _log_weights(
    values: Floats, precision: Floats, codes: Ints, starts: Ints, size: int, before: Beforehand, logs: Floats
) -> float:
    """Fill the logarithms of the grid's weights; gives that of "every value is 0".

    Twice as many columns as DEVIATIONS: in the second half the deviation is that of an arm in all segments.
    """
    mean, covariance, matrix, vector = np.empty(size), np.empty((size, size)), np.empty((size, size)), np.empty(size)
    square, scales = before.unit**2, len(DEVIATIONS)
    nothing = -np.inf
    if before.none > 0:
        nothing = math.log(before.none) + _prior(before.beside, before.factor)
        nothing += gather(values, precision, codes, starts, LEAST * square, matrix, vector)
        nothing += solve(matrix, vector, before.level, LEAST * square, mean, covariance)
    for j in range(logs.shape[1]):
        deviation = DEVIATIONS[j % scales] ** 2
        if j < scales:
            apart = gather(values, precision, codes, starts, deviation * square, matrix, vector)
        else:
            apart = gather(values, precision, codes, starts, LEAST * square, matrix, vector)
            apart += join_segments(values, precision, codes, starts, LEAST * square, deviation * square, matrix, vector)
        for i in range(len(logs)):
            effect_variance = max(EFFECTS[i] ** 2, LEAST) * square
            logs[i, j] = apart + solve(matrix, vector, before.level, effect_variance, mean, covariance)
            logs[i, j] += _prior(before.beside + len(starts) * EFFECTS[i] ** 2 + deviation, before.factor)
            if logs.shape[1] > scales:
                logs[i, j] += math.log(1 - before.alike if j < scales else before.alike)
    return nothing


@compiled
def weigh_scales(
    values: Floats, precision: Floats, codes: Ints, starts: Ints, size: int, before: Beforehand
) -> tuple[float, Floats]:
    """P(every value is 0), and the variances of level, effects and deviations, averaged over the grid.

    `size` is that of the mean. Where levers may be `alike` in all segments, a fourth variance is that of an arm's
    deviation in all segments.
    """
    segmented, scales = before.alike > 0, len(DEVIATIONS)
    levers = len(starts) - 1 if segmented else len(starts)
    logs = np.empty((len(EFFECTS) if levers else 1, 2 * scales if segmented else scales))
    width = starts[levers] if segmented else size
    nothing = _log_weights(values, precision, codes, starts[:levers], width, before, logs)
    zero, total = _to_weights(logs, nothing, math.log((1 - before.none) / (len(logs) * scales)))
    square = before.unit**2
    found = np.full(4 if segmented else 3, LEAST * square)
    found[0] = before.level
    if total <= 0.0:  # not a weight is left beside that of nothing
        found[1], found[2] = EFFECTS[1] ** 2 * square, DEVIATIONS[0] ** 2 * square
        return 1.0, found
    effect, deviation, together = 0.0, 0.0, 0.0
    for i in range(len(logs)):
        for j in range(logs.shape[1]):
            effect += logs[i, j] / total * EFFECTS[i] ** 2
            if j < scales:
                deviation += logs[i, j] / total * DEVIATIONS[j] ** 2
            else:
                together += logs[i, j] / total * DEVIATIONS[j - scales] ** 2
    found[1], found[2] = max(effect, LEAST) * square, deviation * square
    if segmented:
        found[2], found[3] = max(deviation, LEAST) * square, max(together, LEAST) * square
    return zero / (zero + total), found


@compiled
def fit_levers(values: Floats, precision: Floats, codes: Ints, starts: Ints, size: int, before: Beforehand) -> LeverFit:
    """Learn the scales, then level and effects given them."""
    none, variances = weigh_scales(values, precision, codes, starts, size, before)
    return fit_given(values, precision, codes, starts, size, none, variances)

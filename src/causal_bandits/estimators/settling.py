"""What sharing by degrees learns from measured indices and differences: lever effects, P(separates), moments."""

import numpy as np

from ..compiled import Floats, compiled
from .degrees import SEPARATES, Graded
from .index_parts import ALL, DIFFERENCE, NOISE, OTHERS, POOLED, N
from .lever_effects import fit_given, keep_effects, without_own
from .lever_scales import FACTOR, LEAST, Beforehand, fit_levers, weigh_scales

ANY = 10.0
"""In place of FACTOR for the index: its spread over arms is measured, not guessed."""


@compiled
def difference_moments(
    separates: float, value: float, noise: float, mean: float, variance: float
) -> tuple[float, float]:
    """Mean and variance of a difference: 0, or else N(mean, variance) and then measured; noise < 0: not measured."""
    if noise >= 0:
        weight = variance / (variance + noise)
        mean += weight * (value - mean)
        variance = weight * noise
    found = (1 - separates) * mean
    return found, (1 - separates) * (variance + mean * mean) - found * found


@compiled
def settle_index(
    state: Graded, place: int, parts: Floats, values: Floats, precision: Floats, before: Beforehand, rate: float
) -> float:
    """Fill the effects on the index, what other arms say, and the moments with the index alone; gives its spread.

    Values are less the rate.
    """
    codes, starts = state.own.codes, state.own.starts
    fit = fit_levers(values, precision, codes, starts, len(state.own.mean), before)
    keep_effects(fit, rate, state.means[0, place], state.roots[0, place])
    state.deviations[0, place] = fit.deviation
    for arm in range(len(parts)):
        mean, variance = without_own(fit, values[arm], precision[arm], codes[arm], starts)
        state.heard[place, arm] = variance
        total = precision[arm] + 1 / variance
        state.moments[place, arm, 0] = rate + (precision[arm] * values[arm] + mean / variance) / total
        state.moments[place, arm, 1] = 1 / total + parts[arm, POOLED]
    return fit.spread


@compiled
def _measured_differences(parts: Floats) -> tuple[Floats, Floats]:
    """Differences over the share that other arms decide, and their precisions."""
    values, precision = np.zeros(len(parts)), np.zeros(len(parts))
    for arm in range(len(parts)):
        if parts[arm, N] > 0:
            values[arm] = parts[arm, DIFFERENCE] / parts[arm, OTHERS]
            precision[arm] = parts[arm, OTHERS] ** 2 / parts[arm, NOISE]
    return values, precision


@compiled
def weigh_difference(state: Graded, parts: Floats, spread: float, unit: float, alike: float) -> tuple[float, Floats]:
    """P(separates), and the variances of level, effects and deviations of the difference; `spread`: of the index."""
    own = state.own
    values, precision = _measured_differences(parts)
    before = Beforehand(unit, LEAST * unit**2, SEPARATES, spread / unit**2, FACTOR, alike)
    return weigh_scales(values, precision, own.codes, own.starts, len(own.mean), before)


@compiled
def settle_difference(state: Graded, place: int, parts: Floats, none: float, variances: Floats, single: float) -> None:
    """Fill P(separates) and the effects on the difference, and add it to the moments; `single`: variance of a row."""
    codes, starts, size = state.own.codes, state.own.starts, len(state.own.mean)
    values, precision = _measured_differences(parts)
    fit = fit_given(values, precision, codes, starts, size, none, variances)
    state.separates[place] = none
    if len(state.ahead):
        _root_ahead(state, place, parts, precision, variances, single)
    keep_effects(fit, 0.0, state.means[1, place], state.roots[1, place])
    state.deviations[1, place] = fit.deviation
    for arm in range(len(parts)):
        share = parts[arm, OTHERS]
        mean, variance = without_own(fit, values[arm], precision[arm], codes[arm], starts)
        noise = parts[arm, NOISE] if parts[arm, N] > 0 else -1.0
        mean, variance = difference_moments(none, parts[arm, DIFFERENCE], noise, share * mean, share * share * variance)
        state.moments[place, arm, 0] += mean
        state.moments[place, arm, 1] += variance


@compiled
def _root_ahead(state: Graded, place: int, parts: Floats, precision: Floats, variances: Floats, single: float) -> None:
    """Fill the root of the lever effects on the difference as it will be when the pending rewards have come."""
    own, known = state.own, precision.copy()
    for arm in range(len(parts)):
        if parts[arm, ALL] > parts[arm, N]:
            known[arm] += (parts[arm, ALL] - parts[arm, N]) / single
    root = fit_given(np.zeros(len(parts)), known, own.codes, own.starts, len(own.mean), 0.0, variances).root
    for row in range(len(root)):
        for column in range(len(root)):
            state.ahead[place, row, column] = root[row, column]

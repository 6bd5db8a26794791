"""Sharing by degrees where rewards are not 0 or 1: the rule of `graded`, over means with learnt variances.

For every set S an arm's mean is its mean index E[Y | S] and a difference (`cell_parts`); both are a sum of lever
effects and a deviation, with scales learnt from all arms, and the difference is 0 for all arms with a probability that
is learnt too. Own rows are the case without an index (`reward_effects`). An arm goes by the set that leaves it the
lowest variance, or by its own rows, and never against its own rows.
"""

from typing import NamedTuple

import numpy as np

from ..compiled import Bools, Floats, Ints, compiled
from ..data import CellTables
from .cell_parts import cell_parts, relative_noise
from .graded import (
    ANY,
    COUNTED,
    ENOUGH,
    GAINED,
    GUARD,
    LEFT,
    PRIOR_ROWS,
    SEPARATES,
    SHARED,
    SPREAD,
    SPREAD_ROWS,
    SQUARES,
    SUM,
    WITHIN,
    difference_moments,
)
from .index_parts import DIFFERENCE, INDEX, NOISE, OTHERS, POOLED, SCATTER, N
from .lever_effects import FACTOR, LEAST, Beforehand, fit_given, fit_levers, weigh_scales, without_own
from .main_effects import LEVEL
from .reward_effects import RewardEffects, refresh_rewards, reward_effects
from .reward_shapes import ABOVE, M2, POSITIVE, RATE, ROWS, SHAPE, inside, own_limits, row_variance, unit_of


class SharedCells(NamedTuple):
    """Tables, own rows, and what the last refresh made of them; the fields of `Graded`."""

    tables: CellTables
    own: RewardEffects
    indices: Floats
    """E[Y | S = s] of every cell of every set, less the mean over arms."""
    starts: Ints
    """(sets,): where its cells begin."""
    chosen: Ints
    """(arms,): the set that an arm goes by; 0: its own rows."""
    separates: Floats
    """(sets,): P(the set separates)."""
    means: Floats
    """(2, sets, 1 + levels): effects on the index and on the difference."""
    roots: Floats
    deviations: Floats
    """(2, sets)."""
    heard: Floats
    """(sets, arms): variance of an arm's mean index, as the other arms say."""
    moments: Floats
    """(sets, arms, 2): mean and variance of every arm's mean through every set."""
    sums: Floats
    """(arms, 4), of the chosen set: rows, their indices, squares, rewards; relative to the mean over arms."""
    parts: Floats
    """(arms, 5), of the chosen set, as in `Graded`."""
    used: Bools
    """(sets,)."""


def shared_cells(tables: CellTables, codes: Ints, levels: Ints, numbers: Floats) -> SharedCells:
    """Nothing known yet."""
    own = reward_effects(codes, levels, numbers)
    sets, arms, size = len(tables.cells), len(codes), len(own.mean)
    return SharedCells(
        tables,
        own,
        np.zeros(int(tables.cells.sum())),
        (np.cumsum(tables.cells) - tables.cells).astype(np.int64),
        np.zeros(arms, dtype=np.int64),
        np.zeros(sets),
        np.zeros((2, sets, size)),
        np.zeros((2, sets, size, size)),
        np.zeros((2, sets)),
        np.full((sets, arms), own.known[0, 1]),
        np.tile(own.known[0, :2], (sets, arms, 1)),
        np.zeros((arms, 4)),
        np.zeros((arms, 5)),
        np.zeros(sets, dtype=np.bool_),
    )


@compiled
def _fit_index(state: SharedCells, place: int, parts: Floats, within: float) -> float:
    """Learn the lever effects on the index; fills the moments with the index alone, gives its spread over arms."""
    own, numbers = state.own, state.own.numbers
    rate = numbers[RATE]
    arms, size = len(parts), len(own.mean)
    values, precision = np.zeros(arms), np.zeros(arms)
    for arm in range(arms):
        n = parts[arm, N]
        if n > 0:
            prior = max(SPREAD_ROWS, within / state.heard[place, arm])
            values[arm] = parts[arm, INDEX]
            precision[arm] = n * (n + prior) / (parts[arm, SCATTER] + prior * within)
    before = Beforehand(unit_of(numbers), LEVEL * row_variance(numbers, rate), 0.0, 0.0, ANY)
    fit = fit_levers(values, precision, own.codes, own.starts, size, before)
    state.means[0, place], state.roots[0, place], state.deviations[0, place] = fit.mean, fit.root, fit.deviation
    state.means[0, place, 0] += rate
    for arm in range(arms):
        mean, variance = without_own(fit, values[arm], precision[arm], own.codes[arm], own.starts)
        state.heard[place, arm] = variance
        total = precision[arm] + 1 / variance
        state.moments[place, arm, 0] = rate + (precision[arm] * values[arm] + mean / variance) / total
        state.moments[place, arm, 1] = 1 / total + parts[arm, POOLED]
    return fit.spread


@compiled
def _fit_difference(state: SharedCells, place: int, parts: Floats, spread: float) -> None:
    """Learn P(separates) and the lever effects on the difference; adds the difference to the moments."""
    own, numbers = state.own, state.own.numbers
    unit, rate = unit_of(numbers), numbers[RATE]
    codes, starts, arms, size = own.codes, own.starts, len(parts), len(own.mean)
    values, precision = np.zeros(arms), np.zeros(arms)
    for arm in range(arms):
        if parts[arm, N] > 0:
            values[arm] = parts[arm, DIFFERENCE] / parts[arm, OTHERS]
            precision[arm] = parts[arm, OTHERS] ** 2 / parts[arm, NOISE]
    before = Beforehand(unit, LEAST * unit**2, SEPARATES, spread / unit**2, FACTOR)
    none, effect, deviation = weigh_scales(values, precision, codes, starts, size, before)
    for arm in range(arms):
        if parts[arm, N] > 0:
            index = inside(numbers, rate + parts[arm, INDEX])
            parts[arm, NOISE] *= relative_noise(numbers, index, inside(numbers, own.known[arm, 0]))
            precision[arm] = parts[arm, OTHERS] ** 2 / parts[arm, NOISE]
    fit = fit_given(values, precision, codes, starts, size, none, np.array([before.level, effect, deviation]))
    state.separates[place] = none
    state.means[1, place], state.roots[1, place], state.deviations[1, place] = fit.mean, fit.root, fit.deviation
    for arm in range(arms):
        share = parts[arm, OTHERS]
        mean, variance = without_own(fit, values[arm], precision[arm], codes[arm], starts)
        noise = parts[arm, NOISE] if parts[arm, N] > 0 else -1.0
        mean, variance = difference_moments(none, parts[arm, DIFFERENCE], noise, share * mean, share * share * variance)
        state.moments[place, arm, 0] += mean
        state.moments[place, arm, 1] += variance


@compiled
def allowed_means(state: SharedCells, arm: int) -> tuple[float, float]:
    """The means that an arm's own rows allow: their 99.9 % interval."""
    rows, mean, scatter = state.own.own[arm]
    return own_limits(state.own.numbers, GUARD, rows, mean, scatter)


@compiled
def _go_by(state: SharedCells, place: int, parts: Floats, within: float) -> None:
    """Arms for which this set leaves the lowest variance so far go by it, unless their own rows contradict it."""
    numbers = state.own.numbers
    for arm in range(len(parts)):
        part, lowest = parts[arm], state.moments[state.chosen[arm], arm, 1]
        low, high = allowed_means(state, arm)
        if state.moments[place, arm, 1] < lowest and low <= state.moments[place, arm, 0] <= high:
            n = part[N]
            state.chosen[arm] = place
            state.sums[arm, COUNTED], state.sums[arm, SUM] = n, n * part[INDEX]
            state.sums[arm, SQUARES] = part[SCATTER] + n * part[INDEX] ** 2
            state.sums[arm, GAINED] = n * (part[INDEX] + part[DIFFERENCE])
            state.parts[arm, WITHIN], state.parts[arm, SHARED] = within, part[POOLED]
            state.parts[arm, PRIOR_ROWS] = max(SPREAD_ROWS, within / state.heard[place, arm])
            state.parts[arm, LEFT] = part[OTHERS]
            state.parts[arm, SPREAD] = part[NOISE] * n if n > 0 else row_variance(numbers, numbers[RATE])


@compiled
def _enough(numbers: Floats) -> bool:
    """Whether there were enough rewards to learn sets from."""
    seen = numbers[ABOVE] if numbers[SHAPE] == POSITIVE else 0.5 * numbers[ROWS]
    return bool(numbers[M2] > 0 and seen >= ENOUGH)


@compiled
def refresh_cells(state: SharedCells) -> None:
    """Learn everything anew from the tables."""
    refresh_rewards(state.own)
    numbers = state.own.numbers
    state.chosen[:] = 0
    state.moments[0] = state.own.known[:, :2]
    enough = _enough(numbers)
    for place in range(1, len(state.tables.cells) if enough else 0):
        start = state.starts[place]
        index = state.indices[start : start + state.tables.cells[place]]
        parts = cell_parts(state.tables, place, numbers, index)
        within = parts[:, SCATTER].sum() / numbers[ROWS] + 1e-9 * unit_of(numbers) ** 2
        spread = _fit_index(state, place, parts, within)
        _fit_difference(state, place, parts, spread)
        if state.separates[place] >= SEPARATES:
            _go_by(state, place, parts, within)
    state.used[:] = False
    for arm in range(len(state.chosen)):
        state.used[state.chosen[arm]] = True

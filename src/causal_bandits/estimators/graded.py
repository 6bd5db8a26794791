"""Sharing by degrees: every set, and the arms' own rows, through lever effects with learnt scales.

For a set S an arm's chance is the mean of its index E[Y | S] and a difference (`index_parts`); both are a sum of lever
effects and a deviation of the arm's own, with scales learnt from all arms (`lever_effects`), and the difference is 0
for all arms with a probability that is learnt too: that S separates. Nothing is accepted or rejected: the larger the
differences turn out, the less is shared. Own rows are the case without an index (`main_effects`). An arm goes by the
set that leaves it the lowest variance, or by its own rows.

A row whose reward is pending counts for its arm's mean index at once, and for everything else when the reward comes. An
arm that waits for many rewards need not be tried again to learn its difference: what is played by is drawn as if the
pending rewards had come as expected (as in GP-BUCB, Desautels et al. 2014), what is stated is not.
"""

import math
from typing import NamedTuple

import numpy as np

from ..compiled import Bools, Floats, Ints, compiled
from ..data import CountTables, with_pending
from .index_parts import ALL, DIFFERENCE, INDEX, KNOWN, NOISE, OTHERS, POOLED, RATIO, SCATTER, N, index_parts
from .lever_effects import (
    FACTOR,
    LEAST,
    Beforehand,
    fit_given,
    fit_levers,
    keep_effects,
    weigh_scales,
    without_own,
)
from .main_effects import (
    LEVEL,
    RATE,
    REWARDS,
    ROWS,
    MainEffects,
    inside,
    main_effects,
    refresh_effects,
)

SEPARATES = 0.1
"""P(a set separates) beforehand; a set that is less probable than that is not used."""
ANY = 10.0
"""In place of FACTOR for the index: its spread over arms is measured, not guessed."""
SPREAD_ROWS = 0.5
"""The variance of the index within an arm is shrunk to that of all arms by at least so many rows."""
ENOUGH = 3
"""Sets are used once there were so many rewards, and as many rows without."""
GUARD = 3.29
"""An arm stays within the 99.9 % interval of its own rows: so many standard errors."""

WITHIN, PRIOR_ROWS, SHARED, LEFT, SPREAD = range(5)
COUNTED, SUM, SQUARES, GAINED = range(4)
WAITING, WAITING_SUM, SCALED = range(3)


class Graded(NamedTuple):
    """Tables, own rows, and what the last refresh made of them."""

    tables: CountTables
    own: MainEffects
    indices: Floats
    """E[Y | S = s] of every cell of every set."""
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
    """(sets, arms, 2): mean and variance of every arm's chance through every set."""
    sums: Floats
    """(arms, 4), of the chosen set: rows, their indices, squares, rewards; pending rows count in the first three."""
    parts: Floats
    """(arms, 5), of the chosen set: variance of an index within arms, its prior rows, variance from E[Y | S], the share
    that others decide, variance of a single row's difference."""
    used: Bools
    """(sets,)."""
    late: Floats
    """(arms, 3), of the chosen set: pending rows, their indices, what the difference of the others is multiplied by."""
    ahead: Floats
    """(sets, 1 + levels, 1 + levels): roots of differences as if all rewards had come; none without pending rows."""


def graded(tables: CountTables, codes: Ints, levels: Ints) -> Graded:
    """Nothing known yet."""
    own = main_effects(codes, levels)
    sets, arms, size = len(tables.cells), len(codes), len(own.mean)
    return Graded(
        tables,
        own,
        np.full(int(tables.cells.sum()), 0.5),
        (np.cumsum(tables.cells) - tables.cells).astype(np.int64),
        np.zeros(arms, dtype=np.int64),
        np.zeros(sets),
        np.zeros((2, sets, size)),
        np.zeros((2, sets, size, size)),
        np.zeros((2, sets)),
        np.full((sets, arms), 1 / 12),
        np.tile([0.5, 1 / 12], (sets, arms, 1)),
        np.zeros((arms, 4)),
        np.zeros((arms, 5)),
        np.zeros(sets, dtype=np.bool_),
        np.tile([0.0, 0.0, 1.0], (arms, 1)),
        np.zeros((sets if len(tables.pending) else 0, size, size)),
    )


def with_room(state: Graded) -> Graded:
    """The same with room for pending rows."""
    if len(state.ahead):
        return state
    return state._replace(tables=with_pending(state.tables), ahead=state.roots[1].copy())


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
def _fit_index(state: Graded, place: int, parts: Floats, within: float, rate: float) -> float:
    """Learn the lever effects on the index; fills the moments with the index alone, gives its spread over arms."""
    own, unit = state.own, rate * (1 - rate)
    arms, size = len(parts), len(own.mean)
    values, precision = np.zeros(arms), np.zeros(arms)
    for arm in range(arms):
        if parts[arm, ALL] > 0:
            values[arm] = parts[arm, INDEX] - rate
            precision[arm] = parts[arm, ALL] / _row_variance(
                parts[arm, SCATTER], parts[arm, ALL], within, state.heard[place, arm]
            )
    before = Beforehand(unit, LEVEL * unit, 0.0, 0.0, ANY)
    fit = fit_levers(values, precision, own.codes, own.starts, size, before)
    keep_effects(fit, rate, state.means[0, place], state.roots[0, place])
    state.deviations[0, place] = fit.deviation
    for arm in range(arms):
        mean, variance = without_own(fit, values[arm], precision[arm], own.codes[arm], own.starts)
        state.heard[place, arm] = variance
        total = precision[arm] + 1 / variance
        state.moments[place, arm, 0] = rate + (precision[arm] * values[arm] + mean / variance) / total
        state.moments[place, arm, 1] = 1 / total + parts[arm, POOLED]
    return fit.spread


@compiled
def _row_variance(scatter: float, rows: float, within: float, heard: float) -> float:
    """Variance of one row's index in an arm, shrunk to that of all arms by the rows that their word is worth."""
    prior = max(SPREAD_ROWS, within / heard)
    return (scatter + prior * within) / (rows + prior)


@compiled
def own_noise(noise: float, index: float, chance: float, rate: float) -> float:
    """Variance of a difference where the set does not separate: not below that of the chance that own rows say."""
    there, here = inside(index, rate), inside(chance, rate)
    return noise * max(1.0, here * (1 - here) / (there * (1 - there)))


@compiled
def _fit_difference(state: Graded, place: int, parts: Floats, spread: float, rate: float) -> None:
    """Learn P(separates) and the lever effects on the difference; adds the difference to the moments."""
    own, unit = state.own, rate * (1 - rate)
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
            parts[arm, NOISE] = own_noise(parts[arm, NOISE], parts[arm, INDEX], own.known[arm, 0], rate)
            precision[arm] = parts[arm, OTHERS] ** 2 / parts[arm, NOISE]
    fit = fit_given(values, precision, codes, starts, size, none, np.array([before.level, effect, deviation]))
    state.separates[place] = none
    if len(state.ahead):
        state.ahead[place] = _root_ahead(state, parts, precision, rate, np.array([before.level, effect, deviation]))
    keep_effects(fit, 0.0, state.means[1, place], state.roots[1, place])
    state.deviations[1, place] = fit.deviation
    for arm in range(arms):
        share = parts[arm, OTHERS]
        mean, variance = without_own(fit, values[arm], precision[arm], codes[arm], starts)
        noise = parts[arm, NOISE] if parts[arm, N] > 0 else -1.0
        mean, variance = difference_moments(none, parts[arm, DIFFERENCE], noise, share * mean, share * share * variance)
        state.moments[place, arm, 0] += mean
        state.moments[place, arm, 1] += variance


@compiled
def _root_ahead(state: Graded, parts: Floats, precision: Floats, rate: float, variances: Floats) -> Floats:
    """The root of the lever effects on the difference as it will be when the pending rewards have come."""
    own, known = state.own, precision.copy()
    for arm in range(len(parts)):
        if parts[arm, ALL] > parts[arm, N]:
            known[arm] += (parts[arm, ALL] - parts[arm, N]) / (rate * (1 - rate))
    return fit_given(np.zeros(len(parts)), known, own.codes, own.starts, len(own.mean), 0.0, variances).root


@compiled
def own_bounds(rows: float, rewards: float) -> tuple[float, float]:
    """The chances that an arm's own rows allow: Wilson's score interval (1927) at GUARD standard errors."""
    if rows == 0:
        return 0.0, 1.0
    square = GUARD * GUARD
    middle = (rewards + 0.5 * square) / (rows + square)
    half = GUARD / (rows + square) * math.sqrt(rewards * (rows - rewards) / rows + 0.25 * square)
    return middle - half, middle + half


@compiled
def _go_by(state: Graded, place: int, parts: Floats, within: float) -> None:
    """Arms for which this set leaves the lowest variance so far go by it, unless their own rows contradict it."""
    for arm in range(len(parts)):
        part, lowest = parts[arm], state.moments[state.chosen[arm], arm, 1]
        low, high = own_bounds(state.own.own[arm, 0], state.own.own[arm, 1])
        if state.moments[place, arm, 1] < lowest and low <= state.moments[place, arm, 0] <= high:
            n, rows = part[N], part[ALL]
            state.chosen[arm] = place
            state.sums[arm, COUNTED], state.sums[arm, SUM] = rows, rows * part[INDEX]
            state.sums[arm, SQUARES] = part[SCATTER] + rows * part[INDEX] ** 2
            state.sums[arm, GAINED] = n * (part[KNOWN] + part[DIFFERENCE] / part[RATIO])
            state.late[arm, WAITING], state.late[arm, SCALED] = rows - n, part[RATIO]
            state.late[arm, WAITING_SUM] = rows * part[INDEX] - n * part[KNOWN]
            state.parts[arm, WITHIN], state.parts[arm, SHARED] = within, part[POOLED]
            state.parts[arm, PRIOR_ROWS] = max(SPREAD_ROWS, within / state.heard[place, arm])
            rate = state.own.numbers[RATE]
            state.parts[arm, LEFT] = part[OTHERS]
            state.parts[arm, SPREAD] = part[NOISE] * n if n > 0 else rate * (1 - rate)


@compiled
def refresh(state: Graded) -> None:
    """Learn everything anew from the tables."""
    refresh_effects(state.own)
    rows, rewards, rate = state.own.numbers[ROWS], state.own.numbers[REWARDS], state.own.numbers[RATE]
    for arm in range(len(state.chosen)):
        state.chosen[arm] = 0
        state.moments[0, arm, 0], state.moments[0, arm, 1] = state.own.known[arm, 0], state.own.known[arm, 1]
        for column in range(SCALED):
            state.late[arm, column] = 0.0
        state.late[arm, SCALED] = 1.0
    waiting = float(state.tables.pending[: len(state.chosen)].sum()) if len(state.ahead) else 0.0
    enough = min(rewards, rows - rewards) >= ENOUGH
    for place in range(1, len(state.tables.cells)):
        start = state.starts[place]
        index = state.indices[start : start + state.tables.cells[place]]
        parts = index_parts(state.tables, place, (rewards + 0.5) / (rows + 1), rows, index)
        within = parts[:, SCATTER].sum() / max(rows + waiting, 1.0) + 1e-9
        spread = _fit_index(state, place, parts, within, rate)
        _fit_difference(state, place, parts, spread, rate)
        if enough and state.separates[place] >= SEPARATES:
            _go_by(state, place, parts, within)
    state.used[:] = False
    for arm in range(len(state.chosen)):
        state.used[state.chosen[arm]] = True

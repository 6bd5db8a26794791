"""Sharing by degrees where rewards are not 0 or 1: the rule of `graded`, over means with learnt variances.

For every set S an arm's mean is its mean index E[Y | S] and a difference (`cell_parts`); both are a sum of lever
effects and a deviation, with scales learnt from all arms, and the difference is 0 for all arms with a probability that
is learnt too. Own rows are the case without an index (`reward_effects`). An arm goes by the set that leaves it the
lowest variance, or by its own rows, and never against its own rows.
"""

import numpy as np

from ..compiled import Floats, Ints, compiled, total
from ..data import CellTables, with_late
from .cell_parts import cell_parts, relative_noise
from .degrees import ENOUGH, GUARD, SEPARATES, Graded, go_by_own, go_by_set, index_prior, mark_used, nothing_shared
from .index_parts import ALL, INDEX, NOISE, SCATTER, N
from .lever_scales import Beforehand
from .main_effects import LEVEL
from .reward_effects import refresh_rewards, reward_effects
from .reward_shapes import ABOVE, M2, POSITIVE, RATE, ROWS, SHAPE, inside, own_limits, row_variance, unit_of
from .settling import ANY, settle_difference, settle_index, weigh_difference


def shared_cells(tables: CellTables, codes: Ints, levels: Ints, numbers: Floats) -> Graded:
    """Nothing known yet; indices and what is summed of them are less the mean over arms."""
    made = nothing_shared(tables, reward_effects(codes, levels, numbers), 0.0)
    return made._replace(ahead=made.roots[1].copy()) if len(tables.pending) else made


def with_late_cells(state: Graded) -> Graded:
    """The same with room for pending rows."""
    if len(state.ahead):
        return state
    return state._replace(tables=with_late(state.tables), ahead=state.roots[1].copy())


@compiled
def _fit_index(state: Graded, place: int, parts: Floats, within: float) -> float:
    """Learn the lever effects on the index; fills the moments with the index alone, gives its spread over arms."""
    numbers = state.own.numbers
    rate, arms = numbers[RATE], len(parts)
    values, precision = np.zeros(arms), np.zeros(arms)
    for arm in range(arms):
        n = parts[arm, ALL]
        if n > 0:
            prior = index_prior(state, place, arm, within)
            values[arm] = parts[arm, INDEX]
            precision[arm] = n * (n + prior) / (parts[arm, SCATTER] + prior * within)
    before = Beforehand(unit_of(numbers), LEVEL * row_variance(numbers, rate), 0.0, 0.0, ANY, 0.0)
    return settle_index(state, place, parts, values, precision, before, rate)


@compiled
def _fit_difference(state: Graded, place: int, parts: Floats, spread: float) -> None:
    """Learn P(separates) and the lever effects on the difference; adds the difference to the moments."""
    own, numbers = state.own, state.own.numbers
    rate = numbers[RATE]
    none, variances = weigh_difference(state, parts, spread, unit_of(numbers), 0.0)
    for arm in range(len(parts)):
        if parts[arm, N] > 0:
            index = inside(numbers, rate + parts[arm, INDEX])
            parts[arm, NOISE] *= relative_noise(numbers, index, inside(numbers, own.known[arm, 0]))
    settle_difference(state, place, parts, none, variances, row_variance(numbers, rate))


@compiled
def allowed_means(state: Graded, arm: int) -> tuple[float, float]:
    """The means that an arm's own rows allow: their 99.9 % interval."""
    rows, mean, scatter = state.own.own[arm]
    return own_limits(state.own.numbers, GUARD, rows, mean, scatter)


@compiled
def _go_by(state: Graded, place: int, parts: Floats, within: float) -> None:
    """Arms for which this set leaves the lowest variance so far go by it, unless their own rows contradict it."""
    numbers = state.own.numbers
    for arm in range(len(parts)):
        lowest = state.moments[state.chosen[arm], arm, 1]
        low, high = allowed_means(state, arm)
        if state.moments[place, arm, 1] < lowest and low <= state.moments[place, arm, 0] <= high:
            go_by_set(state, arm, place, parts[arm], within, row_variance(numbers, numbers[RATE]))


@compiled
def _enough(numbers: Floats) -> bool:
    """Whether there were enough rewards to learn sets from."""
    seen = numbers[ABOVE] if numbers[SHAPE] == POSITIVE else 0.5 * numbers[ROWS]
    return bool(numbers[M2] > 0 and seen >= ENOUGH)


@compiled
def refresh_cells(state: Graded) -> None:
    """Learn everything anew from the tables."""
    refresh_rewards(state.own)
    numbers = state.own.numbers
    go_by_own(state)
    enough = _enough(numbers)
    waiting = total(state.tables.pending[: len(state.chosen)]) if len(state.ahead) else 0.0
    for place in range(1, len(state.tables.cells) if enough else 0):
        start = state.starts[place]
        index = state.indices[start : start + state.tables.cells[place]]
        parts = cell_parts(state.tables, place, numbers, index)
        rows = numbers[ROWS] + (waiting if place < state.tables.plain else 0.0)
        within = total(parts[:, SCATTER]) / rows + 1e-9 * unit_of(numbers) ** 2
        spread = _fit_index(state, place, parts, within)
        _fit_difference(state, place, parts, spread)
        if state.separates[place] >= SEPARATES:
            _go_by(state, place, parts, within)
    mark_used(state)

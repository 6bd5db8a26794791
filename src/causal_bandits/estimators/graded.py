"""Sharing by degrees: every set, and the arms' own rows, through lever effects with learnt scales.

For a set S an arm's chance is the mean of its index E[Y | S] and a difference (`index_parts`); both are a sum of lever
effects and a deviation of the arm's own, with scales learnt from all arms (`lever_effects`), and the difference is 0
for all arms with a probability that is learnt too: that S separates. Nothing is accepted or rejected: the larger the
differences turn out, the less is shared. Own rows are the case without an index (`main_effects`). An arm goes by the
set that leaves it the lowest variance, or by its own rows; where it goes by a set, the others have a say (`averaging`).

A row whose reward is pending counts for its arm's mean index at once, and for everything else when the reward comes. An
arm that waits for many rewards need not be tried again to learn its difference: what is played by is drawn as if the
pending rewards had come as expected (as in GP-BUCB, Desautels et al. 2014), what is stated is not.
"""

import numpy as np

from ..compiled import Floats, Ints, compiled, total
from ..data import CountTables, with_pending
from .averaging import average_over_sets
from .degrees import ENOUGH, SEPARATES, Graded, go_by_own, go_by_set, index_prior, mark_used, nothing_shared, own_bounds
from .index_parts import ALL, INDEX, NOISE, SCATTER, N, index_parts
from .joined_segments import within_arms
from .lever_scales import Beforehand
from .main_effects import LEVEL, RATE, REWARDS, ROWS, inside, main_effects, refresh_effects
from .settling import ANY, settle_difference, settle_index, weigh_difference


def graded(tables: CountTables, codes: Ints, levels: Ints, alike: float = 0.0, *, average: bool = True) -> Graded:
    """Nothing known yet; with `alike` above 0 the last column of codes is the arm but for its segment.

    With `average` sets are averaged over; without, an arm goes by the word of one alone.
    """
    made = nothing_shared(tables, main_effects(codes, levels, alike=alike), 0.5)
    if average:
        made = made._replace(shifts=np.zeros(len(codes)))
    return made._replace(ahead=made.roots[1].copy()) if len(tables.pending) else made


def with_room(state: Graded) -> Graded:
    """The same with room for pending rows."""
    if len(state.ahead):
        return state
    return state._replace(tables=with_pending(state.tables), ahead=state.roots[1].copy())


@compiled
def _fit_index(state: Graded, place: int, parts: Floats, within: Floats, rate: float) -> float:
    """Learn the lever effects on the index; fills the moments with the index alone, gives its spread over arms."""
    unit, arms = rate * (1 - rate), len(parts)
    values, precision = np.zeros(arms), np.zeros(arms)
    for arm in range(arms):
        if parts[arm, ALL] > 0:
            values[arm] = parts[arm, INDEX] - rate
            prior = index_prior(state, place, arm, within[arm])
            scatter = parts[arm, SCATTER] + prior * within[arm]
            precision[arm] = parts[arm, ALL] / (scatter / (parts[arm, ALL] + prior))
    before = Beforehand(unit, LEVEL * unit, 0.0, 0.0, ANY, state.own.alike)
    return settle_index(state, place, parts, values, precision, before, rate)


@compiled
def own_noise(noise: float, index: float, chance: float, rate: float) -> float:
    """Variance of a difference where the set does not separate: not below that of the chance that own rows say."""
    there, here = inside(index, rate), inside(chance, rate)
    return noise * max(1.0, here * (1 - here) / (there * (1 - there)))


@compiled
def _fit_difference(state: Graded, place: int, parts: Floats, spread: float, rate: float) -> None:
    """Learn P(separates) and the lever effects on the difference; adds the difference to the moments."""
    own, unit = state.own, rate * (1 - rate)
    none, variances = weigh_difference(state, parts, spread, unit, own.alike)
    for arm in range(len(parts)):
        if parts[arm, N] > 0:
            parts[arm, NOISE] = own_noise(parts[arm, NOISE], parts[arm, INDEX], own.known[arm, 0], rate)
    settle_difference(state, place, parts, none, variances, unit)


@compiled
def _go_by(state: Graded, place: int, parts: Floats, within: Floats) -> None:
    """Arms for which this set leaves the lowest variance so far go by it, unless their own rows contradict it."""
    rate = state.own.numbers[RATE]
    for arm in range(len(parts)):
        lowest = state.moments[state.chosen[arm], arm, 1]
        low, high = own_bounds(state.own.own[arm, 0], state.own.own[arm, 1])
        if state.moments[place, arm, 1] < lowest and low <= state.moments[place, arm, 0] <= high:
            go_by_set(state, arm, place, parts[arm], within[arm], rate * (1 - rate))


@compiled
def refresh(state: Graded) -> None:
    """Learn everything anew from the tables."""
    refresh_effects(state.own)
    rows, rewards, rate = state.own.numbers[ROWS], state.own.numbers[REWARDS], state.own.numbers[RATE]
    go_by_own(state)
    waiting = total(state.tables.pending[: len(state.chosen)]) if len(state.ahead) else 0.0
    enough = min(rewards, rows - rewards) >= ENOUGH
    for place in range(1, len(state.tables.cells)):
        start = state.starts[place]
        index = state.indices[start : start + state.tables.cells[place]]
        parts = index_parts(state.tables, place, (rewards + 0.5) / (rows + 1), rows, index)
        everywhere = total(parts[:, SCATTER]) / max(rows + waiting, 1.0) + 1e-9
        within = within_arms(parts[:, ALL], parts[:, SCATTER], state.own.codes, everywhere, state.own.alike)
        spread = _fit_index(state, place, parts, within, rate)
        _fit_difference(state, place, parts, spread, rate)
        if enough and state.separates[place] >= SEPARATES:
            _go_by(state, place, parts, within)
    mark_used(state)
    average_over_sets(state)

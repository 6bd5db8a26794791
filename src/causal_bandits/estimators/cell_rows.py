"""Counting rows by degrees where rewards are not 0 or 1: complete ones, and those whose reward is pending."""

from ..compiled import Floats, compiled
from ..data import count_filled_reward, count_late, count_reward, reward_cell
from .degrees import GAINED, Graded, count_index
from .graded_rows import add_waiting
from .reward_effects import learn_reward
from .reward_shapes import RATE


@compiled
def learn_cells(state: Graded, arm: int, values: Floats, reward: float) -> None:
    """Count one row."""
    _count_cell(state, arm, values, reward)
    count_reward(state.tables, arm, values, reward)
    learn_reward(state.own, arm, reward)


@compiled
def fill_cells(state: Graded, arm: int, before: Floats, after: Floats, reward: float) -> None:
    """Count values that were missing when the row was counted."""
    place = state.chosen[arm]
    if place > 0 and reward_cell(state.tables, place, before, reward) < 0:
        _count_cell(state, arm, after, reward)
    count_filled_reward(state.tables, arm, before, after, reward)


@compiled
def _count_cell(state: Graded, arm: int, values: Floats, reward: float) -> None:
    """Count the index of one row in the sums of its arm's set."""
    place = state.chosen[arm]
    if place > 0:
        cell = reward_cell(state.tables, place, values, reward)
        if cell >= 0:
            count_index(state, arm, 1.0, state.indices[state.starts[place] + cell])
            state.sums[arm, GAINED] += reward - state.own.numbers[RATE]


@compiled
def expect_cells(state: Graded, arm: int, values: Floats, change: int) -> None:
    """Count rows whose reward is pending: one more (1), or one that no longer is (-1).

    Where an arm goes by a set with "above zero", a row has no cell before its reward is known and is not in its sums.
    """
    place = state.chosen[arm]
    if 0 < place < state.tables.plain:
        cell = reward_cell(state.tables, place, values, 0.0)
        if cell >= 0:
            index = state.indices[state.starts[place] + cell]
            count_index(state, arm, float(change), index)
            add_waiting(state, arm, float(change), index)
    count_late(state.tables, arm, values, change)


@compiled
def settle_cells(state: Graded, arm: int, values: Floats, reward: float) -> None:
    """Count the reward of a pending row."""
    expect_cells(state, arm, values, -1)
    learn_cells(state, arm, values, reward)

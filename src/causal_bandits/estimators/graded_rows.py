"""Counting rows by degrees: complete ones, and those whose reward is pending."""

from ..compiled import Ints, compiled
from ..data import cell_of, count_filled, count_pending, count_row, count_rows
from .degrees import GAINED, WAITING, WAITING_SUM, Graded, count_index
from .main_effects import learn_own


@compiled
def learn_graded(state: Graded, arm: int, codes: Ints, reward: int) -> None:
    """Count one row."""
    _count_cell(state, arm, codes, 0.0, reward)
    count_row(state.tables, arm, codes, reward)
    learn_own(state.own, arm, reward)


@compiled
def learn_graded_rows(state: Graded, arms: Ints, codes: Ints, rewards: Ints) -> None:
    """Count many rows, with the same result as one by one."""
    for row in range(len(arms)):
        _count_cell(state, arms[row], codes[row], 0.0, rewards[row])
        learn_own(state.own, arms[row], rewards[row])
    count_rows(state.tables, arms, codes, rewards)


@compiled
def fill_graded(state: Graded, arm: int, before: Ints, after: Ints, reward: int) -> None:
    """Count values that were missing when the row was counted."""
    place = state.chosen[arm]
    if place > 0 and cell_of(state.tables, place, before) < 0:
        _count_cell(state, arm, after, 0.0, reward)
    count_filled(state.tables, arm, before, after, reward)


@compiled
def expect_graded(state: Graded, arm: int, codes: Ints) -> None:
    """Count a row whose reward is pending."""
    _count_cell(state, arm, codes, 1.0, 0)
    count_pending(state.tables, arm, codes, 1)


@compiled
def settle_graded(state: Graded, arm: int, codes: Ints, reward: int) -> None:
    """Count the reward of a pending row."""
    place = state.chosen[arm]
    if place > 0:
        cell = cell_of(state.tables, place, codes)
        if cell >= 0:
            add_waiting(state, arm, -1.0, state.indices[state.starts[place] + cell])
            state.sums[arm, GAINED] += reward
    count_pending(state.tables, arm, codes, -1)
    count_row(state.tables, arm, codes, reward)
    learn_own(state.own, arm, reward)


@compiled
def forget_graded(state: Graded, arm: int, codes: Ints) -> None:
    """Take a pending row back: it will get no reward."""
    _count_cell(state, arm, codes, -1.0, 0)
    count_pending(state.tables, arm, codes, -1)


@compiled
def _count_cell(state: Graded, arm: int, codes: Ints, waiting: float, reward: int) -> None:
    """Count the index of one row in the sums of its arm's set: complete, pending (1) or no longer pending (-1)."""
    place = state.chosen[arm]
    if place == 0:
        return
    cell = cell_of(state.tables, place, codes)
    if cell < 0:
        return
    index, by = state.indices[state.starts[place] + cell], -1.0 if waiting < 0 else 1.0
    count_index(state, arm, by, index)
    if waiting == 0:
        state.sums[arm, GAINED] += reward
    else:
        add_waiting(state, arm, by, index)


@compiled
def add_waiting(state: Graded, arm: int, by: float, index: float) -> None:
    """One pending row more or less in the sums of an arm's set."""
    state.late[arm, WAITING] += by
    state.late[arm, WAITING_SUM] += by * index
    if state.late[arm, WAITING] == 0:
        state.late[arm, WAITING_SUM] = 0.0

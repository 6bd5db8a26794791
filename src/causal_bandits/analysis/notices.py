"""Columns that are not what they seem: results of the reward, and noise."""

from collections.abc import Callable, Iterator

import numpy as np

from ..compiled import Ints
from ..data import Rows
from ..independence import permutation_test
from ..independence.random_tables import large_permutation_test
from ..problem import Problem

FEWEST_ROWS = 20
"""With fewer rows a column may go with the reward by chance."""
DRAWS = 199
LEVEL = 0.05
MANY_ROWS = 20_000
"""From so many rows on, drawing random tables is quicker than dealing labels; it is the same test."""


def _counted(codes: Ints, arms: Ints, rewards: Ints, levels: int) -> Ints:
    """(arms, levels, 2): rows that have a value, by arm, level and reward."""
    seen = codes >= 0
    shape = (int(arms.max()) + 1, levels, 2)
    places = np.ravel_multi_index((arms[seen], codes[seen], rewards[seen]), shape)
    return np.bincount(places, minlength=int(np.prod(shape))).reshape(shape)


def results_of_the_reward(problem: Problem, rows: Rows) -> list[str]:
    """Observed variables that tell the reward without fail, such as what was paid: they come after it, not before."""
    found = []
    for place, variable in enumerate(problem.observed):
        table = _counted(rows.codes[:, place], rows.arms, rows.rewards, variable.size).sum(axis=0)
        both = np.all(table.sum(axis=0) > 0)
        if both and table.sum() >= FEWEST_ROWS and np.all(table.min(axis=1) == 0):
            found.append(variable.name)
    return found


def noise(problem: Problem, rows: Rows, tell: Callable[[str, int, int], None]) -> Iterator[str]:
    """Words on every observed variable that neither the levers move nor the reward goes with."""
    for place, variable in enumerate(problem.observed):
        tell("testing columns", place, len(problem.observed))
        table = _counted(rows.codes[:, place], rows.arms, rows.rewards, variable.size)
        test = permutation_test if table.sum() < MANY_ROWS else large_permutation_test
        by_levers = test(table.sum(axis=2), draws=DRAWS).p_value
        with_reward = test(table, draws=DRAWS).p_value
        if min(by_levers, with_reward) >= LEVEL:
            yield (
                f"{variable.name} looks like noise: the levers do not move it (p = {by_levers:.2f}), and given the arm "
                f"the reward does not go with it (p = {with_reward:.2f})"
            )

"""Margins: N(Y = y, S = s, I = level) for every set S and every level of every single lever I.

They are tables like those of the arms, with one line per level instead of one per arm.
"""

from functools import lru_cache
from typing import NamedTuple

import numpy as np

from ..compiled import Ints, by_reference, compiled
from ..problem import Problem
from .subsets import SubsetLayout
from .tables import CountTables, empty_tables


@by_reference
class Levels(NamedTuple):
    """The levels of all levers, numbered one after the other."""

    of_arm: Ints
    """(arms, levers): the number of each lever's level."""
    starts: Ints
    """(levers + 1,): where the levels of each lever begin; the last is how many there are."""


@lru_cache(maxsize=32)
def levels_of(problem: Problem) -> Levels:
    """The levels of a problem's levers."""
    starts = np.concatenate(([0], np.cumsum([lever.size for lever in problem.interventions]))).astype(np.int64)
    return Levels(np.ascontiguousarray(problem.arm_codes + starts[:-1]), starts)


@compiled
def fill_margins(margins: CountTables, tables: CountTables, of_arm: Ints) -> None:
    """Add up the tables of the arms."""
    for index in range(len(tables.cells)):
        length = tables.cells[index] * 2
        for arm in range(len(of_arm)):
            if tables.counts[2 * arm] + tables.counts[2 * arm + 1] == 0:
                continue  # an arm without rows
            source = tables.starts[index] + arm * length
            for level in of_arm[arm]:
                sink = margins.starts[index] + level * length
                for offset in range(length):
                    margins.counts[sink + offset] += tables.counts[source + offset]


def margins_of(layout: SubsetLayout, tables: CountTables) -> CountTables:
    """The margins of tables that have all sets of the layout."""
    margins = empty_tables(layout, int(levels_of(layout.problem).starts[-1]))
    fill_margins(margins, tables, levels_of(layout.problem).of_arm)
    return margins

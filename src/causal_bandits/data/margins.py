"""Margins: N(Y = y, S = s, I = level) for every set S and every level of every single lever I.

They are tables like those of the arms, with one line per level instead of one per arm, so their size does not
depend on the number of arms: 5,000 arms of eight levers have 24 levels. Whether a set is worth a table of all arms can
be seen from them (`discovery.BayesFactors`).
"""

from functools import lru_cache
from typing import NamedTuple

import numpy as np

from ..compiled import Ints, by_reference, compiled
from ..problem import Problem
from .subsets import SubsetLayout
from .tables import CountTables, empty_tables, joint_values


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


def empty_margins(layout: SubsetLayout) -> CountTables:
    """Margins that have counted nothing yet."""
    return empty_tables(layout, np.arange(len(layout.members)), int(levels_of(layout.problem).starts[-1]))


def margin_bytes(layout: SubsetLayout) -> int:
    """Memory of the margins of a layout, before it is taken."""
    levels = sum(lever.size for lever in layout.problem.interventions)
    return joint_values(layout) * levels * 2 * np.dtype(np.int32).itemsize


def member_table(layout: SubsetLayout) -> Ints:
    """(sets, max_size): the variables of each set, and -1 behind them."""
    table = np.full((len(layout.members), layout.max_size), -1)
    for place, members in enumerate(layout.members):
        table[place, : len(members)] = members
    return table


@compiled
def count_lines(tables: CountTables, members: Ints, lines: Ints, columns: Ints, rewards: Ints) -> None:
    """Count many rows, each under some lines of every table (lines: (some, rows)): its arm, or its levers' levels.

    `columns` is (variables, rows). Set by set, so that what is written to stays close by. A row that lacks a variable
    of a set does not count for it.
    """
    rows = len(rewards)
    offsets = np.empty(rows, dtype=np.int64)
    for place in range(len(tables.cells)):
        offsets[:] = rewards
        for variable in members[place]:
            if variable < 0:
                break
            stride = 2 * tables.strides[place, variable]
            for row in range(rows):
                code = columns[variable, row]
                offsets[row] = offsets[row] + code * stride if code >= 0 and offsets[row] >= 0 else -1
        length = 2 * tables.cells[place]
        for line in range(len(lines)):
            for row in range(rows):
                if offsets[row] >= 0:
                    tables.counts[tables.starts[place] + lines[line, row] * length + offsets[row]] += 1


@compiled
def fill_margins(margins: CountTables, tables: CountTables, of_arm: Ints) -> None:
    """Add up the tables of the arms."""
    for place in range(len(tables.cells)):
        length = tables.cells[place] * 2
        for arm in range(len(of_arm)):
            if tables.counts[2 * arm] + tables.counts[2 * arm + 1] == 0:
                continue  # an arm without rows
            source = tables.starts[place] + arm * length
            for level in of_arm[arm]:
                sink = margins.starts[place] + level * length
                for offset in range(length):
                    margins.counts[sink + offset] += tables.counts[source + offset]


def margins_of(layout: SubsetLayout, tables: CountTables) -> CountTables:
    """The margins of tables that have all sets of the layout."""
    margins = empty_margins(layout)
    fill_margins(margins, tables, levels_of(layout.problem).of_arm)
    return margins

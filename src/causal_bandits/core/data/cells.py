"""CellTables: for every candidate set S and every arm the rows, the mean reward and its scatter in each cell S = s.

The counterpart of `CountTables` for rewards other than 0 or 1: their models need these three numbers. They are kept
centered (Welford), so values around a million with a spread of one lose no precision.

Revenue is mostly zero, and how often it is above zero says more than how much it is. So for revenue "above zero" is one
more variable with two levels, and every set has a second table with it. A row whose reward is pending counts in the
first one alone.
"""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..compiled import Floats, Ints, by_reference, compiled
from ..problem import Problem
from .tables import NONE_PENDING, DiscreteLayout, check_discrete

ROWS, MEAN, SCATTER = range(3)


@by_reference
class CellTables(NamedTuple):
    """The tables of all sets, flat: set, then arm, then cell. The first is that of the empty set: each arm's rows."""

    strides: Ints
    """(tables, variables + 1): the cell of a row is the dot product of its codes with this; last is "above zero"."""
    cells: Ints
    """(tables,): how many joint values the set has."""
    starts: Ints
    """(tables,): where its cells begin in `sums`."""
    sums: Floats
    """(all cells, 3): rows, mean reward, sum of squared deviations from it."""
    arms: int
    plain: int
    """Number of tables without "above zero"; for revenue, as many with it follow."""
    pending: NDArray[np.int32] = NONE_PENDING
    """(cells of tables without "above zero",): rows whose reward is not known yet; empty while there was none."""

    def table(self, index: int) -> Floats:
        """One table as a view of shape (arms, cells, 3)."""
        start, cells = self.starts[index], self.cells[index]
        return self.sums[start : start + self.arms * cells].reshape(self.arms, cells, 3)


@compiled
def add_reward(cell: Floats, reward: float) -> None:
    """Count one reward (Welford)."""
    cell[ROWS] += 1
    before = reward - cell[MEAN]
    cell[MEAN] += before / cell[ROWS]
    cell[SCATTER] += before * (reward - cell[MEAN])


@compiled
def reward_cell(tables: CellTables, index: int, values: Floats, reward: float) -> int:
    """The cell of a row in a table; -1 when it has no value for a variable of the set, so that it does not count."""
    last = tables.strides.shape[1] - 1
    cell = tables.strides[index, last] if reward > 0 else 0
    for variable in range(last):
        stride = tables.strides[index, variable]
        if stride > 0:
            if values[variable] < 0:
                return -1
            cell += int(values[variable]) * stride
    return int(cell)


@compiled
def count_reward(tables: CellTables, arm: int, values: Floats, reward: float) -> None:
    """Count one row in every table whose variables it has; `values` are level numbers, below 0 where missing."""
    for index in range(len(tables.cells)):
        cell = reward_cell(tables, index, values, reward)
        if cell >= 0:
            add_reward(tables.sums[tables.starts[index] + arm * tables.cells[index] + cell], reward)


@compiled
def count_filled_reward(tables: CellTables, arm: int, before: Floats, after: Floats, reward: float) -> None:
    """Count a row in the tables of the sets that it had a missing value for before, and has all values for now."""
    for index in range(len(tables.cells)):
        cell = reward_cell(tables, index, after, reward) if reward_cell(tables, index, before, reward) < 0 else -1
        if cell >= 0:
            add_reward(tables.sums[tables.starts[index] + arm * tables.cells[index] + cell], reward)


@compiled
def count_late(tables: CellTables, arm: int, values: Floats, change: int) -> None:
    """Add `change` rows whose reward is pending to every table that can tell their cell; the capacity must suffice."""
    for index in range(tables.plain):
        cell = reward_cell(tables, index, values, 0.0)
        if cell >= 0:
            tables.pending[tables.starts[index] + arm * tables.cells[index] + cell] += change


def with_late(tables: CellTables) -> CellTables:
    """The same tables with capacity for pending rows."""
    room = int(tables.starts[tables.plain]) if len(tables.starts) > tables.plain else len(tables.sums)
    return tables if len(tables.pending) == room else tables._replace(pending=np.zeros(room, dtype=np.int32))


@dataclass(frozen=True)
class CellLayout(DiscreteLayout):
    """The sets that have tables of sums of rewards.

    >>> problem = Problem("Y", {"A": 2, "B": 3}, {"I": 2}, reward="revenue")
    >>> layout = CellLayout.of(problem)
    >>> layout.names
    ((), ('A',), ('B',), ('A', 'B'))
    >>> layout.empty().cells.tolist()
    [1, 2, 3, 6, 2, 4, 6, 12]
    """

    holds = "sums"

    @classmethod
    def of(cls, problem: Problem, max_size: int | None = None) -> "CellLayout":
        """The layout for a problem; without `max_size` the largest that stays small (64 MB, 4096 sets)."""
        check_discrete(problem)
        return cls.sized(problem, max_size)

    @property
    def item_bytes(self) -> int:  # type: ignore[override]
        """Memory of a cell, and of its two parts for revenue."""
        return (3 if self.problem.reward.kind == "revenue" else 1) * 3 * np.dtype(np.float64).itemsize

    def empty(self) -> CellTables:
        """Tables that have counted nothing yet."""
        (strides, cells), arms = self.cells(), len(self.problem.arms)
        strides = np.column_stack([strides, np.zeros_like(cells)])
        if self.problem.reward.kind == "revenue":
            above = strides.copy()
            above[:, -1] = cells
            strides, cells = np.concatenate([strides, above]), np.concatenate([cells, 2 * cells])
        starts = (np.cumsum(cells * arms) - cells * arms).astype(np.int64)
        return CellTables(strides, cells, starts, np.zeros((int(cells.sum()) * arms, 3)), arms, self.count)

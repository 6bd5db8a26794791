"""CellTables: for every candidate set S and every arm the rows, the mean reward and its scatter in each cell S = s.

What `CountTables` are for rewards of 0 or 1, for any other reward: what the families of rewards need are these three
numbers. They are kept centered (Welford), so values around a million with a spread of one lose nothing.

Revenue is mostly zero, and how often it is above zero says more than how much it is. So for revenue "above zero" is one
more variable with two levels, and every set has a second table with it. A row whose reward is pending counts in the
first one alone.
"""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...errors import ProblemError
from ..compiled import Floats, Ints, by_reference, compiled
from ..problem import Problem
from .subsets import LIMIT_BYTES, SubsetLayout, gib
from .tables import DEFAULT_BYTES, DEFAULT_SETS, NONE_PENDING, joint_values, sized

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
    """How many tables are without "above zero"; for revenue as many follow that have it."""
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
def merge_cell(into: Floats, cell: Floats) -> None:
    """Add the rows of a cell to those of another (Chan, Golub and LeVeque 1979)."""
    if cell[ROWS] > 0:
        rows = into[ROWS] + cell[ROWS]
        away = cell[MEAN] - into[MEAN]
        into[SCATTER] += cell[SCATTER] + away * away * into[ROWS] * cell[ROWS] / rows
        into[MEAN] += away * cell[ROWS] / rows
        into[ROWS] = rows


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
class CellLayout(SubsetLayout):
    """Which sets S have tables: all subsets of the observed variables with at most `max_size` members.

    >>> problem = Problem("Y", {"A": 2, "B": 3}, {"I": 2}, reward="revenue")
    >>> layout = CellLayout.of(problem)
    >>> layout.names
    ((), ('A',), ('B',), ('A', 'B'))
    >>> layout.empty().cells.tolist()
    [1, 2, 3, 6, 2, 4, 6, 12]
    """

    @classmethod
    def of(cls, problem: Problem, max_size: int | None = None) -> "CellLayout":
        """The layout for a problem; without `max_size` the largest that stays small (64 MB, 4096 sets)."""
        for variable in problem.observed:
            if variable.is_real:
                raise ProblemError(
                    f"{variable.name!r} is a real number; cut it with bins(...)"
                    + (" or use a Gaussian policy" if problem.reward.kind == "real" else "")
                )
        observed = len(problem.observed)
        if max_size is not None:
            return sized(cls, problem, max_size)
        fitting = cls(problem, 0)
        if fitting.nbytes > LIMIT_BYTES:
            raise ProblemError(f"the sums of {len(problem.arms)} arms take {gib(fitting.nbytes)}; list fewer arms")
        for size in range(1, observed + 1):
            layout = cls(problem, size)
            if layout.count > DEFAULT_SETS or layout.nbytes > DEFAULT_BYTES:
                break
            fitting = layout
        return fitting

    @property
    def nbytes(self) -> int:
        """Memory of the tables."""
        each = 3 if self.problem.reward.kind == "revenue" else 1
        return joint_values(self) * len(self.problem.arms) * each * 3 * np.dtype(np.float64).itemsize

    def empty(self, *, above_zero: bool = True) -> CellTables:
        """Tables that have counted nothing yet; those with "above zero" may be left out."""
        sizes, plain, arms = [variable.size for variable in self.problem.observed], self.count, len(self.problem.arms)
        strides = np.zeros((plain, len(sizes) + 1), dtype=np.int64)
        cells = np.ones(plain, dtype=np.int64)
        for index, members in enumerate(self.members):
            for variable in members:
                strides[index, variable] = cells[index]
                cells[index] *= sizes[variable]
        if above_zero and self.problem.reward.kind == "revenue":
            above = strides.copy()
            above[:, -1] = cells
            strides, cells = np.concatenate([strides, above]), np.concatenate([cells, 2 * cells])
        starts = np.concatenate(([0], np.cumsum(cells * arms)[:-1])).astype(np.int64)
        return CellTables(strides, cells, starts, np.zeros((int(cells.sum()) * arms, 3)), arms, plain)

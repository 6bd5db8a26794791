"""CountTables: for every candidate set S the counts N(Y = y, S = s, I = arm), kept while playing.

Everything that the tests, estimators and posteriors of the discrete bandit need is one of these
counts or a sum of them, so a round costs the same after a million rows as after ten.
"""

from dataclasses import dataclass
from typing import ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...errors import ProblemError
from ..compiled import Ints, by_reference, compiled
from ..problem import Problem
from .subsets import SubsetLayout

DEFAULT_BYTES = 64 * 2**20
DEFAULT_SETS = 4096
BLOCK = 512
"""Rows that are counted in one table after the other; their codes stay in the processor's cache."""


NONE_PENDING: NDArray[np.int32] = np.zeros(0, dtype=np.int32)


@by_reference
class CountTables(NamedTuple):
    """The tables of all candidate sets, flat in one array: set, then arm, then cell, then reward.

    The first table is that of the empty set: the rewards of each arm.
    """

    strides: Ints
    """(sets, variables): the cell of a row in table S is the dot product of its codes with row S."""
    cells: Ints
    """(sets,): how many joint values S has."""
    starts: Ints
    """(sets,): where the table begins in `counts`."""
    counts: NDArray[np.int32]
    pending: NDArray[np.int32] = NONE_PENDING
    """Rows whose reward is not known yet: set, then arm, then cell; empty while there was none."""

    def table(self, index: int) -> NDArray[np.int32]:
        """One table as a view of shape (arms, cells, 2)."""
        arms = self.starts[1] // 2 if len(self.starts) > 1 else len(self.counts) // 2
        cells = self.cells[index]
        start = self.starts[index]
        return self.counts[start : start + arms * cells * 2].reshape(arms, cells, 2)


@compiled
def cell_of(tables: CountTables, index: int, codes: Ints) -> int:
    """The cell of a row in a table; -1 when it has no value for a variable of the set, so that it does not count."""
    cell = 0
    for variable in range(tables.strides.shape[1]):
        stride = tables.strides[index, variable]
        if stride > 0:
            if codes[variable] < 0:
                return -1
            cell += codes[variable] * stride
    return cell


@compiled
def count_row(tables: CountTables, arm: int, codes: Ints, reward: int) -> None:
    """Count one row in every table whose variables it has."""
    for index in range(len(tables.cells)):
        cell = cell_of(tables, index, codes)
        if cell >= 0:
            tables.counts[tables.starts[index] + (arm * tables.cells[index] + cell) * 2 + reward] += 1


@compiled
def count_pending(tables: CountTables, arm: int, codes: Ints, change: int) -> None:
    """Add `change` rows whose reward is pending to every table whose variables they have; the capacity must suffice."""
    for index in range(len(tables.cells)):
        cell = cell_of(tables, index, codes)
        if cell >= 0:
            tables.pending[tables.starts[index] // 2 + arm * tables.cells[index] + cell] += change


def with_pending(tables: CountTables) -> CountTables:
    """The same tables with capacity for pending rows."""
    room = len(tables.counts) // 2
    return tables if len(tables.pending) == room else tables._replace(pending=np.zeros(room, dtype=np.int32))


@compiled
def _count_block(tables: CountTables, index: int, members: Ints, arms: Ints, codes: Ints, rewards: Ints) -> None:
    """Count some rows in one table, whose variables are `members`."""
    start, cells = tables.starts[index], tables.cells[index]
    for row in range(len(arms)):
        cell = 0
        for variable in members:
            if codes[row, variable] < 0:
                cell = -1
                break
            cell += codes[row, variable] * tables.strides[index, variable]
        if cell >= 0:
            tables.counts[start + (arms[row] * cells + cell) * 2 + rewards[row]] += 1


@compiled
def count_rows(tables: CountTables, arms: Ints, codes: Ints, rewards: Ints) -> None:
    """Count many rows: a block of them table by table, so that the variables of a set are looked up once."""
    for first in range(0, len(arms), BLOCK):
        block = slice(first, first + BLOCK)
        for index in range(len(tables.cells)):
            members = np.flatnonzero(tables.strides[index])
            _count_block(tables, index, members, arms[block], codes[block], rewards[block])


@dataclass(frozen=True)
class DiscreteLayout(SubsetLayout):
    """Which sets S have tables: all subsets of the observed variables with at most `max_size` members."""

    item_bytes: ClassVar[int]
    """Memory of a cell."""

    @property
    def nbytes(self) -> int:
        """Memory of the tables."""
        # The sum over all sets of at most k variables of the product of their sizes is a sum of
        # elementary symmetric polynomials: no need to list a million sets to reject them.
        symmetric = [1] + [0] * self.max_size
        for variable in self.problem.observed:
            for size in range(self.max_size, 0, -1):
                symmetric[size] += symmetric[size - 1] * variable.size
        return sum(symmetric) * len(self.problem.arms) * self.item_bytes

    @property
    def is_small(self) -> bool:
        """Whether it has at most 4096 sets and 64 MB."""
        return self.count <= DEFAULT_SETS and self.nbytes <= DEFAULT_BYTES

    def cells(self) -> tuple[Ints, Ints]:
        """(sets, variables): the cell of a row is the dot product of its codes with this; (sets,): number of cells."""
        sizes = [variable.size for variable in self.problem.observed]
        strides, cells = np.zeros((self.count, len(sizes)), dtype=np.int64), np.ones(self.count, dtype=np.int64)
        for index, members in enumerate(self.members):
            for variable in members:
                strides[index, variable] = cells[index]
                cells[index] *= sizes[variable]
        return strides, cells


def check_discrete(problem: Problem) -> None:
    """Reject observed variables that are real numbers."""
    for variable in problem.observed:
        if variable.is_real:
            hint = " or use a Gaussian policy" if problem.reward.kind == "real" else ""
            raise ProblemError(f"{variable.name!r} is a real number; cut it with bins(...){hint}")


@dataclass(frozen=True)
class TableLayout(DiscreteLayout):
    """The sets that have tables of counts, for rewards of 0 or 1.

    >>> problem = Problem("Y", {"A": 2, "B": 3}, {"I": 2})
    >>> layout = TableLayout.of(problem)
    >>> layout.names
    ((), ('A',), ('B',), ('A', 'B'))
    >>> layout.empty().cells.tolist()
    [1, 2, 3, 6]
    """

    holds = "counts"
    item_bytes = 2 * np.dtype(np.int32).itemsize

    @classmethod
    def of(cls, problem: Problem, max_size: int | None = None) -> "TableLayout":
        """The layout for a problem; without `max_size` the largest that stays small (64 MB, 4096 sets)."""
        check_discrete(problem)
        if problem.reward_is_real:
            said = "a real number; use a Gaussian policy"
            if problem.reward.kind != "real":
                said = f"{problem.reward.words}; use 'safe' or 'reward-ts'"
            raise ProblemError(f"the reward {problem.target!r} is {said}")
        return cls.sized(problem, max_size)

    def empty(self) -> CountTables:
        """Tables that have counted nothing yet."""
        strides, cells = self.cells()
        lengths = cells * len(self.problem.arms) * 2
        starts = (np.cumsum(lengths) - lengths).astype(np.int64)
        return CountTables(strides, cells, starts, np.zeros(int(lengths.sum()), dtype=np.int32))

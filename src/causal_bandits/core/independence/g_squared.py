"""The G2 test of conditional independence (Neapolitan 2004), from counts.

G2 = 2 sum O ln(O / E) over strata, rows and columns, with E = row total x column total / stratum
total. A stratum has (non-empty rows - 1)(non-empty columns - 1) degrees of freedom; empty strata add nothing.
No degrees of freedom means no evidence: the p-value is then 1, and `dof` says so.
"""

import math
from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from ...errors import ObservationError, brief
from ...libraries import special
from ..compiled import Floats, Ints, compiled
from ..data import CountTables
from ..problem import Problem


class IndependenceResult(NamedTuple):
    """What a test of independence found."""

    statistic: float
    dof: int
    p_value: float


def p_values(statistic: Floats, dof: Ints) -> Floats:
    """Upper tail of the chi-squared distribution; 1 if there are no degrees of freedom."""
    tail = special.gammaincc(np.maximum(dof, 1) / 2, np.maximum(statistic, 0) / 2)
    return np.where(dof > 0, tail, 1.0)


@compiled
def _entropy_term(count: float) -> float:
    return count * math.log(count) if count > 1 else 0.0


@compiled
def g_squared_statistic(table: Ints) -> tuple[float, int]:
    """Statistic and degrees of freedom of a table (strata, rows, columns)."""
    strata, rows, columns = table.shape
    total_terms = 0.0
    dof = 0
    column_totals = np.zeros(columns)
    for stratum in range(strata):
        column_totals[:] = 0
        total = 0
        rows_seen = 0
        for row in range(rows):
            row_total = 0
            for column in range(columns):
                count = table[stratum, row, column]
                if count:
                    row_total += count
                    column_totals[column] += count
                    total_terms += _entropy_term(count)
            if row_total:
                rows_seen += 1
                total += row_total
                total_terms -= _entropy_term(row_total)
        columns_seen = 0
        for column in range(columns):
            if column_totals[column]:
                columns_seen += 1
                total_terms -= _entropy_term(column_totals[column])
        if total:
            total_terms += _entropy_term(total)
            dof += (rows_seen - 1) * (columns_seen - 1)
    return max(2 * total_terms, 0.0), dof


def checked_counts(table: ArrayLike, columns: int | None = None) -> Ints:
    """A table of counts (strata, rows, columns); one stratum if there is no such axis."""
    try:
        counts = np.asarray(table, dtype=np.float64)
    except (ArithmeticError, MemoryError, RecursionError, TypeError, ValueError):
        counts = np.empty(0)
    if counts.ndim == 2:
        counts = counts[None]
    fits = counts.ndim == 3 and (columns is None or counts.shape[2] == columns)
    if not fits or not np.all(np.isfinite(counts) & (counts >= 0) & (counts == np.floor(counts)) & (counts < 2**53)):
        last = "columns" if columns is None else str(columns)
        raise ObservationError(
            f"{brief(table)} is not a table of counts; expected whole numbers from 0 in the shape "
            f"(rows, {last}) or (strata, rows, {last})"
        )
    return counts.astype(np.int64)


def g_squared(table: ArrayLike) -> IndependenceResult:
    """Test rows against columns within strata.

    Args:
        table: Counts in the shape (rows, columns) or (strata, rows, columns).

    >>> result = g_squared([[20, 30], [30, 20]])
    >>> round(result.statistic, 3), result.dof, round(result.p_value, 4)
    (4.027, 1, 0.0448)
    """
    counts = checked_counts(table)
    statistic, dof = g_squared_statistic(counts)
    return IndependenceResult(float(statistic), int(dof), float(p_values(np.array(statistic), np.array(dof))))


class ArmTests(NamedTuple):
    """Tests of arms against the reward: in test t, arm a lies in stratum `strata[t, a]` and row `rows[t, a]`."""

    strata: Ints
    rows: Ints
    rows_count: Ints

    @classmethod
    def of(cls, problem: Problem, tests: Iterable[tuple[Sequence[str], Sequence[str]]]) -> "ArmTests":
        """Each test is (levers tested jointly, levers conditioned on)."""
        pairs = [(problem.arm_groups(given), problem.arm_groups(tested)) for tested, given in tests]
        strata = np.array([pair[0] for pair in pairs])
        rows = np.array([pair[1] for pair in pairs])
        return cls(strata, rows, rows.max(axis=1) + 1)


@compiled
def pulled_arms(tables: CountTables, arms: int) -> Ints:
    """The arms that have rows: of thousands most may have none, and those change no test."""
    found = np.empty(arms, dtype=np.int64)
    count = 0
    for arm in range(arms):
        if tables.counts[2 * arm] + tables.counts[2 * arm + 1]:
            found[count] = arm
            count += 1
    return found[:count]


@compiled
def number_groups(groups: Ints, pulled: Ints) -> Ints:
    """A number for each group of arms that has rows, in order, else -1; the last entry is how many there are."""
    most = groups.max() + 1
    numbers = np.full(most + 1, -1)
    for arm in pulled:
        numbers[groups[arm]] = 0
    count = 0
    for group in range(most):
        if numbers[group] == 0:
            numbers[group] = count
            count += 1
    numbers[most] = count
    return numbers


@compiled
def counts_of_test(tables: CountTables, tests: ArmTests, test: int, place: int, pulled: Ints, numbers: Ints) -> Ints:
    """The counts of one test given one set S: (strata with rows x cells of S, rows, 2)."""
    cells = tables.cells[place]
    table = np.zeros((numbers[-1] * cells, tests.rows_count[test], 2), dtype=np.int64)
    for arm in pulled:
        start = tables.starts[place] + arm * cells * 2
        first = numbers[tests.strata[test, arm]] * cells
        row = tests.rows[test, arm]
        for cell in range(cells):
            table[first + cell, row, 0] += tables.counts[start + 2 * cell]
            table[first + cell, row, 1] += tables.counts[start + 2 * cell + 1]
    return table


@compiled
def g_squared_of_arms(tables: CountTables, tests: ArmTests) -> tuple[Floats, Ints]:
    """Statistic and degrees of freedom of every test (columns) given every set S (rows)."""
    sets = len(tables.cells)
    count = len(tests.strata)
    statistic = np.empty((sets, count))
    dof = np.empty((sets, count), dtype=np.int64)
    pulled = pulled_arms(tables, tests.strata.shape[1])
    for test in range(count):
        numbers = number_groups(tests.strata[test], pulled)
        for place in range(sets):
            table = counts_of_test(tables, tests, test, place, pulled, numbers)
            statistic[place, test], dof[place, test] = g_squared_statistic(table)
    return statistic, dof

"""The G2 test with a p-value that holds its level in small samples: columns are permuted within each stratum.

The chi-squared distribution is a limit for many rows per stratum. With few rows per stratum G2 exceeds it, and true
independence is rejected far too often (18 strata and 200 rows: 38% at the 5% level, 72 strata: 99%). Given both
margins of every stratum, independence makes all ways of dealing the column labels to the rows equally probable, so the
share of random deals whose G2 is as large as the observed one is a valid p-value for any number of rows (Fisher 1935;
counting the observed table as one of the deals: Phipson and Smyth 2010).

`permutation_test` draws the tables that deals give, cell by cell: how many labels of one column one row gets is
hypergeometric given what was dealt before, so its cost does not depend on the number of rows. Compiled code, which has
no such distribution, deals labels (`permuted_of_arms`).
"""

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ...errors import whole_number
from ...libraries import special
from ..compiled import Floats, Ints, compiled
from ..data import CountTables
from .g_squared import (
    ArmTests,
    IndependenceResult,
    checked_counts,
    counts_of_test,
    g_squared_statistic,
    number_groups,
    pulled_arms,
)

DRAWS = 999
"""Random deals; a p-value of 0.05 has a standard error of 0.007."""
MOST_DRAWS = 1_000_000
TIE = 1e-9
"""Statistics that differ by less are equal: the same table summed in another order."""


@compiled
def _deal(labels: Ints, sizes: Ints, dealt: Ints, rng: np.random.Generator) -> None:
    """Deal the column labels of one stratum to rows of these sizes; all columns but the most frequent are placed.

    `labels` has the row of every unit; column c takes `sizes[c]` of them that no other column took.
    """
    dealt[:] = 0
    for label in labels:
        dealt[label, 0] += 1
    left = len(labels)
    for column in range(1, len(sizes)):
        for _ in range(sizes[column]):
            place = int(rng.random() * left)
            left -= 1
            row = labels[place]
            labels[place], labels[left] = labels[left], row
            dealt[row, 0] -= 1
            dealt[row, column] += 1


@compiled
def permuted_p_value(table: Ints, draws: int, rng: np.random.Generator) -> float:
    """The share of deals (the observed one counts too) with a G2 at least as large as that of a table of counts."""
    strata, rows, columns = table.shape
    observed, dof = g_squared_statistic(table)
    if dof == 0:
        return 1.0
    dealt = np.zeros_like(table)
    orders = np.empty((strata, columns), dtype=np.int64)
    sizes = np.empty((strata, columns), dtype=np.int64)
    ends = np.zeros(strata + 1, dtype=np.int64)
    for stratum in range(strata):
        totals = table[stratum].sum(axis=0)
        orders[stratum] = np.argsort(-totals)
        sizes[stratum] = totals[orders[stratum]]
        ends[stratum + 1] = ends[stratum] + totals.sum()
    labels = np.empty(ends[-1], dtype=np.int64)
    for stratum in range(strata):
        place = ends[stratum]
        for row in range(rows):
            count = table[stratum, row].sum()
            labels[place : place + count] = row
            place += count
    as_large = 0
    for _ in range(draws):
        for stratum in range(strata):
            if sizes[stratum, 1:].sum():  # one column has all rows: nothing to deal
                _deal(labels[ends[stratum] : ends[stratum + 1]], sizes[stratum], dealt[stratum], rng)
        as_large += g_squared_statistic(dealt)[0] >= observed - TIE
    return (1 + as_large) / (1 + draws)


def random_tables(table: Ints, draws: int, rng: np.random.Generator) -> NDArray[np.int64]:
    """(draws, rows, columns): tables with the margins of one stratum, as probable as dealing labels makes them."""
    rows, columns = table.shape
    found = np.zeros((draws, rows, columns), dtype=np.int64)
    left = np.tile(table.sum(axis=0), (draws, 1))
    for row, size in enumerate(table.sum(axis=1)):
        wanted = np.full(draws, size)
        for column in range(columns):
            others = left[:, column + 1 :].sum(axis=1)
            found[:, row, column] = rng.hypergeometric(left[:, column], others, wanted)
            wanted -= found[:, row, column]
        left -= found[:, row]
    return found


def _g_squared(tables: NDArray[np.int64]) -> Floats:
    """G2 of each of many tables with equal margins, up to the same constant."""
    return np.asarray(2 * special.xlogy(tables, tables).sum(axis=(1, 2)), dtype=np.float64)


def permutation_test(table: ArrayLike, *, draws: int = DRAWS, seed: int = 0) -> IndependenceResult:
    """Test rows against columns within strata, like `g_squared`, with a p-value that is valid for few rows as well.

    Args:
        table: counts (strata, rows, columns), or (rows, columns) for a single stratum.
        draws: random tables; the p-value is at least 1 / (draws + 1).
        seed: of the tables; the same seed gives the same p-value.

    >>> permutation_test([[2000, 3000], [3000, 2000]], draws=99).p_value
    0.01
    """
    counts = checked_counts(table)
    draws = whole_number("draws", draws, 1, MOST_DRAWS)
    statistic, dof = g_squared_statistic(counts)
    rng = np.random.default_rng(whole_number("seed", seed, 0))
    if dof == 0:
        return IndependenceResult(statistic, dof, 1.0)
    ahead = sum(_g_squared(random_tables(stratum, draws, rng)) - _g_squared(stratum[np.newaxis]) for stratum in counts)
    return IndependenceResult(statistic, dof, float((1 + np.count_nonzero(ahead >= -TIE * counts.sum())) / (1 + draws)))


@compiled
def permuted_of_arms(tables: CountTables, tests: ArmTests, draws: int, rng: np.random.Generator) -> Floats:
    """The p-value of every test (columns) given every set S (rows)."""
    sets, count = len(tables.cells), len(tests.strata)
    found = np.empty((sets, count))
    pulled = pulled_arms(tables, tests.strata.shape[1])
    for test in range(count):
        numbers = number_groups(tests.strata[test], pulled)
        for place in range(sets):
            table = counts_of_test(tables, tests, test, place, pulled, numbers)
            found[place, test] = permuted_p_value(table, draws, rng)
    return found

"""The permutation test of a table with many rows: random tables are drawn cell by cell, whatever the number of rows.

Dealing column labels to rows at random gives a table with the same margins, and the number of labels of one column
that one row gets is hypergeometric given what was dealt before. Drawing those numbers instead of dealing the labels is
the same test; its cost grows with the cells of the table, not with its rows.
"""

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ...errors import whole_number
from ...libraries import special
from ..compiled import Floats, Ints
from .g_squared import IndependenceResult, checked_counts, g_squared_statistic
from .permutation import MOST_DRAWS, TIE


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


def large_permutation_test(table: ArrayLike, *, draws: int, seed: int = 0) -> IndependenceResult:
    """Test rows against columns within strata, like `permutation_test`, for tables with many rows.

    Args:
        table: counts (strata, rows, columns), or (rows, columns) for a single stratum.
        draws: random tables; the p-value is at least 1 / (draws + 1).
        seed: of the tables; the same seed gives the same p-value.

    >>> large_permutation_test([[2000, 3000], [3000, 2000]], draws=99).p_value
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

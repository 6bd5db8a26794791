"""The Bayes factor of conditional independence where the reward is a real number, from moments.

P(Y | S): one linear regression of the reward on S for all levels of I; P(Y | S, I): each level departs from it by its
own intercept and slopes. Noise is normal with one variance. With X the rows (1, S) of level e, a priori

    coefficients of e ~ N(common ones, g sigma^2 (X'X)^-1),    g = rows of e / rank of X,

so that the departure of a typical row is as large as the noise: a prior worth one row (Kass and Wasserman 1995), spread
over the coefficients. Common coefficients and log sigma are flat: they are in both models, and mean the same there
(Berger, Pericchi and Varshavsky 1998). Hence no unit matters: neither of Y nor of S, nor where their zeros are.

The coefficients integrate out, then sigma. A level's rows have the covariance sigma^2 (1 + g P), P the projection on X,
so that with w = 1 / (1 + g) and r the rank of all rows together

    log BF = 1/2 sum rank_e log(1 + g_e) + 1/2 log(|sum w_e X_e'X_e| / |sum X_e'X_e|) + (N - r)/2 log(Q1 / Q0),

with Q0 the residual sum of squares of all rows, and Q1 that of rows weighted by w_e, plus (1 - w_e) times that of each
level by itself. Without rows, with one level, or with no more rows than coefficients it is 0.

Variances that differ between levels are not looked for: sharing a mean does not need them to be equal.
"""

import math

import numpy as np

from ..compiled import Bools, Floats, Ints, compiled, put
from ..data import ArmMoments, merge_groups
from ..data.moments import COLLINEAR
from .residual import rounding


@compiled
def _eliminate(matrix: Floats, tolerance: Floats, rows: float) -> tuple[int, float]:
    """Regress the last column on the others in place (lower triangle): their rank, and the log of the determinant.

    The last number of the diagonal becomes the residual sum of squares. A column of which those before it leave no more
    than its tolerance is passed over, and its tolerance becomes infinite; so is what `rows` cannot tell apart.
    """
    size = len(matrix)
    rank, determinant = 0, 0.0
    for pivot in range(size - 1):
        value = matrix[pivot, pivot]
        if not value > tolerance[pivot] or rank + 1 >= rows:
            tolerance[pivot] = np.inf
            continue
        rank += 1
        determinant += math.log(value)
        for row in range(pivot + 1, size):
            share = matrix[row, pivot] / value
            for column in range(pivot + 1, row + 1):
                matrix[row, column] -= share * matrix[column, pivot]
    return rank, determinant


@compiled
def _merged(cells: ArmMoments, members: Ints, weights: Floats, columns: Ints, matrix: Floats, mean: Floats) -> float:
    """Cross-products of the columns over all rows of some cells, weighted by cell; gives the sum of weights."""
    total = 0.0
    mean[:] = 0.0
    matrix[:, :] = 0.0
    for place, cell in enumerate(members):
        heavy = weights[place] * cells.counts[cell]
        total += heavy
        for one in range(len(columns)):
            mean[one] += (cells.means[cell, columns[one]] - mean[one]) * heavy / total
    for place, cell in enumerate(members):
        for one in range(len(columns)):
            away = cells.counts[cell] * (cells.means[cell, columns[one]] - mean[one])
            for other in range(one + 1):
                product = away * (cells.means[cell, columns[other]] - mean[other])
                scatter = cells.scatter[cell, columns[one], columns[other]]
                matrix[one, other] += weights[place] * (scatter + product)
    return total


@compiled
def _limits(matrix: Floats, mean: Floats, rows: float, limits: Floats) -> None:
    """Tolerance for rounding of each column's spread; skipped columns stay skipped."""
    for one in range(len(limits)):
        if limits[one] < np.inf:
            limits[one] = rounding(matrix[one, one], rows * mean[one] ** 2) + COLLINEAR * matrix[one, one]


@compiled
def _factor(cells: ArmMoments, members: Ints, columns: Ints) -> float:
    """log [P(Y | S) / P(Y | S, I)] of the cells of one stratum; `columns` are those of S, and the reward last."""
    size = len(columns)
    matrix, mean, limits = np.empty((size, size)), np.empty(size), np.zeros(size)
    weights = np.ones(len(members))
    rows = _merged(cells, members, weights, columns, matrix, mean)
    if not math.isfinite(np.trace(matrix)):
        return 0.0
    _limits(matrix, mean, rows, limits)
    negligible = rounding(matrix[-1, -1], rows * mean[-1] ** 2)
    rank, determinant = _eliminate(matrix, limits, rows)
    common = matrix[-1, -1]
    freedom = rows - rank - 1.0
    if freedom <= 0 or common <= negligible:
        return 0.0
    found, within, kept = -0.5 * (determinant + math.log(rows)), 0.0, limits.copy()
    for place in range(len(members)):
        alone = members[place : place + 1]
        count = _merged(cells, alone, np.ones(1), columns, matrix, mean)
        put(limits, kept)
        _limits(matrix, mean, count, limits)
        rank = 1 + _eliminate(matrix, limits, count)[0]
        weights[place] = 1.0 / (1.0 + count / rank)
        found -= 0.5 * rank * math.log(weights[place])
        within += (1.0 - weights[place]) * max(matrix[-1, -1], 0.0)
    total = _merged(cells, members, weights, columns, matrix, mean)
    for one in range(size):
        limits[one] = 0.0 if kept[one] < np.inf else np.inf
    found += 0.5 * (_eliminate(matrix, limits, rows)[1] + math.log(total))
    own = max(within + matrix[-1, -1], negligible)
    return found + 0.5 * freedom * math.log(own / common)


@compiled
def regression_factors(moments: ArmMoments, chosen: Bools, strata: Ints, cells: Ints) -> Floats:
    """(sets,): the log Bayes factor given every set of columns (rows of `chosen`, reward last and always true).

    Arms with equal numbers in `cells` have the same level of the variable that is weighed, and the same number in
    `strata`: the setting of the variables that are held fixed. Strata have their own regressions.
    """
    found = np.zeros(len(chosen))
    merged = merge_groups(moments, cells)
    stratum = np.empty(len(merged.counts), dtype=np.int64)
    for arm in range(len(cells)):
        stratum[cells[arm]] = strata[arm]
    for number in range(strata.max() + 1):
        members = np.flatnonzero((stratum == number) & (merged.counts > 0))
        if len(members) < 2:
            continue
        for place in range(len(chosen)):
            found[place] += _factor(merged, members, np.flatnonzero(chosen[place]))
    return found

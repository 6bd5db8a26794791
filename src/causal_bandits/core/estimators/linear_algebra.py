"""Cholesky factors and triangular systems of small matrices, one or a stack of them."""

import math
from typing import Any

import numpy as np

from ..compiled import Floats, Ints, compiled, loops_of


@compiled
def cholesky(matrix: Floats) -> None:
    """Turn the lower half of a positive definite matrix into its Cholesky factor, in place."""
    for row in range(len(matrix)):
        for column in range(row + 1):
            rest = matrix[row, column]
            for place in range(column):
                rest -= matrix[row, place] * matrix[column, place]
            if row == column:
                matrix[row, row] = math.sqrt(max(rest, 1e-300))
            else:
                matrix[row, column] = rest / matrix[column, column]


@compiled
def forward(root: Floats, vector: Floats, found: Floats) -> None:
    """Solve root @ found = vector; root is lower triangular."""
    for row in range(len(vector)):
        rest = vector[row]
        for column in range(row):
            rest -= root[row, column] * found[column]
        found[row] = rest / root[row, row]


@compiled
def lower_root(matrix: Floats, least: float) -> Floats:
    """Lower factor of a positive semidefinite matrix; a pivot below `least` counts as that, a column of 0 stays 0."""
    size = len(matrix)
    root = np.zeros((size, size))
    for row in range(size):
        for column in range(row + 1):
            rest = matrix[row, column]
            for place in range(column):
                rest -= root[row, place] * root[column, place]
            if row == column:
                root[row, row] = math.sqrt(max(rest, least))
            elif root[column, column] > 0:
                root[row, column] = rest / root[column, column]
    return root


@compiled
def copy_to(target: Floats, values: Floats) -> None:
    """`target[:] = values`, which takes numba much longer to compile."""
    np.add(values, 0.0, target)


# Sums and stacks of small matrices. Each is NumPy's own where Python runs it, and a loop where it is compiled: numba
# takes seconds to compile sums over an axis, and has no functions of stacks.


def over_rows(values: Floats) -> Floats:
    """(columns,): the sum of every column."""
    found: Floats = np.add.reduce(values, axis=0)
    return found


@loops_of(over_rows)
def _over_rows(values: Any) -> Any:
    found = np.zeros(values.shape[1])
    for row in range(values.shape[0]):
        for column in range(len(found)):
            found[column] += values[row, column]
    return found


def over_columns(values: Floats) -> Floats:
    """(rows,): the sum of every row."""
    found: Floats = np.add.reduce(values, axis=1)
    return found


@loops_of(over_columns)
def _over_columns(values: Any) -> Any:
    found = np.zeros(values.shape[0])
    for row in range(len(found)):
        for column in range(values.shape[1]):
            found[row] += values[row, column]
    return found


def beside(left: Floats, right: Floats) -> Floats:
    """Two matrices with the same rows, one beside the other."""
    return np.concatenate((left, right), axis=1)


@loops_of(beside)
def _beside(left: Any, right: Any) -> Any:
    first = left.shape[1]
    found = np.empty((len(left), first + right.shape[1]))
    for row in range(len(found)):
        for column in range(first):
            found[row, column] = left[row, column]
        for column in range(right.shape[1]):
            found[row, first + column] = right[row, column]
    return found


def normal_equations(diagonal: Floats, levels: Floats, rows: Floats, response: Floats, square: float) -> Floats:
    """The augmented matrix [D, A', r; A, B, s; r', s', square] with (A, B, s) = levels' rows.

    Args:
        diagonal: (cells,): of the diagonal matrix D.
        levels: (rows, effects).
        rows: (rows, cells + effects + 1).
        response: (cells,): r.
        square: The last number.
    """
    cells, effects = len(diagonal), levels.T @ rows
    found = np.zeros((rows.shape[1], rows.shape[1]))
    found[:cells, :cells] = np.diag(diagonal)
    found[:cells, -1] = found[-1, :cells] = response
    found[cells:-1] = effects
    found[:, cells:-1] = effects.T
    found[-1, -1] = square
    return found


@loops_of(normal_equations)
def _normal_equations(diagonal: Any, levels: Any, rows: Any, response: Any, square: Any) -> Any:
    cells, last = len(diagonal), rows.shape[1] - 1
    found = np.zeros((last + 1, last + 1))
    for row in range(len(rows)):
        for effect in range(levels.shape[1]):
            if levels[row, effect] != 0:
                for column in range(last + 1):
                    found[cells + effect, column] += levels[row, effect] * rows[row, column]
    for row in range(cells, last):
        for column in range(last + 1):
            found[column, row] = found[row, column]
    for cell in range(cells):
        found[cell, cell] = diagonal[cell]
        found[cell, last] = found[last, cell] = response[cell]
    found[last, last] = square
    return found


def less_grams(matrix: Floats, rows: Floats, weights: Floats) -> Floats:
    """(n, size, size): a matrix less the sum over rows of weight * row row', for n weights of every row, (n, rows)."""
    found: Floats = matrix - (rows.T * weights[:, None, :]) @ rows
    return found


@loops_of(less_grams)
def _less_grams(matrix: Any, rows: Any, weights: Any) -> Any:
    (count, size), several = rows.shape, len(weights)
    sums, found = np.zeros((size, size, several)), np.empty((several, size, size))
    used, at = np.empty(size, dtype=np.int64), np.empty(several)
    for each in range(count):
        few = 0
        for row in range(size):
            if rows[each, row] != 0:
                used[few] = row
                few += 1
        for place in range(several):
            at[place] = weights[place, each]
        for one in range(few):
            for two in range(one + 1):
                product = rows[each, used[one]] * rows[each, used[two]]
                into = sums[used[one], used[two]]
                for place in range(several):
                    into[place] += product * at[place]
    for row in range(size):
        for column in range(row + 1):
            for place in range(several):
                found[place, row, column] = matrix[row, column] - sums[row, column, place]
                found[place, column, row] = found[place, row, column]
    return found


def roots_of(matrices: Floats, which: Ints, first: int, ridges: Floats) -> Floats:
    """(n, size, size): lower Cholesky factors of matrices[which] with a ridge on the diagonal, from `first` to the last
    but one."""
    chosen = matrices[which]
    size = chosen.shape[1]
    diagonals = chosen.reshape(len(which), -1)[:, :: size + 1]  # a view
    diagonals[:, first : size - 1] += ridges[:, None]
    roots: Floats = np.linalg.cholesky(chosen).astype(np.float64, copy=False)
    return roots


@loops_of(roots_of)
def _roots_of(matrices: Any, which: Any, first: Any, ridges: Any) -> Any:
    size = matrices.shape[1]
    roots = np.zeros((len(which), size, size))
    for each in range(len(which)):
        for row in range(size):
            for column in range(row + 1):
                roots[each, row, column] = matrices[which[each], row, column]
        for row in range(first, size - 1):
            roots[each, row, row] += ridges[each]
        cholesky(roots[each])
    return roots


def log_diagonals(roots: Floats) -> Floats:
    """(n,): the sums of the logarithms of the diagonals, without their last numbers."""
    found: Floats = np.log(np.diagonal(roots, axis1=1, axis2=2)[:, :-1]).sum(axis=1)
    return found


@loops_of(log_diagonals)
def _log_diagonals(roots: Any) -> Any:
    found = np.zeros(len(roots))
    for each in range(len(roots)):
        for row in range(roots.shape[1] - 1):
            found[each] += math.log(roots[each, row, row])
    return found


def solutions(roots: Floats, which: Ints, noise: Floats) -> Floats:
    """(draws, size): the x of L' x = l + noise[d], where (L, 0; l', .) is the lower triangular roots[which[d]]."""
    last = roots.shape[1] - 1
    if len(which) == 1:
        root = roots[which[0]]
        return np.asarray(np.linalg.solve(root[:last, :last].T, root[last, :last] + noise[0])[None])
    order = np.argsort(which, kind="stable")
    counts = np.bincount(which, minlength=len(roots))
    place = np.empty(len(which), dtype=np.int64)  # of a draw among those of the same root
    place[order] = np.arange(len(which)) - np.repeat(np.cumsum(counts) - counts, counts)
    sides = np.zeros((len(roots), last, counts.max()))
    sides[which, :, place] = roots[which, last, :last] + noise
    solved = np.linalg.solve(roots[:, :last, :last].transpose(0, 2, 1), sides)
    found: Floats = solved[which, :, place].astype(np.float64, copy=False)
    return found


@loops_of(solutions)
def _solutions(roots: Any, which: Any, noise: Any) -> Any:
    found, last = np.empty(noise.shape), noise.shape[1]
    for each in range(len(which)):
        root = roots[which[each]]
        for row in range(last - 1, -1, -1):
            rest = root[last, row] + noise[each, row]
            for column in range(row + 1, last):
                rest -= root[column, row] * found[each, column]
            found[each, row] = rest / root[row, row]
    return found


def squares(root: Floats, rows: Floats) -> Floats:
    """(rows,): row' (L L')^-1 row for every row, where L is the lower triangular root without its last row."""
    last = rows.shape[1]
    found: Floats = (np.linalg.solve(root[:last, :last], rows.T) ** 2).sum(axis=0)
    return found


@loops_of(squares)
def _squares(root: Any, rows: Any) -> Any:
    count, size = rows.shape
    found, solved = np.zeros(count), np.empty((size, count))
    for row in range(size):
        for each in range(count):
            solved[row, each] = rows[each, row]
        for column in range(row):
            factor = root[row, column]
            if factor != 0:
                for each in range(count):
                    solved[row, each] -= factor * solved[column, each]
        inverse = 1 / root[row, row]
        for each in range(count):
            solved[row, each] *= inverse
            found[each] += solved[row, each] ** 2
    return found

"""Cholesky factors and triangular systems of the small matrices in compiled code."""

import math

import numpy as np

from ..compiled import Floats, compiled


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
def backward(root: Floats, vector: Floats, found: Floats) -> None:
    """Solve root.T @ found = vector; root is lower triangular."""
    for row in range(len(vector) - 1, -1, -1):
        rest = vector[row]
        for column in range(row + 1, len(vector)):
            rest -= root[column, row] * found[column]
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

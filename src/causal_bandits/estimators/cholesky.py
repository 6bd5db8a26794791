"""Cholesky's factor of what may be singular: regressions and effects of levers are drawn with it."""

import math

import numpy as np

from ..compiled import Floats, compiled


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

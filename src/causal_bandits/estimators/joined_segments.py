"""Arms that are alike in all segments: one deviation for all cells of an arm, whatever their segment.

A cell is an arm in a segment. Where levers do the same in all segments, the deviation of `lever_effects` belongs to the
arm: cells of an arm are correlated, and what is learnt in one segment is known in the others. The deviation is taken
out of the normal equations arm by arm (Sherman and Morrison 1950), so their size does not grow with the arms.
"""

import math

import numpy as np

from ..compiled import Floats, Ints, compiled

ARM_ROWS = 5.0
"""The variance of an index within an arm, from all segments, is shrunk to that of all arms by so many rows."""


@compiled
def join_segments(
    values: Floats,
    precision: Floats,
    codes: Ints,
    starts: Ints,
    apart: float,
    together: float,
    matrix: Floats,
    vector: Floats,
) -> float:
    """Add to normal equations that cells of an arm share a deviation; what that adds to log P(values).

    The equations were gathered with the variance `apart` of single cells; `together` is that of an arm, whose number is
    in the column of codes behind those of `starts`.
    """
    column, size, found, arms = len(starts), len(vector), 0.0, 0
    for cell in range(len(values)):
        arms = max(arms, codes[cell, column] + 1)
    weights, totals = np.zeros((arms, size)), np.zeros(arms)
    for cell in range(len(values)):
        if precision[cell] > 0:
            weight, arm = 1 / (1 / precision[cell] + apart), codes[cell, column]
            totals[arm] += weight * values[cell]
            weights[arm, 0] += weight
            for lever in range(column):
                weights[arm, starts[lever] + codes[cell, lever]] += weight
    for arm in range(arms):
        share = together / (1 + together * weights[arm, 0])
        found += 0.5 * share * totals[arm] ** 2 - 0.5 * math.log(1 + together * weights[arm, 0])
        for row in range(size):
            vector[row] -= share * totals[arm] * weights[arm, row]
            for other in range(size):
                matrix[row, other] -= share * weights[arm, row] * weights[arm, other]
    return found


@compiled
def within_arms(rows: Floats, scatter: Floats, codes: Ints, within: float, alike: float) -> Floats:
    """Variance of an index within each cell's arm in all segments, shrunk to `within`, that of all arms.

    By itself a cell with few rows seems exact where none of them got far, and would count for too much. Where segments
    are levers like the others (`alike` is 0) it is `within` for all.
    """
    found = np.full(len(rows), within)
    if alike > 0:
        column = codes.shape[1] - 1
        sums = np.zeros((len(rows), 2))
        for cell in range(len(rows)):
            sums[codes[cell, column], 0] += rows[cell]
            sums[codes[cell, column], 1] += scatter[cell]
        for cell in range(len(rows)):
            arm = codes[cell, column]
            found[cell] = (sums[arm, 1] + ARM_ROWS * within) / (sums[arm, 0] + ARM_ROWS)
    return found

"""Cells and regressions: where mediators add up, thin cells are better known from a regression on all of them.

For a set of two or more discrete mediators the mean of a cell is what an additive regression (one effect per level of
each mediator) says, and a deviation of its own. How large deviations are is learnt from all cells (method of moments):

    mean of cell s  =  fitted value  +  deviation,      deviation ~ N(0, tau^2),     own rows measure it with w / n_s

so a cell starts from w / tau^2 prior rows at its fitted value. Where mediators add up, tau is small and the regression
decides; where they do not, each cell goes by its own rows. Prior rows are no more than the regression has per effect.
"""

import numpy as np

from ..compiled import Floats, Ints, compiled
from ..data import CellTables
from .lever_effects import invert

RIDGE = 1e-6
"""Keeps effects of levels that were never seen at 0; a share of a row."""


@compiled
def _level(strides: Ints, cells: int, variable: int, cell: int) -> int:
    """The level of a variable in a cell; strides grow in the order of variables."""
    above = cells
    for other in range(len(strides)):
        if strides[variable] < strides[other] < above:
            above = strides[other]
    return int((cell % above) // strides[variable])


@compiled
def cell_design(tables: CellTables, place: int) -> Floats:
    """(cells, effects): a constant, and a column per level of each mediator but the first."""
    cells, strides = tables.cells[place], tables.strides[place, :-1]
    sizes, width = np.zeros(len(strides), dtype=np.int64), 1
    for variable in range(len(strides)):
        if strides[variable] > 0:
            for cell in range(cells):
                sizes[variable] = max(sizes[variable], _level(strides, cells, variable, cell))
            width += sizes[variable]
    design = np.zeros((cells, width))
    for cell in range(cells):
        design[cell, 0] = 1.0
        column = 1
        for variable in range(len(strides)):
            if strides[variable] > 0:
                level = _level(strides, cells, variable, cell)
                if level > 0:
                    design[cell, column + level - 1] = 1.0
                column += sizes[variable]
    return design


@compiled
def additive_cells(tables: CellTables, place: int, pooled: Floats, variance: float) -> tuple[Floats, float]:
    """What a regression says of every cell, and how many prior rows that is worth; `variance` is that of one row."""
    design = cell_design(tables, place)
    cells, width = design.shape
    matrix, vector = np.zeros((width, width)), np.zeros(width)
    rows, seen = 0.0, 0
    for cell in range(cells):
        n = pooled[cell, 0]
        rows += n
        seen += n > 0
        for one in range(width):
            vector[one] += n * design[cell, one] * pooled[cell, 1]
            for other in range(width):
                matrix[one, other] += n * design[cell, one] * design[cell, other]
    for one in range(width):
        matrix[one, one] += RIDGE
    invert(matrix)
    fitted = design @ (matrix @ vector)
    left, weight = 0.0, 0.0
    for cell in range(cells):
        n = pooled[cell, 0]
        if n > 0:
            lever = 0.0
            for one in range(width):
                for other in range(width):
                    lever += design[cell, one] * matrix[one, other] * design[cell, other]
            left += n * (pooled[cell, 1] - fitted[cell]) ** 2
            weight += n * max(1 - n * lever, 0.0)
    spread = max(left - variance * max(seen - width, 0), 0.0) / max(weight, 1e-9)
    most = max(rows / width, 1.0)
    return fitted, min(max(variance / spread, 1.0), most) if spread > 0 else most

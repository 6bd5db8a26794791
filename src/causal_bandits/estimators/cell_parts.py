"""What a set says about every arm where rewards are not 0 or 1; the twin of `index_parts`.

    own mean  =  mean index E[Y | S]  +  difference,     Var(own mean) = Var(index) + Var(difference)

A cell's row variance w_s is that of its rows in all arms, shrunk to the variance that a reward of its mean has; with
n_as of an arm's n_a rows among the n_s of a cell the difference has variance sum of w_s n_as (1 - n_as / n_s) over
n_a^2 where S separates. Nothing is assumed about equal variances: a cell has its own.

A cell starts from one row at the mean of all; where the reward is any number and S has several mediators, from what an
additive regression on them says (`cell_regression`).

For revenue, tables with "above zero" split a reward into how often and how much: a cell of zeros is exactly 0, and
cells above zero start from the mean amount of all rows. The set {above zero} shares amounts between arms and leaves how
often to each arm: the hurdle model, by degrees like any other set.
"""

import numpy as np

from ..compiled import Floats, compiled
from ..data import CellTables, merge_cell
from .cell_regression import additive_cells
from .index_parts import (
    ALL,
    CELL_ROWS,
    COLUMNS,
    INDEX,
    KNOWN,
    LEAST_NOISE,
    NOISE,
    OTHERS,
    POOLED,
    SCATTER,
    SHARE,
    N,
    finish,
)
from .reward_shapes import (
    ABOVE,
    DISPERSION,
    MEAN,
    NUMBER,
    RATE,
    ROWS,
    SHAPE,
    STEADIEST,
    STEADY,
    one_more,
    row_variance,
    shape_at,
)


@compiled
def pooled_cells(tables: CellTables, place: int) -> Floats:
    """(cells, 3): rows, mean and scatter of each cell over all arms."""
    cells, start = tables.cells[place], tables.starts[place]
    pooled = np.zeros((cells, 3))
    for arm in range(tables.arms):
        for cell in range(cells):
            merge_cell(pooled[cell], tables.sums[start + arm * cells + cell])
    return pooled


@compiled
def _above_zero(tables: CellTables, numbers: Floats) -> tuple[float, float, float]:
    """Mean amount, dispersion and steadiness of the rewards above zero."""
    amounts = pooled_cells(tables, tables.plain)[1]
    if amounts[0] < 2 or amounts[2] <= 0:
        return float(amounts[1]), float(max(amounts[1], 1e-12)), STEADIEST
    steady = max(STEADIEST, numbers[STEADY] * numbers[ABOVE] / numbers[ROWS])
    return float(amounts[1]), float(amounts[2] / amounts[0] / amounts[1]), float(steady)


@compiled
def _several(tables: CellTables, place: int) -> bool:
    """Whether a set has two mediators or more."""
    return bool(np.sum(tables.strides[place, :-1] > 0) > 1)


@compiled
def _cell_moments(cell: Floats, numbers: Floats, start: float, prior: float) -> tuple[float, float]:
    """E[Y | S = s] and the variance of a row in a cell, with prior rows: one at the mean of all, or as a fit says."""
    rows, mean, scatter = cell
    more = rows / (numbers[ROWS] + 1) if numbers[SHAPE] != NUMBER else 0.0
    found = (rows * mean + prior * start + more * one_more(numbers)) / (rows + prior + more)
    steady = numbers[STEADY]
    return found, (scatter + steady * row_variance(numbers, found)) / (rows + steady)


@compiled
def cell_parts(tables: CellTables, place: int, numbers: Floats, index: Floats) -> Floats:
    """(arms, 11): what one set says about every arm; fills `index` with E[Y | S = s], less the mean over arms.

    The columns are those of `index_parts`; INDEX and the scatter of indices are relative to the mean over arms. A
    pending row counts where its cell is known without the reward.
    """
    cells, start, rate = tables.cells[place], tables.starts[place], numbers[RATE]
    amount, dispersion, steady = 0.0, 0.0, 0.0
    if place >= tables.plain:
        amount, dispersion, steady = _above_zero(tables, numbers)
    pooled = pooled_cells(tables, place)
    fitted, prior = np.zeros(0), CELL_ROWS
    if numbers[SHAPE] == NUMBER and _several(tables, place):
        fitted, prior = additive_cells(tables, place, pooled, numbers[DISPERSION])
    parts, totals = np.zeros((tables.arms, COLUMNS)), np.zeros(tables.arms)
    waits = len(tables.pending) > 0 and place < tables.plain
    for cell in range(cells):
        if place < tables.plain:
            start_from = fitted[cell] if len(fitted) else numbers[MEAN]
            mean, variance = _cell_moments(pooled[cell], numbers, start_from, prior)
        elif cell < cells // 2:
            mean, variance = 0.0, 0.0
        else:
            rows, found, scatter = pooled[cell]
            mean = (rows * found + CELL_ROWS * amount) / (rows + CELL_ROWS)
            variance = (scatter + steady * dispersion * mean) / (rows + steady)
        index[cell] = mean - rate
        for arm in range(tables.arms):
            at = start + arm * cells + cell
            here, later = tables.sums[at], tables.pending[at] if waits else 0
            if here[0] > 0:
                totals[arm] += here[0] * (here[1] - rate)
            _add_cell(parts[arm], here[0], later, pooled[cell, 0] + prior, index[cell], variance)
    least = LEAST_NOISE * row_variance(numbers, rate)
    for arm in range(tables.arms):
        finish(parts[arm], totals[arm], least)
    return parts


@compiled
def _add_cell(part: Floats, here: float, later: float, total: float, index: float, variance: float) -> None:
    """Add the rows of an arm in a cell, with a reward and pending, to the sums that `finish` divides."""
    rows = here + later
    if rows > 0:
        part[N] += here
        part[ALL] += later
        part[INDEX] += rows * index
        part[SCATTER] += rows * index * index
        part[NOISE] += variance * here * (1 - here / total)
        part[OTHERS] += rows * here / total
        part[POOLED] += rows * rows * variance / (total + 1)
        part[KNOWN] += here * index
        part[SHARE] += here * here / total


@compiled
def relative_noise(numbers: Floats, index: float, mean: float) -> float:
    """How much more a reward varies at an own mean than at the mean that a set says; at least 1."""
    there = shape_at(numbers, index)
    return max(1.0, shape_at(numbers, mean) / there) if there > 0 and numbers[DISPERSION] > 0 else 1.0

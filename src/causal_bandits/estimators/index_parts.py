"""What a set says about every arm: the mean of the index E[Y | S] over its rows, and what the index leaves unexplained.

The index of a row is E[Y | S = s], learnt from the rows of all arms. An arm's mean reward is the mean of its indices
plus the mean of what is left, and the two are uncorrelated where S separates:

    own mean  =  index  +  difference,     Var(own mean) = Var(index) + Var(difference)

The difference has mean 0 where S separates; its variance is known beforehand, because the index counts the arm's own
rows too. With n_as of its n_a rows among the n_s of a cell it is the sum of m_s (1 - m_s) n_as (1 - n_as / n_s), over
n_a^2.
"""

import numpy as np

from ..compiled import Floats, compiled
from ..data import CountTables

CELL_ROWS = 1.0
"""Prior rows of a cell, at the pooled rate."""
LEAST_OTHERS = 0.02
"""An index is taken to be decided by other arms' rows in this share at least."""
LEAST_NOISE = 1e-3
"""Variance of a difference is at least so much of that of an own mean at the pooled rate."""

N, INDEX, SCATTER, DIFFERENCE, NOISE, OTHERS, POOLED = range(7)
"""The columns of parts: rows that have a value for the set; mean of E[Y | S] over them; sum of squares about it; mean
reward less that; its variance where S separates; the share of the index that other arms' rows decide; the variance of
the mean index that comes from E[Y | S]."""


@compiled
def index_parts(tables: CountTables, place: int, rate: float, rows: float, index: Floats) -> Floats:
    """(arms, 7): what one set says about every arm; fills `index` with E[Y | S = s].

    A cell has one prior row at the pooled rate, and its share of half a reward in one row more: without rewards the
    index says "less than one in so many", not "never".
    """
    cells = tables.cells[place]
    start = tables.starts[place]
    arms = tables.starts[1] // 2 if len(tables.starts) > 1 else len(tables.counts) // 2
    parts, rewards = np.zeros((arms, 7)), np.zeros(arms)
    for cell in range(cells):
        n, ones = 0.0, 0.0
        for arm in range(arms):
            at = start + (arm * cells + cell) * 2
            here = tables.counts[at] + tables.counts[at + 1]
            parts[arm, N] += here
            rewards[arm] += tables.counts[at + 1]
            n += here
            ones += tables.counts[at + 1]
        index[cell] = (ones + CELL_ROWS * rate + 0.5 * n / (rows + 1)) / (n + CELL_ROWS + n / (rows + 1))
        if n > 0:
            for arm in range(arms):
                at = start + (arm * cells + cell) * 2
                _add_cell(parts[arm], tables.counts[at] + tables.counts[at + 1], n, index[cell])
    for arm in range(arms):
        _finish(parts[arm], rewards[arm], rate)
    return parts


@compiled
def _add_cell(part: Floats, here: float, everywhere: float, chance: float) -> None:
    """Add the rows of an arm in a cell to the sums that `_finish` divides."""
    if here > 0:
        total = everywhere + CELL_ROWS
        part[INDEX] += here * chance
        part[SCATTER] += here * chance * chance
        part[NOISE] += chance * (1 - chance) * here * (1 - here / total)
        part[OTHERS] += here * here / total
        part[POOLED] += here * here * chance * (1 - chance) / (total + 1)


@compiled
def _finish(part: Floats, rewards: float, rate: float) -> None:
    n = part[N]
    if n == 0:
        part[OTHERS] = 1.0
        return
    part[INDEX] /= n
    part[SCATTER] = max(part[SCATTER] - n * part[INDEX] ** 2, 0.0)
    part[DIFFERENCE] = rewards / n - part[INDEX]
    part[NOISE] = part[NOISE] / n**2 + LEAST_NOISE * rate * (1 - rate) / n
    part[OTHERS] = max(1 - part[OTHERS] / n, LEAST_OTHERS)
    part[POOLED] /= n * n

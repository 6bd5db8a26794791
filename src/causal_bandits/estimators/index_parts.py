"""What a set says about every arm: the mean of the index E[Y | S] over its rows, and what the index leaves unexplained.

The index of a row is E[Y | S = s], learnt from the rows of all arms. An arm's mean reward is the mean of its indices
plus the mean of what is left, and the two are uncorrelated where S separates:

    own mean  =  index  +  difference,     Var(own mean) = Var(index) + Var(difference)

The difference has mean 0 where S separates; its variance is known beforehand, because the index counts the arm's own
rows too. With n_as of its n_a rows among the n_s of a cell it is the sum of m_s (1 - m_s) n_as (1 - n_as / n_s), over
n_a^2.

A row whose reward is pending counts for the index alone. The difference is that of the rows with a reward, scaled to
the share that other arms' rows decide in the index of all rows.
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

N, INDEX, SCATTER, DIFFERENCE, NOISE, OTHERS, POOLED, ALL, KNOWN, SHARE, RATIO, COLUMNS = range(12)
"""The columns of parts: rows that have a value for the set; mean of E[Y | S] over them; sum of squares about it; mean
reward less that; its variance where S separates; the share of the index that other arms' rows decide; the variance of
the mean index that comes from E[Y | S]; rows with pending ones; mean index of the rows with a reward; their OTHERS;
what their difference was multiplied by. COLUMNS is how many there are."""


@compiled
def index_parts(tables: CountTables, place: int, rate: float, rows: float, index: Floats) -> Floats:
    """(arms, 11): what one set says about every arm; fills `index` with E[Y | S = s].

    A cell has one prior row at the pooled rate, and its share of half a reward in one row more: without rewards the
    index says "less than one in so many", not "never".
    """
    cells = tables.cells[place]
    start = tables.starts[place]
    arms = tables.starts[1] // 2 if len(tables.starts) > 1 else len(tables.counts) // 2
    parts, rewards = np.zeros((arms, COLUMNS)), np.zeros(arms)
    waits, first = len(tables.pending) > 0, start // 2
    for cell in range(cells):
        n, ones, waiting = 0.0, 0.0, 0.0
        for arm in range(arms):
            at = start + (arm * cells + cell) * 2
            here = tables.counts[at] + tables.counts[at + 1]
            parts[arm, N] += here
            rewards[arm] += tables.counts[at + 1]
            n += here
            ones += tables.counts[at + 1]
            if waits:
                parts[arm, ALL] += tables.pending[first + arm * cells + cell]
                waiting += tables.pending[first + arm * cells + cell]
        index[cell] = (ones + CELL_ROWS * rate + 0.5 * n / (rows + 1)) / (n + CELL_ROWS + n / (rows + 1))
        if n + waiting > 0:
            for arm in range(arms):
                at = start + (arm * cells + cell) * 2
                later = tables.pending[first + arm * cells + cell] if waits else 0
                _add_cell(parts[arm], tables.counts[at] + tables.counts[at + 1], later, n, index[cell])
    for arm in range(arms):
        finish(parts[arm], rewards[arm], LEAST_NOISE * rate * (1 - rate))
    return parts


@compiled
def _add_cell(part: Floats, here: float, later: float, everywhere: float, chance: float) -> None:
    """Add the rows of an arm in a cell, with a reward and pending, to the sums that `finish` divides."""
    rows = here + later
    if rows > 0:
        total = everywhere + CELL_ROWS
        part[INDEX] += rows * chance
        part[SCATTER] += rows * chance * chance
        part[NOISE] += chance * (1 - chance) * here * (1 - here / total)
        part[OTHERS] += rows * here / total
        part[POOLED] += rows * rows * chance * (1 - chance) / (total + 1)
        part[KNOWN] += here * chance
        part[SHARE] += here * here / total


@compiled
def finish(part: Floats, rewards: float, least: float) -> None:
    """Means of the sums over cells; `rewards` is the sum of an arm's rewards, `least` a single row's least noise."""
    part[ALL] += part[N]
    part[RATIO] = 1.0
    n, rows = part[N], part[ALL]
    if rows == 0:
        part[OTHERS] = 1.0
        return
    part[INDEX] /= rows
    part[SCATTER] = max(part[SCATTER] - rows * part[INDEX] ** 2, 0.0)
    part[OTHERS] = max(1 - part[OTHERS] / rows, LEAST_OTHERS)
    part[POOLED] /= rows * rows
    if n > 0:
        part[KNOWN] /= n
        part[SHARE] = max(1 - part[SHARE] / n, LEAST_OTHERS)
        part[RATIO] = part[OTHERS] / part[SHARE]
        part[DIFFERENCE] = (rewards / n - part[KNOWN]) * part[RATIO]
        part[NOISE] = (part[NOISE] / n**2 + least / n) * part[RATIO] ** 2

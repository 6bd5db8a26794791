"""The Bayes factor of conditional independence, from counts.

P(Y | S, I): the reward has its own probability in every cell of S and level of I; P(Y | S): one per cell of S.
Every chance has the prior Beta(1, 1), so a cell with n0 zeros and n1 ones has the marginal likelihood
n0! n1! / (n0 + n1 + 1)!, and the log Bayes factor of independence is a difference of sums of log factorials.
"""

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..compiled import Bools, Floats, Ints, compiled
from ..data import CountTables
from ..problem import Problem
from .g_squared import checked_counts

FEW = 4096
LOG_FACTORIALS = np.array([math.lgamma(n + 1.0) for n in range(FEW)])
"""Most cells hold few rows, and looking up is ten times faster than the gamma function."""


@compiled
def log_factorial(n: int) -> float:
    """log n!."""
    return LOG_FACTORIALS[n] if n < FEW else math.lgamma(n + 1.0)


@compiled
def log_marginal_likelihood(zeros: int, ones: int) -> float:
    """Of a sequence of rewards with one Beta(1, 1) chance, in nats."""
    return log_factorial(zeros) + log_factorial(ones) - log_factorial(zeros + ones + 1)


@compiled
def log_bayes_factor_statistic(table: Ints) -> float:
    """log [P(columns | strata) / P(columns | strata, rows)] of a table (strata, rows, 2)."""
    strata, rows, _ = table.shape
    found = 0.0
    for stratum in range(strata):
        zeros, ones = 0, 0
        for row in range(rows):
            row_zeros, row_ones = table[stratum, row, 0], table[stratum, row, 1]
            if row_zeros + row_ones:
                found -= log_marginal_likelihood(row_zeros, row_ones)
                zeros += row_zeros
                ones += row_ones
        if zeros + ones:
            found += log_marginal_likelihood(zeros, ones)
    return found


@compiled
def _evidence(counts: NDArray[np.int32], start: int, cells: int) -> float:
    """log P(Y) of neighboring cells, each with its own probability."""
    found = 0.0
    for place in range(start, start + 2 * cells, 2):
        found += log_marginal_likelihood(counts[place], counts[place + 1])  # 0 if there are no rows
    return found


@compiled
def marginal_factors(margins: CountTables, starts: Ints) -> Floats:
    """(sets, levers): log [P(Y | S) / P(Y | S, I)], from the counts of each lever's levels."""
    sets, levers = len(margins.cells), len(starts) - 1
    found = np.empty((sets, levers))
    for place in range(sets):
        length = 2 * margins.cells[place]
        first = margins.starts[place]
        together = np.zeros(length, dtype=np.int32)
        for level in range(starts[1]):  # the levels of one lever add up to all rows; so do those of another
            for offset in range(length):
                together[offset] += margins.counts[first + level * length + offset]
        for lever in range(levers):
            found[place, lever] = _evidence(together, 0, margins.cells[place])
            for level in range(starts[lever], starts[lever + 1]):
                found[place, lever] -= _evidence(margins.counts, first + level * length, margins.cells[place])
    return found


class Neighbors(NamedTuple):
    """For each lever the groups of arms that differ in it alone."""

    arms: Ints
    """(levers, arms): group after group."""
    ends: Ints
    """(levers, groups): where each group ends; the last one again and again where a lever has fewer groups."""

    @classmethod
    def of(cls, problem: Problem) -> "Neighbors":
        """The neighbors of a problem's arms."""
        names = problem.intervention_names
        groups = np.array([problem.arm_groups([other for other in names if other != name]) for name in names])
        sizes = np.array([np.bincount(group, minlength=groups.max() + 1) for group in groups])
        return cls(np.argsort(groups, axis=1, kind="stable"), np.cumsum(sizes, axis=1))


@compiled
def _among_pulled(tables: CountTables, neighbors: Neighbors) -> Neighbors:
    """The same without the arms that have no rows: of thousands most may have none, and those change nothing."""
    arms, ends = np.empty_like(neighbors.arms), np.empty_like(neighbors.ends)
    for lever in range(len(arms)):
        index, kept = 0, 0
        for group in range(ends.shape[1]):
            while index < neighbors.ends[lever, group]:
                arm = neighbors.arms[lever, index]
                index += 1
                if tables.counts[2 * arm] + tables.counts[2 * arm + 1]:
                    arms[lever, kept] = arm
                    kept += 1
            ends[lever, group] = kept
    return Neighbors(arms, ends)


@compiled
def _evidence_of_groups(tables: CountTables, place: int, arms: Ints, ends: Ints, alone: Floats) -> float:
    """log P(Y | S, group of the arm): the arms of a group share the chances of their cells."""
    cells = tables.cells[place]
    found, first = 0.0, 0
    for end in ends:
        if end == first + 1:
            found += alone[arms[first]]
        elif end > first:
            for cell in range(cells):
                zeros, ones = 0, 0
                for index in range(first, end):
                    source = tables.starts[place] + (arms[index] * cells + cell) * 2
                    zeros += tables.counts[source]
                    ones += tables.counts[source + 1]
                found += log_marginal_likelihood(zeros, ones)
        first = end
    return found


@compiled
def conditional_factors(tables: CountTables, neighbors: Neighbors, wanted: Bools) -> Floats:
    """(sets, levers): the same given the other levers; with them, a lever's level is the arm. NaN if not wanted."""
    levers, arms = neighbors.arms.shape
    found = np.full((len(tables.cells), levers), np.nan)
    pulled = _among_pulled(tables, neighbors)
    alone = np.zeros(arms)
    for place in range(len(tables.cells)):
        if not wanted[place].any():
            continue
        cells = tables.cells[place]
        apart = 0.0
        for arm in pulled.arms[0, : pulled.ends[0, -1]]:
            alone[arm] = _evidence(tables.counts, tables.starts[place] + arm * cells * 2, cells)
            apart += alone[arm]
        for lever in np.flatnonzero(wanted[place]):
            shared = _evidence_of_groups(tables, place, pulled.arms[lever], pulled.ends[lever], alone)
            found[place, lever] = shared - apart
    return found


def log_bayes_factor(table: ArrayLike) -> float:
    """Log Bayes factor of independence of rows and columns, from counts (strata, rows, 2) or (rows, 2), in nats. Above
    0 it supports independence, below 0 it contradicts it; 1 nat is odds of 2.7 to 1.

    >>> round(log_bayes_factor([[20, 30], [30, 20]]), 2), round(log_bayes_factor([[25, 25], [25, 25]]), 2)
    (-0.57, 1.41)
    """
    return float(log_bayes_factor_statistic(checked_counts(table, 2)))

"""The Bayes factor of conditional independence, from counts.

P(Y | S, I): the reward has a chance of its own in every cell of S and level of I; P(Y | S): one per cell of S.
Every chance is Beta(1, 1) beforehand, so a cell with n0 zeros and n1 ones has the marginal likelihood
n0! n1! / (n0 + n1 + 1)!, and the log Bayes factor of independence is a difference of sums of log factorials.
"""

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from ..compiled import Floats, Ints, compiled
from ..data import CountTables
from ..problem import Problem
from .g_squared import checked_counts, number_groups, pulled_arms

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
def log_evidence_of_groups(tables: CountTables, groups: Ints) -> Floats:
    """log P(Y | S, group of the arm) for every set S (rows) and every grouping of the arms (rows of `groups`).

    Arms and groups without rows are passed over, so the cost follows the arms that were pulled.
    """
    sets, groupings = len(tables.cells), len(groups)
    found = np.zeros((sets, groupings))
    pulled = pulled_arms(tables, groups.shape[1])
    for grouping in range(groupings):
        numbers = number_groups(groups[grouping], pulled)
        pooled = np.empty((numbers[-1] * tables.cells.max(), 2), dtype=np.int64)
        for place in range(sets):
            cells = tables.cells[place]
            pooled[: numbers[-1] * cells] = 0
            for arm in pulled:
                start = tables.starts[place] + arm * cells * 2
                first = numbers[groups[grouping, arm]] * cells
                for cell in range(cells):
                    pooled[first + cell, 0] += tables.counts[start + 2 * cell]
                    pooled[first + cell, 1] += tables.counts[start + 2 * cell + 1]
            for cell in range(numbers[-1] * cells):
                if pooled[cell, 0] + pooled[cell, 1]:
                    found[place, grouping] += log_marginal_likelihood(pooled[cell, 0], pooled[cell, 1])
    return found


class LeverGroups(NamedTuple):
    """Arms grouped in the four ways that the Bayes factors of all levers are differences of."""

    together: Ints
    """(1, arms): all in one group."""
    by_lever: Ints
    """(levers, arms): by the level of the lever."""
    by_others: Ints
    """(levers, arms): by the levels of the other levers."""
    alone: Ints
    """(1, arms): every arm by itself."""

    @classmethod
    def of(cls, problem: Problem) -> "LeverGroups":
        """The groups of a problem's arms."""
        levers = problem.intervention_names
        others = [[other for other in levers if other != name] for name in levers]
        return cls(
            np.zeros((1, len(problem.arms)), dtype=np.int64),
            np.array([problem.arm_groups([name]) for name in levers]),
            np.array([problem.arm_groups(names) for names in others]),
            np.arange(len(problem.arms))[None],
        )

    def marginal(self, tables: CountTables) -> Floats:
        """(sets, levers): log [P(Y | S) / P(Y | S, I)]."""
        return log_evidence_of_groups(tables, self.together) - log_evidence_of_groups(tables, self.by_lever)

    def conditional(self, tables: CountTables) -> Floats:
        """(sets, levers): the same given the other levers; with them, a lever's level is the arm."""
        return log_evidence_of_groups(tables, self.by_others) - log_evidence_of_groups(tables, self.alone)


def log_bayes_factor(table: ArrayLike) -> float:
    """How much the counts (strata, rows, 2) or (rows, 2) speak for rows being irrelevant to the columns, in nats.

    Above 0 they speak for independence, below 0 against it; 1 nat is odds of 2.7 to 1.

    >>> round(log_bayes_factor([[20, 30], [30, 20]]), 2), round(log_bayes_factor([[25, 25], [25, 25]]), 2)
    (-0.57, 1.41)
    """
    return float(log_bayes_factor_statistic(checked_counts(table, 2)))

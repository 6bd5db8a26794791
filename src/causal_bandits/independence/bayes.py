"""The Bayes factor of conditional independence, from counts.

P(Y | S, I): the reward has a chance of its own in every cell of S and level of I; P(Y | S): one per cell of S.
Every chance is Beta(1, 1) beforehand, so a cell with n0 zeros and n1 ones has the marginal likelihood
n0! n1! / (n0 + n1 + 1)!, and the log Bayes factor of independence is a difference of sums of log factorials.
"""

import math

import numpy as np
from numpy.typing import ArrayLike

from ..compiled import Floats, Ints, compiled
from ..data import CountTables
from .g_squared import ArmTests, checked_counts, counts_of_test, number_strata, pulled_arms


@compiled
def log_marginal_likelihood(zeros: int, ones: int) -> float:
    """Of a sequence of rewards with one Beta(1, 1) chance, in nats."""
    return math.lgamma(zeros + 1.0) + math.lgamma(ones + 1.0) - math.lgamma(zeros + ones + 2.0)


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
def log_bayes_factors_of_arms(tables: CountTables, tests: ArmTests) -> Floats:
    """The log Bayes factor of independence of every test (columns) given every set S (rows)."""
    found = np.empty((len(tables.cells), len(tests.strata_count)))
    pulled = pulled_arms(tables, tests.strata.shape[1])
    for test in range(found.shape[1]):
        numbers = number_strata(tests, test, pulled)
        for place in range(found.shape[0]):
            table = counts_of_test(tables, tests, test, place, pulled, numbers)
            found[place, test] = log_bayes_factor_statistic(table)
    return found


def log_bayes_factor(table: ArrayLike) -> float:
    """How much the counts (strata, rows, 2) or (rows, 2) speak for rows being irrelevant to the columns, in nats.

    Above 0 they speak for independence, below 0 against it; 1 nat is odds of 2.7 to 1.

    >>> round(log_bayes_factor([[20, 30], [30, 20]]), 2), round(log_bayes_factor([[25, 25], [25, 25]]), 2)
    (-0.57, 1.41)
    """
    return float(log_bayes_factor_statistic(checked_counts(table, 2)))

"""The Bayes factor of conditional independence, from counts.

P(Y | S, I): the reward has its own probability in every cell of S and level of I; P(Y | S): one per cell of S.
Every chance has the prior Beta(1, 1), so a cell with n0 zeros and n1 ones has the marginal likelihood
n0! n1! / (n0 + n1 + 1)!, and the log Bayes factor of independence is a difference of sums of log factorials.
"""

import math

import numpy as np
from numpy.typing import ArrayLike

from ..compiled import Floats, Ints, compiled
from ..data import CountTables
from .g_squared import ArmTests, checked_counts, counts_of_test, number_groups, pulled_arms

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
def factors_of_arms(tables: CountTables, tests: ArmTests) -> Floats:
    """(sets, tests): the log Bayes factor of every test given every set."""
    count, arms = tests.strata.shape
    factors, pulled = np.empty((len(tables.cells), count)), pulled_arms(tables, arms)
    for test in range(count):
        numbers = number_groups(tests.strata[test], pulled)
        for place in range(len(factors)):
            counts = counts_of_test(tables, tests, test, place, pulled, numbers)
            factors[place, test] = log_bayes_factor_statistic(counts)
    return factors


def log_bayes_factor(table: ArrayLike) -> float:
    """Log Bayes factor of independence of rows and columns, from counts (strata, rows, 2) or (rows, 2), in nats. Above
    0 it supports independence, below 0 it contradicts it; 1 nat is odds of 2.7 to 1.

    >>> round(log_bayes_factor([[20, 30], [30, 20]]), 2), round(log_bayes_factor([[25, 25], [25, 25]]), 2)
    (-0.57, 1.41)
    """
    return float(log_bayes_factor_statistic(checked_counts(table, 2)))

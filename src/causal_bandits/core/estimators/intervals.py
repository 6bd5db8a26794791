"""Intervals of a mean from its posterior mean and variance."""

import numpy as np

from ...libraries import special

FEWEST = 0.25
"""A Beta with fewer ones, or zeros, is not described by its mean and variance: nearly all of its mass is at the end."""


def beta_interval(mean: float, variance: float, level: float) -> tuple[float, float]:
    """The equal-tailed interval of the Beta with this mean and variance.

    For an arm's own rows that Beta is the posterior itself; otherwise it is an approximation. It is poor if a mean near
    0 or 1 is less certain than after a single event: the interval may barely contain the mean. In that case it is
    extended to at least the end of a Gaussian interval.

    >>> [round(end, 3) for end in beta_interval(0.5, 1 / 12, 0.95)]
    [0.025, 0.975]
    >>> round(beta_interval(0.001, 0.0001, 0.95)[1], 4)  # 0.001 and 1.96 standard deviations; the Beta ends at 0.0041
    0.0206
    """
    size = mean * (1 - mean) / variance - 1
    tail, ones, zeros = (1 - level) / 2, mean * size, (1 - mean) * size
    low, high = special.betaincinv(ones, zeros, np.array([tail, 1 - tail]))
    reach = special.ndtri(1 - tail) * np.sqrt(variance)
    if ones < FEWEST:
        high = max(high, min(mean + reach, 1.0))
    if zeros < FEWEST:
        low = min(low, max(mean - reach, 0.0))
    return float(low), float(high)


def jeffreys_interval(rows: int, ones: int, level: float) -> tuple[float, float]:
    """Jeffreys' interval of a chance: quantiles of Beta(ones + 1/2, zeros + 1/2), up to 0 or 1 if all rows are equal.

    It covers about as often as it says for small chances too (Brown, Cai and DasGupta 2001).

    >>> [round(end, 4) for end in jeffreys_interval(100, 2, 0.95)]
    [0.0042, 0.0626]
    """
    tail = (1 - level) / 2
    low, high = special.betaincinv(ones + 0.5, rows - ones + 0.5, np.array([tail, 1 - tail]))
    return 0.0 if ones == 0 else float(low), 1.0 if ones == rows else float(high)


def gamma_interval(mean: float, variance: float, level: float) -> tuple[float, float]:
    """The equal-tailed interval of the Gamma with this mean and variance, its upper end with one more event.

    As for Poisson counts (Garwood 1936), the lower end is that of the n events that such a Gamma stands for, and the
    upper end that of n + 1. Otherwise an arm without a sale would be certain never to sell anything.

    >>> [round(end, 3) for end in gamma_interval(1.0, 1.0, 0.95)]
    [0.025, 5.572]
    >>> [round(end, 3) for end in gamma_interval(1e-9, 1e-9, 0.95)]
    [0.0, 3.689]
    """
    events, unit, tail = mean * mean / variance, variance / mean, (1 - level) / 2
    low, high = special.gammaincinv(events + np.array([0.0, 1.0]), np.array([tail, 1 - tail])) * unit
    return float(low), float(high)

"""Intervals of a mean from its posterior mean and variance."""

from typing import NamedTuple

import numpy as np

from ...libraries import special

FEWEST = 0.25
"""A Beta of fewer ones, or zeros, is no picture of its mean and variance: nearly all of it lies at the end."""


class BetaInterval(NamedTuple):
    """The interval, and how many rows make a Beta so narrow, the two of the prior included."""

    low: float
    high: float
    size: float


def beta_interval(mean: float, variance: float, level: float) -> BetaInterval:
    """The equal-tailed interval of the Beta with this mean and variance.

    For an arm's own rows that Beta is the posterior itself; otherwise it is an approximation, and a poor one where a
    mean near 0 or 1 is less sure than a single event would make it: the interval may hardly hold its mean. There it
    reaches at least as far from the end as a Gaussian's does.

    >>> low, high, size = beta_interval(0.5, 1 / 12, 0.95)
    >>> round(low, 3), round(high, 3), round(size, 3)
    (0.025, 0.975, 2.0)
    >>> round(beta_interval(0.001, 0.0001, 0.95).high, 4)  # 0.001 and 1.96 standard deviations; the Beta ends at 0.0041
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
    return BetaInterval(float(low), float(high), float(size))


def jeffreys_interval(rows: int, ones: int, level: float) -> tuple[float, float]:
    """Jeffreys' interval of a chance: quantiles of Beta(ones + 1/2, zeros + 1/2), up to 0 or 1 where all are alike.

    It covers about as often as it says for small chances too (Brown, Cai and DasGupta 2001).

    >>> [round(end, 4) for end in jeffreys_interval(100, 2, 0.95)]
    [0.0042, 0.0626]
    """
    tail = (1 - level) / 2
    low, high = special.betaincinv(ones + 0.5, rows - ones + 0.5, np.array([tail, 1 - tail]))
    return 0.0 if ones == 0 else float(low), 1.0 if ones == rows else float(high)


def gamma_interval(mean: float, variance: float, level: float) -> tuple[float, float]:
    """The equal-tailed interval of the Gamma with this mean and variance, its upper end with one event more.

    Events are what makes a Gamma that wide, as for Poisson counts (Garwood 1936): of n of them the lower end is that of
    n, the upper end that of n + 1. Without it an arm that has sold nothing would be certain to sell nothing.

    >>> [round(end, 3) for end in gamma_interval(1.0, 1.0, 0.95)]
    [0.025, 5.572]
    >>> [round(end, 3) for end in gamma_interval(1e-9, 1e-9, 0.95)]
    [0.0, 3.689]
    """
    events, unit, tail = mean * mean / variance, variance / mean, (1 - level) / 2
    low, high = special.gammaincinv(events + np.array([0.0, 1.0]), np.array([tail, 1 - tail])) * unit
    return float(low), float(high)

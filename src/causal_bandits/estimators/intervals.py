"""Intervals of a mean between 0 and 1 from its posterior mean and variance."""

from typing import NamedTuple

import numpy as np
from scipy.special import betaincinv


class BetaInterval(NamedTuple):
    """The interval, and how many rows make a Beta so narrow, the two of the prior included."""

    low: float
    high: float
    size: float


def beta_interval(mean: float, variance: float, level: float) -> BetaInterval:
    """The equal-tailed interval of the Beta with this mean and variance.

    For an arm's own rows that Beta is the posterior itself; otherwise it is an approximation.

    >>> low, high, size = beta_interval(0.5, 1 / 12, 0.95)
    >>> round(low, 3), round(high, 3), round(size, 3)
    (0.025, 0.975, 2.0)
    """
    size = mean * (1 - mean) / variance - 1
    tail = (1 - level) / 2
    low, high = betaincinv(mean * size, (1 - mean) * size, np.array([tail, 1 - tail]))
    return BetaInterval(float(low), float(high), float(size))

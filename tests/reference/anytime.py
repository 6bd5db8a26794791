"""Evidence that one arm is ahead of another, the slow way: every reward in turn, every pair of means on a grid."""

import math

from scipy.integrate import quad
from scipy.stats import beta

from causal_bandits.independence.anytime import SPREAD


def martingale(rewards: list[int], claimed: float) -> float:
    """The average likelihood of rewards, means being Beta around p with the stated spread, over that at p."""
    strength = 1 / (SPREAD**2 * claimed * (1 - claimed))
    law = beta(strength * claimed, strength * (1 - claimed))

    def likelihood(mean: float) -> float:
        return math.prod(mean if reward else 1 - mean for reward in rewards)

    at = likelihood(claimed)
    return float(quad(lambda mean: law.pdf(mean) * likelihood(mean) / at, 0, 1, points=[claimed], limit=200)[0])


def lowest(first: list[float], second: list[float], grid: list[float], margin: float) -> float:
    """The lowest sum over means p of the first and q of the second arm with p <= q - margin."""
    return min(first[i] + second[j] for i, p in enumerate(grid) for j, q in enumerate(grid) if p <= q - margin + 1e-12)

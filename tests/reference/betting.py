"""Betting wealth, the slow way: every value in turn, every pair of means on a grid."""

import math
from collections.abc import Sequence

from causal_bandits.core.independence.betting import NUMBERS, RATES, SPLIT_WEIGHTS, SPLITS


def wealth(values: Sequence[float], claimed: float, shift: float) -> float:
    """The logarithm of the wealth after betting on each value that the odds of the mean are shifted."""
    total, u = 0.0, math.expm1(shift)
    for value in values:
        total += math.log((1 + u * value) / (1 + u * claimed))
    return total


def alone(values: Sequence[float], claimed: float, *, above: bool, binary: bool) -> float:
    """The wealth of the mixture for one mean; its logarithm."""
    bets = RATES if binary and {*values} <= {0, 1} else NUMBERS
    shifts = zip(bets.alone.tolist(), bets.weights.tolist(), strict=True)
    return math.log(sum(w * math.exp(wealth(values, claimed, s if above else -s)) for s, w in shifts))


def paired(first: Sequence[float], second: Sequence[float], p: float, q: float, *, binary: bool) -> float:
    """The wealth of the mixture for two means; its logarithm."""
    total, bets = 0.0, RATES if binary and {*first, *second} <= {0, 1} else NUMBERS
    for shift, weight in zip(bets.alone.tolist(), bets.weights.tolist(), strict=True):
        for split, part in zip(SPLITS.tolist(), SPLIT_WEIGHTS.tolist(), strict=True):
            logs = wealth(first, p, shift * (1 - split)) + wealth(second, q, -shift * split)
            total += weight * part * math.exp(logs)
    return math.log(total)

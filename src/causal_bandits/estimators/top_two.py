"""The two arms that are hardest to tell apart, by own rows: the best in a draw, and its challenger."""

import math

import numpy as np

from ..compiled import Bools, Floats, compiled


@compiled
def log_loss(ones: float, rows: float, chance: float) -> float:
    """Minus the log-likelihood of rewards of 0 or 1."""
    loss = 0.0
    if ones > 0:
        loss -= ones * math.log(chance)
    if rows > ones:
        loss -= (rows - ones) * math.log(1 - chance)
    return loss


@compiled
def transport(rows: float, ones: float, other_rows: float, other_ones: float) -> float:
    """What it costs in nats to take the first arm for no better than the second: 0 where it does not look better.

    >>> transport(10.0, 5.0, 0.0, 0.0), round(transport(10.0, 9.0, 10.0, 1.0), 4)
    (0.0, 7.3612)
    """
    if rows == 0 or other_rows == 0 or ones * other_rows <= other_ones * rows:
        return 0.0
    together = (ones + other_ones) / (rows + other_rows)
    apart = log_loss(ones, rows, ones / rows) + log_loss(other_ones, other_rows, other_ones / other_rows)
    return log_loss(ones, rows, together) + log_loss(other_ones, other_rows, together) - apart


@compiled
def choose_of_top_two(own: Floats, allowed: Bools, second: float, rng: np.random.Generator) -> int:
    """The arm with the highest draw from Beta(1 + ones, 1 + zeros), or, in a share of rounds, its challenger.

    Args:
        own: (arms, 2): rows and ones of every arm.
        allowed: (arms,): arms in play.
        second: The share of rounds that go to the challenger.
        rng: Generator of the draws.
    """
    leader, most = 0, -1.0
    for arm in range(len(own)):
        if allowed[arm]:
            drawn = rng.beta(1 + own[arm, 1], 1 + own[arm, 0] - own[arm, 1])
            if drawn > most:
                leader, most = arm, drawn
    if rng.random() >= second:
        return leader
    challenger, least = leader, np.inf
    for arm in range(len(own)):
        if allowed[arm] and arm != leader:
            cost = transport(own[leader, 0], own[leader, 1], own[arm, 0], own[arm, 1])
            if cost < least:
                challenger, least = arm, cost
    return challenger

"""The two arms that are hardest to tell apart, by own rows: the best in a draw, and its challenger."""

import numpy as np

from ..compiled import Bools, Floats, compiled

NEAR = 0.05
"""An arm within this share of the leader's mean need not be told apart from it."""


@compiled
def transport(rows: float, ones: float, other_rows: float, other_ones: float) -> float:
    """Approximate evidence, in nats, that the first arm is not worse than the second by more than `NEAR`.

    0 if the second arm looks better than that, or if either was never played.

    >>> transport(10.0, 5.0, 0.0, 0.0), round(transport(10.0, 9.0, 10.0, 1.0), 2)
    (0.0, 7.14)
    """
    if rows == 0 or other_rows == 0:
        return 0.0
    ahead = (1 + NEAR) * ones / rows - other_ones / other_rows
    if ahead <= 0:
        return 0.0
    chance = (ones + other_ones + 1) / (rows + other_rows + 2)
    return ahead * ahead / (2 * chance * (1 - chance) * (1 / rows + 1 / other_rows))


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

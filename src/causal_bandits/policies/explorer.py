"""How the default policy explores: information-directed sampling over weighted joint draws of all means.

Playing an arm costs its expected regret, and its reward tells which arm is the best the more, the more the arm's mean
depends on that. With draws of all means both can be counted, and the mixture of two arms that minimizes

    (expected regret)^2 / (variance of the arm's mean that "which arm is best" explains)

is played (variance-based information-directed sampling, Russo and Van Roy 2018). In a small share of rounds an arm is
played as often as it is the best in the draws (Thompson 1933), so that every arm keeps a positive probability, which is
known exactly.

The draws are made when the model is refitted. Between two fits each reward reweighs them by its likelihood, so an arm's
probability follows its rewards at once (a particle filter: Gordon, Salmond and Smith 1993).
"""

import math

import numpy as np

from ..compiled import Bools, Floats, compiled
from ..estimators.reward_shapes import FIXED, log_likelihood

THOMPSON = 0.05
"""The share of rounds in which arms are played as often as they are the best in the draws."""


@compiled
def reweigh(draws: Floats, weights: Floats, numbers: Floats, arm: int, reward: float) -> None:
    """Multiply the weight of every draw by the likelihood of a reward, in place."""
    count, total = len(weights), 0.0
    if numbers[FIXED]:
        for draw in range(count):
            weights[draw] *= draws[draw, arm] if reward > 0 else 1 - draws[draw, arm]
            total += weights[draw]
    else:
        highest = -np.inf
        for draw in range(count):
            highest = max(highest, log_likelihood(numbers, draws[draw, arm], reward))
        for draw in range(count):
            weights[draw] *= math.exp(log_likelihood(numbers, draws[draw, arm], reward) - highest)
            total += weights[draw]
    for draw in range(count):
        weights[draw] = weights[draw] / total if total > 0 else 1 / count


@compiled
def play_shares(draws: Floats, weights: Floats, allowed: Bools, cost: Floats) -> Floats:
    """(arms,): the probability of every arm to be played; 0 for arms that are not allowed.

    Args:
        draws: (draws, arms): joint draws of all means.
        weights: (draws,): their weights, which sum to 1.
        allowed: (arms,): the arms to choose from.
        cost: (arms,): what each arm costs, in units of the reward.
    """
    count, arms = draws.shape
    first = 0
    while first < arms - 1 and not allowed[first]:
        first += 1
    means, chances = np.zeros(arms), np.zeros(arms)
    best, top = np.empty(count, dtype=np.int64), 0.0
    for draw in range(count):
        leader = first
        for arm in range(first, arms):
            if allowed[arm]:
                means[arm] += weights[draw] * (draws[draw, arm] - cost[arm])
                if draws[draw, arm] - cost[arm] > draws[draw, leader] - cost[leader]:
                    leader = arm
        best[draw] = leader
        chances[leader] += weights[draw]
        top += weights[draw] * (draws[draw, leader] - cost[leader])
    shares = _directed(draws, weights, allowed, cost, best, means, chances, top)
    others = 0
    for arm in range(arms):
        others += allowed[arm]
    for arm in range(arms):
        if allowed[arm]:
            drawn = (count * chances[arm] + 1 / others) / (count + 1)  # one draw more, shared by all arms
            shares[arm] = (1 - THOMPSON) * shares[arm] + THOMPSON * drawn
    return shares


@compiled
def _directed(
    draws: Floats,
    weights: Floats,
    allowed: Bools,
    cost: Floats,
    best: "np.ndarray[tuple[int], np.dtype[np.int64]]",
    means: Floats,
    chances: Floats,
    top: float,
) -> Floats:
    """(arms,): the mixture of two arms with the lowest squared regret per information."""
    count, arms = draws.shape
    sums = np.zeros((arms, arms))
    for draw in range(count):
        for arm in range(arms):
            sums[best[draw], arm] += weights[draw] * (draws[draw, arm] - cost[arm])
    regret, known = np.empty(arms), np.zeros(arms)
    one = -1
    for arm in range(arms):
        regret[arm] = max(top - means[arm], 1e-12 * abs(top) + 1e-300)
        for leader in range(arms):
            if chances[leader] > 0:
                known[arm] += chances[leader] * (sums[leader, arm] / chances[leader] - means[arm]) ** 2
        if allowed[arm] and (one < 0 or regret[arm] ** 2 * known[one] < regret[one] ** 2 * known[arm]):
            one = arm
    shares = np.zeros(arms)
    two, part = one, 0.0
    for _ in range(4):  # the best partner of an arm, then the best partner of that one
        lowest, partner, share = np.inf, one, 0.0
        for other in range(arms):
            if allowed[other]:
                more, apart = regret[other] - regret[one], known[other] - known[one]
                at = (apart * regret[one] - 2 * more * known[one]) / (more * apart) if more * apart != 0 else 0.0
                for place in (min(max(at, 0.0), 1.0), 0.0, 1.0):
                    ratio = (regret[one] + place * more) ** 2 / (known[one] + place * apart + 1e-300)
                    if ratio < lowest:
                        lowest, partner, share = ratio, other, place
        two, part = one, 1 - share
        if share == 0:
            break
        one = partner
    shares[one] += 1 - part
    shares[two] += part
    return shares


@compiled
def draw_arm(shares: Floats, rng: np.random.Generator) -> int:
    """An arm, drawn by its share."""
    left, last = rng.random(), 0
    for arm in range(len(shares)):
        if shares[arm] > 0:
            last = arm
            left -= shares[arm]
            if left < 0:
                return arm
    return last

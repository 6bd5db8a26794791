"""How the default policy explores: information-directed sampling over weighted joint draws of all means.

Playing an arm costs its expected regret, and its reward tells which arm is the best the more, the more the arm's mean
depends on that. With draws of all means both can be counted, and the mixture of two arms that minimizes

    (expected regret)^2 / (variance of the arm's mean that "which arm is best" explains)

is played (variance-based information-directed sampling, Russo and Van Roy 2018). In a share of rounds an arm is played
as often as it is the best in the draws (Thompson 1933): at least in a few, so that every arm keeps a positive
probability, which is known exactly, and the more rewards are waited for. What two arms tell is soon known, so a
whole batch of them is a waste.

The draws are made when the model is refitted. Between two fits each reward reweighs them by its likelihood, so an arm's
probability follows its rewards at once (a particle filter: Gordon, Salmond and Smith 1993).
"""

import math

import numpy as np

from ..compiled import Bools, Floats, Ints, compiled
from ..estimators.reward_shapes import RewardStats, log_likelihood

THOMPSON = 0.01
"""The least share of rounds in which arms are played as often as they are the best in the draws."""
STEPS = 4
"""The best partner of an arm is looked for, then that of the partner, this often."""


@compiled
def reweigh(draws: Floats, weights: Floats, stats: RewardStats, arm: int, reward: float) -> None:
    """Multiply the weight of every draw by the likelihood of a reward, in place."""
    count, total = len(weights), 0.0
    if stats.fixed:
        for draw in range(count):
            weights[draw] *= draws[draw, arm] if reward > 0 else 1 - draws[draw, arm]
            total += weights[draw]
    else:
        logs, highest = np.empty(count), -np.inf
        for draw in range(count):
            logs[draw] = log_likelihood(stats, draws[draw, arm], reward)
            highest = max(highest, logs[draw])
        for draw in range(count):
            weights[draw] *= math.exp(logs[draw] - highest)
            total += weights[draw]
    for draw in range(count):
        weights[draw] = weights[draw] / total if total > 0 else 1 / count


@compiled
def play_shares(draws: Floats, weights: Floats, allowed: Bools, cost: Floats) -> Floats:
    """(2, arms): how often every arm is played for information, and by Thompson sampling; 0 if it is not allowed.

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
    regret, others = np.empty(arms), 0
    for arm in range(arms):
        others += allowed[arm]
        regret[arm] = max(top - means[arm], 1e-12 * abs(top) + 1e-300)
    directed = _directed(regret, _information(draws, weights, cost, best, means, chances), allowed)
    shares = np.zeros((2, arms))
    for arm in range(arms):
        if allowed[arm]:
            shares[0, arm] = directed[arm]
            shares[1, arm] = (count * chances[arm] + 1 / others) / (count + 1)  # one draw more, shared by all arms
    return shares


@compiled
def mixed(shares: Floats, rows: float, waiting: float) -> Floats:
    """(arms,): the probability of every arm to be played, from what `play_shares` gave.

    Thompson sampling has the share of rewards that are waited for among all rows, and at least THOMPSON.
    """
    part = max(THOMPSON, waiting / (rows + waiting)) if waiting > 0 else THOMPSON
    found = np.empty(shares.shape[1])
    for arm in range(len(found)):
        found[arm] = (1 - part) * shares[0, arm] + part * shares[1, arm]
    return found


@compiled
def _information(draws: Floats, weights: Floats, cost: Floats, best: Ints, means: Floats, chances: Floats) -> Floats:
    """(arms,): variance of an arm's mean that "which arm is best" explains."""
    count, arms = draws.shape
    place, leaders = np.full(arms, -1), 0
    for draw in range(count):
        if place[best[draw]] < 0:
            place[best[draw]] = leaders
            leaders += 1
    sums, found = np.zeros((leaders, arms)), np.zeros(arms)
    for draw in range(count):
        row = sums[place[best[draw]]]
        for arm in range(arms):
            row[arm] += weights[draw] * (draws[draw, arm] - cost[arm])
    for leader in range(arms):
        if chances[leader] > 0:
            row = sums[place[leader]]
            for arm in range(arms):
                found[arm] += chances[leader] * (row[arm] / chances[leader] - means[arm]) ** 2
    return found


@compiled
def _best_partner(one: int, regret: Floats, known: Floats, allowed: Bools) -> tuple[int, float]:
    """The arm to mix with another, and its share, for the lowest squared regret per information."""
    lowest, partner, share = np.inf, one, 0.0
    for other in range(len(regret)):
        if allowed[other]:
            more, apart = regret[other] - regret[one], known[other] - known[one]
            at = (apart * regret[one] - 2 * more * known[one]) / (more * apart) if more * apart != 0 else 0.0
            for place in (min(max(at, 0.0), 1.0), 0.0, 1.0):
                ratio = (regret[one] + place * more) ** 2 / (known[one] + place * apart + 1e-300)
                if ratio < lowest:
                    lowest, partner, share = ratio, other, place
    return partner, share


@compiled
def _directed(regret: Floats, known: Floats, allowed: Bools) -> Floats:
    """(arms,): the mixture of two arms with the lowest squared regret per information."""
    one = -1
    for arm in range(len(regret)):
        if allowed[arm] and (one < 0 or regret[arm] ** 2 * known[one] < regret[one] ** 2 * known[arm]):
            one = arm
    two, share = one, 0.0
    for _ in range(STEPS):
        partner, part = _best_partner(one, regret, known, allowed)
        two, share = one, part
        if part == 0:
            break
        one = partner
    shares = np.zeros(len(regret))
    shares[one] += share
    shares[two] += 1 - share
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

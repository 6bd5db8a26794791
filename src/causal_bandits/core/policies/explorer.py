"""How the default policy explores: information-directed sampling over weighted joint draws of all means.

Playing an arm costs its expected regret. Its reward tells more about which arm is best, the more the arm's mean depends
on that. Both follow from draws of all means. The policy plays the mixture of two arms that minimizes

    (expected regret)^2 / (variance of the arm's mean that "which arm is best" explains)

(variance-based information-directed sampling, Russo and Van Roy 2018). The variance that so few draws explain by chance
is subtracted.

Every draw goes through one set of mediators. Where sets disagree about an arm, the draws are shrunk toward their mean,
so that disagreement is not explored. Otherwise an arm that a wrong set praises would be played until its own rows
overrule the set, although the rows of other arms show at no cost that the set is wrong.

In a share of rounds an arm is played as often as it is the best in the draws (Thompson 1933). This share is never 0, so
every arm keeps a positive probability, which is known exactly. It grows with the number of awaited rewards, including
that of the next decision and those of plausible arms that were never played: a mixture of two arms teaches little while
no reward arrives, and is slow to try many arms once.

The draws are made when the model is refitted. Between two fits each reward reweighs them by its likelihood, so an arm's
probability follows its rewards at once (a particle filter: Gordon, Salmond and Smith 1993).
"""

from typing import Any

import numpy as np

from ..compiled import Bools, Floats, Ints, compiled, loops_of
from ..estimators.linear_algebra import copy_to
from ..estimators.reward_shapes import RewardStats, log_likelihood

THOMPSON = 0.01
"""The least share of rounds in which arms are played as often as they are the best in the draws."""
LEAST_INFORMATION = 1e-3
"""The share of an arm's information that is kept even if chance explains all of it, so that arms can be compared."""
STEPS = 4
"""The best partner of an arm is looked for, then that of the partner, this often."""


@compiled
def reweigh(draws: Floats, weights: Floats, stats: RewardStats, arm: int, reward: float) -> None:
    """Multiply the weight of every draw by the likelihood of a reward, in place."""
    means = draws[:, arm]
    if stats.fixed:
        found = weights * (means if reward > 0 else 1 - means)
    else:
        logs = log_likelihood(stats, means, reward)
        found = weights * np.exp(logs - logs.max())
    total = found.sum()
    copy_to(weights, found / total if total > 0 else np.full(len(weights), 1 / len(weights)))


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
    net = draws - cost
    best, highest = leaders(net, allowed)
    means, top = weights @ net, (weights * highest).sum()
    regret = np.maximum(top - means, 1e-12 * abs(top) + 1e-300)
    chances = np.bincount(best, weights, arms)
    shares = np.zeros((2, arms))
    information = beyond_chance(explained(net - means, weights, best), net - means, weights, (chances > 0).sum())
    copy_to(shares[0], directed(regret, information, allowed))
    thompson = (count * chances + 1 / allowed.sum()) / (count + 1)  # one draw more, shared by all arms
    copy_to(shares[1], np.where(allowed, thompson, 0.0))
    return shares


@compiled
def mixed(shares: Floats, rows: float, waiting: float) -> Floats:
    """(arms,): the probability of every arm to be played, from what `play_shares` gave.

    Thompson sampling has the share of rewards that are awaited among all decisions, and at least THOMPSON. `waiting`
    includes the next decision, so the very first one is drawn by Thompson sampling.
    """
    part = max(THOMPSON, waiting / (rows + waiting))
    found = (1 - part) * shares[0] + part * shares[1]
    normalized: Floats = found / found.sum()
    return normalized


def leaders(values: Floats, allowed: Bools) -> tuple[Ints, Floats]:
    """(rows,) each: the column with the highest value of every row among those allowed, and that value."""
    best = np.where(allowed, values, -np.inf).argmax(axis=1)
    return best, values[np.arange(len(values)), best]


@loops_of(leaders)
def _leaders(values: Any, allowed: Any) -> Any:
    best, highest = np.zeros(len(values), dtype=np.int64), np.full(len(values), -np.inf)
    for row in range(len(values)):
        for column in range(len(allowed)):
            if allowed[column] and values[row, column] > highest[row]:
                best[row], highest[row] = column, values[row, column]
    return best, highest


@compiled
def beyond_chance(known: Floats, values: Floats, weights: Floats, groups: int) -> Floats:
    """(columns,): explained variances, less what as many groups of so few rows explain by chance (as in the F test).

    Without this the leader seems to tell about itself what only the number of draws does, and is played too long.
    """
    rows, every = 1 / float((weights**2).sum()), weights @ values**2
    by_chance = (groups - 1) / max(rows - groups, 1.0) * (every - known)
    found: Floats = np.maximum(known - by_chance, LEAST_INFORMATION * known)
    return found


def explained(values: Floats, weights: Floats, groups: Ints) -> Floats:
    """(columns,): the variance of every column that the groups of rows explain; columns have the mean 0."""
    used, group = np.unique(groups, return_inverse=True)
    weighted = np.where(np.arange(len(used))[:, None] == group, weights, 0.0)
    chances = weighted.sum(axis=1)
    found: Floats = ((weighted @ values) ** 2 / np.maximum(chances, 1e-300)[:, None]).sum(axis=0)
    return found


@loops_of(explained)
def _explained(values: Any, weights: Any, groups: Any) -> Any:
    columns = values.shape[1]
    place, used = np.full(columns, -1), 0
    for row in range(len(groups)):
        if place[groups[row]] < 0:
            place[groups[row]] = used
            used += 1
    sums, chances, found = np.zeros((used, columns)), np.zeros(used), np.zeros(columns)
    for row in range(len(groups)):
        group = place[groups[row]]
        chances[group] += weights[row]
        for column in range(columns):
            sums[group, column] += weights[row] * values[row, column]
    for group in range(used):
        if chances[group] > 0:
            for column in range(columns):
                found[column] += sums[group, column] ** 2 / chances[group]
    return found


@compiled
def _best_partner(one: int, regret: Floats, known: Floats, allowed: Bools) -> tuple[int, float]:
    """The arm to mix with another, and its share, for the lowest squared regret per information."""
    more, apart = regret - regret[one], known - known[one]
    product = more * apart
    at = (apart * regret[one] - 2 * more * known[one]) / np.where(product != 0, product, 1.0)
    at = np.where(product != 0, np.minimum(np.maximum(at, 0.0), 1.0), 0.0)
    some = (regret[one] + at * more) ** 2 / (known[one] + at * apart + 1e-300)
    every = regret**2 / (known + 1e-300)
    ratios = np.where(allowed, np.minimum(np.minimum(some, every), 1e300), np.inf)
    partner = int(np.argmin(ratios))
    if ratios[partner] >= every[one]:
        return one, 0.0
    return partner, float(at[partner]) if some[partner] <= every[partner] else 1.0


@compiled
def directed(regret: Floats, known: Floats, allowed: Bools) -> Floats:
    """(arms,): the mixture of two arms with the lowest squared regret per information."""
    ratios = np.minimum(regret**2 / (known + 1e-300), 1e300)
    one = int(np.argmin(np.where(allowed, ratios, np.inf)))
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

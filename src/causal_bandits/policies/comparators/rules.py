"""The next arm: one compiled function for all comparators, which the ask/tell classes and the rollouts share.

A number says which rule it is, since functions cannot be handed to compiled code that is kept on disk.
"""

import math

import numpy as np

from ...compiled import Floats, Ints, compiled
from .indices import (
    cell_bound,
    kl_ucb_index,
    scaled_ucb_index,
    through_cells,
    ucb1_index,
    ucb_tuned_index,
    ucb_v_index,
)
from .tally import FALLEN, HAC, LEADING, MIXING, PLANNED, ROWS, Tally

UCB1, UCB_V, UCB_TUNED, SCALED_UCB, KL_UCB, THOMPSON, GREEDY = range(7)
OBSERVING = 7
"""UCB1 that first observes often enough (Nair, Patil and Sinha 2021)."""
SAMPLING = 10
C_UCB, C_TS = 21, 22
TIE = 1e-12
"""Sums of the same terms differ in the last bits; arms this close are drawn from."""

__all__ = ["C_TS", "C_UCB", "GREEDY", "HAC", "KL_UCB", "MIXING", "OBSERVING", "SAMPLING", "SCALED_UCB", "THOMPSON"]
__all__ += ["UCB1", "UCB_TUNED", "UCB_V", "choose_tally", "choose_tally_many", "count_tally_wins"]


@compiled
def _planned(tally: Tally, rng: np.random.Generator) -> int:
    """One of the arms with planned pulls left, each equally likely."""
    best, ties = -1, 0
    for arm in range(len(tally.quota)):
        if tally.quota[arm] > 0:
            ties += 1
            if rng.random() * ties < 1:
                best = arm
    return best


@compiled
def _sampled(weights: Floats, rng: np.random.Generator) -> int:
    """An arm with these probabilities."""
    chance = rng.random() * weights.sum()
    for arm in range(len(weights)):
        chance -= weights[arm]
        if chance < 0 and weights[arm] > 0:
            return arm
    return int(np.argmax(weights))


@compiled
def _cells(tally: Tally, rng: np.random.Generator) -> Floats:
    """What each cell of Z is worth to the rule: an upper bound, or a draw."""
    values = np.empty(tally.chances.shape[1])
    for cell in range(len(values)):
        zeros, ones = tally.pooled[cell, 0], tally.pooled[cell, 1]
        if tally.rule == C_TS:
            values[cell] = rng.beta(1.0 + ones, 1.0 + zeros)
        else:  # ln(1 / delta) = 2 ln T: C-UCB sqrt(2 ln(1 / delta) / n), HAC-UCB sqrt(ln(1 / delta) / (2 n))
            values[cell] = cell_bound(zeros, ones, 4.0 if tally.rule == C_UCB else 1.0, tally.numbers[0])
    return values


@compiled
def _index(tally: Tally, arm: int, rng: np.random.Generator) -> float:
    """What an arm's own rewards say of it."""
    rule, t = tally.rule, tally.flags[ROWS]
    zeros, ones = tally.rewards[arm, 0], tally.rewards[arm, 1]
    n = zeros + ones
    if rule == THOMPSON:
        return float(rng.beta(1.0 + ones, 1.0 + zeros))
    if n == 0:
        return math.inf
    m = ones / n
    if rule == UCB_V:
        return ucb_v_index(m, n, t)
    if rule == UCB_TUNED:
        return ucb_tuned_index(m, n, t)
    if rule == SCALED_UCB:
        return scaled_ucb_index(m, n, tally.numbers[1], tally.numbers[0])
    if rule == HAC:
        return scaled_ucb_index(m, n, 1.0, tally.numbers[0])
    if rule == KL_UCB:
        return kl_ucb_index(m, n, t)
    return m if rule == GREEDY else ucb1_index(m, n, t)


@compiled
def _random_allowed(tally: Tally, rng: np.random.Generator) -> int:
    best, ties = -1, 0
    for arm in range(len(tally.allowed)):
        if tally.allowed[arm]:
            ties += 1
            if rng.random() * ties < 1:
                best = arm
    return best


@compiled
def _observation_is_due(tally: Tally) -> bool:
    """N_0 < beta^2 ln t, beta = min(2 sqrt(2) / (best mean - m_0), sqrt(ln t)), or 1 where do() looks best.

    Nair, Patil and Sinha 2021, the algorithm for graphs without back-doors; the number of do() is `numbers[0]`.
    """
    idle, t = int(tally.numbers[0]), tally.flags[ROWS]
    pulls = tally.seen[idle].sum()
    if t == 0 or pulls == 0:
        return True
    logarithm, mean, best = math.log(t), tally.rewards[idle, 1] / tally.rewards[idle].sum(), 0.0
    for arm in range(len(tally.rewards)):
        n = tally.rewards[arm, 0] + tally.rewards[arm, 1]
        if n:
            best = max(best, tally.rewards[arm, 1] / n)
    beta = min(2 * math.sqrt(2) / (best - mean), math.sqrt(logarithm)) if best > mean else 1.0
    return bool(pulls < beta * beta * logarithm)


@compiled
def choose_tally(tally: Tally, rng: np.random.Generator) -> int:
    """The next arm: planned pulls first, then the rule; ties are drawn.

    But through cells, where arms with the same p(z | a) are the same arm, the first of them stands for all.
    """
    if tally.flags[PLANNED] > 0:
        return _planned(tally, rng)
    if tally.rule == SAMPLING:
        return _sampled(tally.weights, rng)
    if tally.rule == MIXING:
        action = tally.flags[LEADING]
        return action if action < len(tally.allowed) else _sampled(tally.mixtures[action - len(tally.allowed)], rng)
    if tally.rule == OBSERVING and _observation_is_due(tally):
        return int(tally.numbers[0])
    if tally.rule == GREEDY and rng.random() * (tally.flags[ROWS] + 1) < tally.numbers[0] * len(tally.allowed):
        return _random_allowed(tally, rng)
    causal = tally.rule >= HAC and not tally.flags[FALLEN]
    values = _cells(tally, rng) if causal else np.empty(0)
    best, highest, ties = -1, -math.inf, 0
    for arm in range(len(tally.allowed)):
        if not tally.allowed[arm]:
            continue
        value = through_cells(tally.chances, arm, values) if causal else _index(tally, arm, rng)
        if value > highest + TIE:
            best, highest, ties = arm, value, 1
        elif value >= highest - TIE and not causal:
            ties += 1
            if rng.random() * ties < 1:
                best = arm
    return best


@compiled
def choose_tally_many(tally: Tally, rng: np.random.Generator, count: int) -> Ints:
    """Several arms from the same state."""
    arms = np.empty(count, dtype=np.int64)
    for place in range(count):
        arms[place] = choose_tally(tally, rng)
    return arms


@compiled
def count_tally_wins(tally: Tally, rng: np.random.Generator, draws: int) -> Ints:
    """How often each arm is the best of those allowed in draws from the posterior, of cells or of arms."""
    arms, cells = len(tally.allowed), tally.chances.shape[1]
    wins, values = np.zeros(arms, dtype=np.int64), np.empty(cells)
    for _ in range(draws):
        for cell in range(cells):
            values[cell] = rng.beta(1.0 + tally.pooled[cell, 1], 1.0 + tally.pooled[cell, 0])
        best, highest, ties = 0, -1.0, 0
        for arm in range(arms):
            if not tally.allowed[arm]:
                continue
            if cells and not tally.flags[FALLEN]:
                value = through_cells(tally.chances, arm, values)
            else:
                value = rng.beta(1.0 + tally.rewards[arm, 1], 1.0 + tally.rewards[arm, 0])
            if value > highest + TIE:
                best, highest, ties = arm, value, 1
            elif value >= highest - TIE:
                ties += 1
                if rng.random() * ties < 1:
                    best = arm
        wins[best] += 1
    return wins

"""Policies that see rewards alone: the UCB family, KL-UCB, epsilon-greedy and successive elimination."""

import math
from typing import ClassVar, NamedTuple

import numpy as np

from ...core.compiled import Floats, by_reference, compiled
from ...core.discovery.tiers import Tier
from ...core.policies.protocol import choose, indices
from ...core.problem import Problem
from ...core.seeds import Seed
from ...errors import whole_number
from .base import CountingPolicy, checked_number
from .counts import (
    Counts,
    any_of,
    arm_index,
    choose_highest,
    counted,
    draw_by_rewards,
    indices_of_arms,
    mean_and_rows,
    own_rows,
)

# The formulas, one compiled function each, under their papers' names:
# m = mean of an arm's n rewards (0 or 1), t = rows so far, T = horizon.


@compiled
def ucb1_index(m: float, n: int, t: int) -> float:
    """m + sqrt(2 ln t / n) (Auer, Cesa-Bianchi and Fischer 2002, Fig. 1)."""
    return m + math.sqrt(2 * math.log(t) / n)


@compiled
def ucb_v_index(m: float, n: int, t: int) -> float:
    """m + sqrt(2 v E / n) + 3 E / n, v = m (1 - m), E = ln t (Audibert, Munos, Szepesvari 2009: UCB-V, b = c = 1)."""
    exploration = math.log(t)
    return m + math.sqrt(2 * m * (1 - m) * exploration / n) + 3 * exploration / n


@compiled
def ucb_tuned_index(m: float, n: int, t: int) -> float:
    """m + sqrt((ln t / n) min(1/4, v + sqrt(2 ln t / n))) (Auer, Cesa-Bianchi and Fischer 2002, sec. 4)."""
    share = math.log(t) / n
    return m + math.sqrt(share * min(0.25, m * (1 - m) + math.sqrt(2 * share)))


@compiled
def scaled_ucb_index(m: float, n: int, constant: float, horizon: float) -> float:
    """m + sqrt(c ln T / n)."""
    return m + math.sqrt(constant * math.log(horizon) / n)


@compiled
def bernoulli_kl(p: float, q: float) -> float:
    """The divergence of Bernoulli(p) from Bernoulli(q)."""
    value = 0.0
    if p > 0:
        value += p * math.log(p / q)
    if p < 1:
        value += (1 - p) * math.log((1 - p) / (1 - q))
    return value


@compiled
def kl_upper_bound(m: float, level: float) -> float:
    """The largest q >= m with kl(m, q) <= level.

    Newton's method from the right of the root, where it falls monotonically since kl is convex in q. Two points lie
    there: Pinsker's m + sqrt(level / 2), and the q at which the part of zeros alone, plus m ln m, makes up the level.
    """
    if m >= 1:
        return 1.0
    inner = m * math.log(m) if m > 0 else 0.0
    q = min(m + math.sqrt(level / 2), 1 - (1 - m) * math.exp(-(level - inner) / (1 - m)))
    for _ in range(60):
        if q <= m or q >= 1:
            break
        step = (bernoulli_kl(m, q) - level) * q * (1 - q) / (q - m)
        q -= step
        if abs(step) <= 1e-14:
            break
    return min(max(q, m), 1.0)


@compiled
def kl_ucb_index(m: float, n: int, t: int) -> float:
    """max q with n kl(m, q) <= ln t + 3 ln ln t (Garivier and Cappe 2011: KL-UCB, c = 3)."""
    level = math.log(t)
    if level > 1:
        level += 3 * math.log(level)
    return kl_upper_bound(m, level / n)


@compiled
def cell_bound(zeros: int, ones: int, constant: float, horizon: float) -> float:
    """m_z + sqrt(c ln T / max(1, n_z)), m_z = 0 if nothing was seen."""
    n = zeros + ones
    return (ones / n if n else 0.0) + math.sqrt(constant * math.log(horizon) / max(1, n))


MEAN, UCB_1, UCB_V, UCB_TUNED, SCALED_UCB, KL_UCB, BETA_DRAW = range(7)


@counted
@by_reference
class IndexState(NamedTuple):
    """Counts, and what arms are compared by."""

    counts: Counts
    rule: int
    """One of the numbers above."""
    constant: float
    """The constant of `SCALED_UCB`."""
    horizon: float
    rate: float
    """How often any arm is played: with probability rate K / t."""


@arm_index.of(IndexState)
@compiled
def index_by_rule(state: IndexState, arm: int, rng: np.random.Generator) -> float:
    """The index of an arm; it comes first while it has no rows, unless it is drawn."""
    if state.rule == BETA_DRAW:
        return draw_by_rewards(state.counts, arm, rng)
    m, n = mean_and_rows(state.counts, arm)
    if n == 0:
        return math.inf
    t = state.counts.rows[0]
    if state.rule == UCB_1:
        return ucb1_index(m, n, t)
    if state.rule == UCB_V:
        return ucb_v_index(m, n, t)
    if state.rule == UCB_TUNED:
        return ucb_tuned_index(m, n, t)
    if state.rule == SCALED_UCB:
        return scaled_ucb_index(m, n, state.constant, state.horizon)
    if state.rule == KL_UCB:
        return kl_ucb_index(m, n, t)
    return m


@compiled
def explores(state: IndexState, rng: np.random.Generator) -> bool:
    """Whether this round is one of those that any arm may have."""
    return state.rate > 0 and bool(rng.random() * (state.counts.rows[0] + 1) < state.rate * len(state.counts.allowed))


@choose.of(IndexState)
@compiled
def choose_by_rule(state: IndexState, rng: np.random.Generator) -> int:
    """Any arm in some rounds of epsilon-greedy; else planned pulls, then the highest index."""
    if explores(state, rng):
        return any_of(state.counts.allowed, rng)
    return choose_highest(state, rng)


@indices.of(IndexState)
@compiled
def indices_by_rule(state: IndexState, rng: np.random.Generator) -> Floats:
    """The indices, unless any arm may have the round."""
    if explores(state, rng):
        return np.full(len(state.counts.allowed), np.nan)
    return indices_of_arms(state, rng)


class IndexPolicy(CountingPolicy):
    """A learner that compares arms by an index that sees their rewards alone."""

    tier = Tier.REWARDS
    rule: ClassVar[int]
    """The number of its index."""
    constant: float = 0.0
    horizon: int = 1
    rate: float = 0.0

    def _start(self, counts: Counts) -> IndexState:
        return IndexState(counts, self.rule, self.constant, float(self.horizon), self.rate)


class UCB1(IndexPolicy):
    """Each arm once, then the highest m + sqrt(2 ln t / n) (Auer, Cesa-Bianchi and Fischer 2002).

    >>> problem = Problem("Y", {"A": 2}, {"I": ["none", "on"]})
    >>> policy = UCB1(problem, seed=0)
    >>> policy.tell(problem.arm(I="on"), {"A": 1, "Y": 1})
    >>> policy.ask()  # the other arm has no rows yet
    do()
    """

    name = "ucb1"
    plays_highest = True
    rule = UCB_1


class UCBV(IndexPolicy):
    """The bound follows the variance of the rewards (Audibert, Munos and Szepesvari 2009)."""

    name = "ucb-v"
    plays_highest = True
    rule = UCB_V


class UCBTuned(IndexPolicy):
    """The bound follows an upper bound of the variance (Auer, Cesa-Bianchi and Fischer 2002, sec. 4)."""

    name = "ucb-tuned"
    plays_highest = True
    rule = UCB_TUNED


class SmallUCB(IndexPolicy):
    """m + sqrt(c ln T / n) with a small constant c: no guarantee, and hard to beat in practice.

    Args:
        horizon: Number of rounds that will be played.
        constant: The constant c of the bound.
    """

    name = "ucb-small"
    plays_highest = True
    rule = SCALED_UCB
    needs = ("horizon",)
    hints = "the horizon"

    def __init__(self, problem: Problem, *, horizon: int, constant: float = 0.1, seed: Seed = None) -> None:
        self.horizon, self.constant = whole_number("horizon", horizon, 2), checked_number("constant", constant)
        super().__init__(problem, seed=seed)


class KLUCB(IndexPolicy):
    """Each arm once, then the highest q with n kl(m, q) <= ln t + 3 ln ln t (Garivier and Cappe 2011).

    Deviation: ln t + 3 ln ln t falls below ln t, and then below 0, for t < 3; there ln t alone is used.
    """

    name = "kl-ucb"
    plays_highest = True
    rule = KL_UCB


class EpsilonGreedy(IndexPolicy):
    """With probability min(1, rate K / t) any arm, else the one with the highest mean; untried arms come first.

    Epsilon falls as in Auer, Cesa-Bianchi and Fischer (2002, Fig. 3).

    Args:
        rate: The paper's c / d^2, which it sets from the smallest gap between means; 1 assumes nothing.
    """

    name = "epsilon-greedy"
    rule = MEAN
    compares = "its mean"

    def __init__(self, problem: Problem, *, rate: float = 1.0, seed: Seed = None) -> None:
        self.rate = checked_number("rate", rate)
        super().__init__(problem, seed=seed)


class SuccessiveElimination(IndexPolicy):
    """Pull every remaining arm once more, then drop those whose mean is 2 alpha_n below the best.

    alpha_n = sqrt(ln(4 K n^2 / delta) / n) after n pulls of each: with probability 1 - delta the best arm stays
    (Even-Dar, Mannor and Mansour 2006, with unknown biases).

    Args:
        delta: Probability with which the best arm may be dropped.
    """

    name = "successive-elimination"
    rule = UCB_1

    def __init__(self, problem: Problem, *, delta: float = 0.1, seed: Seed = None) -> None:
        self.delta = checked_number("delta", delta, below=1)
        super().__init__(problem, seed=seed)

    def _start(self, counts: Counts) -> IndexState:
        return self._explore(super()._start(counts), counts.allowed)

    def _plan(self, state: IndexState) -> IndexState:
        left, pulls = state.counts.allowed, own_rows(state.counts)
        means = state.counts.rewards[:, 1] / pulls
        n = int(pulls[left].min())
        reach = 2 * math.sqrt(math.log(4 * len(pulls) * n * n / self.delta) / n)
        left &= means > means[left].max() - reach
        if np.count_nonzero(left) == 1:
            return self._settle(state, left)
        return self._explore(state, np.where(left, np.maximum(n + 1 - pulls, 0), 0))

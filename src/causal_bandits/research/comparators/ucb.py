"""Upper confidence bounds from rewards alone: UCB1, UCB-V, UCB-tuned, and UCB with a small constant."""

import math
from typing import Any, NamedTuple

import numpy as np

from ...core.compiled import by_reference, compiled
from ...core.discovery.tiers import Tier
from ...core.problem import Problem
from ...core.seeds import Seed
from .base import CountingPolicy, checked_horizon, checked_number
from .counts import Counts, arm_index, counted, mean_and_rows
from .indices import scaled_ucb_index, ucb1_index, ucb_tuned_index, ucb_v_index


@counted
@by_reference
class UCB1State(NamedTuple):
    """Counts are all it needs."""

    counts: Counts


@arm_index.of(UCB1State)
@compiled
def ucb1_of_arm(state: Any, arm: int, rng: np.random.Generator) -> float:
    """UCB1 of an arm; it comes first while it has no rows."""
    m, n = mean_and_rows(state.counts, arm)
    return ucb1_index(m, n, state.counts.rows[0]) if n else math.inf


class UCB1(CountingPolicy):
    """Each arm once, then the highest m + sqrt(2 ln t / n) (Auer, Cesa-Bianchi and Fischer 2002).

    Args:
        problem: What is played; its reward is 0 or 1.
        seed: Seed or Generator of its draws.

    >>> problem = Problem("Y", {"A": 2}, {"I": ["none", "on"]})
    >>> policy = UCB1(problem, seed=0)
    >>> policy.tell(problem.arm(I="on"), {"A": 1, "Y": 1})
    >>> policy.ask()  # the other arm has no rows yet
    do()
    """

    name = "ucb1"
    tier = Tier.REWARDS
    plays_highest = True
    state = UCB1State


@counted
@by_reference
class UCBVState(NamedTuple):
    """Counts are all it needs."""

    counts: Counts


@arm_index.of(UCBVState)
@compiled
def ucb_v_of_arm(state: UCBVState, arm: int, rng: np.random.Generator) -> float:
    """UCB-V of an arm; it comes first while it has no rows."""
    m, n = mean_and_rows(state.counts, arm)
    return ucb_v_index(m, n, state.counts.rows[0]) if n else math.inf


class UCBV(CountingPolicy):
    """The bound follows the variance of the rewards (Audibert, Munos and Szepesvari 2009).

    Args:
        problem: What is played; its reward is 0 or 1.
        seed: Seed or Generator of its draws.
    """

    name = "ucb-v"
    tier = Tier.REWARDS
    plays_highest = True
    state = UCBVState


@counted
@by_reference
class UCBTunedState(NamedTuple):
    """Counts are all it needs."""

    counts: Counts


@arm_index.of(UCBTunedState)
@compiled
def ucb_tuned_of_arm(state: UCBTunedState, arm: int, rng: np.random.Generator) -> float:
    """UCB-tuned of an arm; it comes first while it has no rows."""
    m, n = mean_and_rows(state.counts, arm)
    return ucb_tuned_index(m, n, state.counts.rows[0]) if n else math.inf


class UCBTuned(CountingPolicy):
    """The bound follows an upper bound of the variance (Auer, Cesa-Bianchi and Fischer 2002, sec. 4).

    Args:
        problem: What is played; its reward is 0 or 1.
        seed: Seed or Generator of its draws.
    """

    name = "ucb-tuned"
    tier = Tier.REWARDS
    plays_highest = True
    state = UCBTunedState


@counted
@by_reference
class ScaledUCBState(NamedTuple):
    """Counts, and the options of the bound."""

    counts: Counts
    horizon: float
    constant: float


@arm_index.of(ScaledUCBState)
@compiled
def scaled_ucb_of_arm(state: Any, arm: int, rng: np.random.Generator) -> float:
    """m + sqrt(c ln T / n); an arm comes first while it has no rows."""
    m, n = mean_and_rows(state.counts, arm)
    return scaled_ucb_index(m, n, state.constant, state.horizon) if n else math.inf


class SmallUCB(CountingPolicy):
    """m + sqrt(c ln T / n) with a small constant c: no guarantee, and hard to beat in practice.

    Args:
        problem: What is played; its reward is 0 or 1.
        horizon: Number of rounds that will be played.
        constant: The constant c of the bound.
        seed: Seed or Generator of its draws.
    """

    name = "ucb-small"
    tier = Tier.REWARDS
    plays_highest = True
    needs = ("horizon",)
    hints = "the horizon"

    def __init__(self, problem: Problem, *, horizon: int, constant: float = 0.1, seed: Seed = None) -> None:
        self.horizon, self.constant = checked_horizon(horizon), checked_number("constant", constant)
        self._options = {"horizon": self.horizon, "constant": self.constant}
        super().__init__(problem, seed=seed)

    def _start(self, counts: Counts) -> ScaledUCBState:
        return ScaledUCBState(counts, float(self.horizon), self.constant)

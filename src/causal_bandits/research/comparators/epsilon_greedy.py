"""Epsilon-greedy with a falling epsilon (Auer, Cesa-Bianchi and Fischer 2002, Fig. 3)."""

import math
from typing import NamedTuple

import numpy as np

from ...core.compiled import Floats, by_reference, compiled
from ...core.discovery.tiers import Tier
from ...core.policies.protocol import choose, indices
from ...core.problem import Problem
from ...core.seeds import Seed
from .base import CountingPolicy, checked_number
from .counts import Counts, any_of, arm_index, choose_highest, counted, indices_of_arms, mean_and_rows


@counted
@by_reference
class GreedyState(NamedTuple):
    """Counts, and how fast epsilon falls."""

    counts: Counts
    rate: float


@arm_index.of(GreedyState)
@compiled
def mean_of_arm(state: GreedyState, arm: int, rng: np.random.Generator) -> float:
    """The mean of an arm; it comes first while it has no rows."""
    m, n = mean_and_rows(state.counts, arm)
    return m if n else math.inf


@compiled
def explores(state: GreedyState, rng: np.random.Generator) -> bool:
    """Whether this round is one of those that any arm may have."""
    return bool(rng.random() * (state.counts.rows[0] + 1) < state.rate * len(state.counts.allowed))


@choose.of(GreedyState)
@compiled
def choose_greedily(state: GreedyState, rng: np.random.Generator) -> int:
    """Any arm, or the one with the highest mean."""
    if explores(state, rng):
        return any_of(state.counts.allowed, rng)
    return choose_highest(state, rng)


@indices.of(GreedyState)
@compiled
def greedy_indices(state: GreedyState, rng: np.random.Generator) -> Floats:
    """The means, unless any arm may have the round."""
    if explores(state, rng):
        return np.full(len(state.counts.allowed), np.nan)
    return indices_of_arms(state, rng)


class EpsilonGreedy(CountingPolicy):
    """With probability min(1, rate K / t) any arm, else the one with the highest mean; untried arms come first.

    Args:
        problem: What is played; its reward is 0 or 1.
        rate: The paper's c / d^2, which it sets from the smallest gap between means; 1 assumes nothing.
        seed: Seed or Generator of its draws.
    """

    name = "epsilon-greedy"
    tier = Tier.REWARDS
    compares = "its mean"

    def __init__(self, problem: Problem, *, rate: float = 1.0, seed: Seed = None) -> None:
        self.rate = checked_number("rate", rate)
        self._options = {"rate": self.rate}
        super().__init__(problem, seed=seed)

    def _start(self, counts: Counts) -> GreedyState:
        return GreedyState(counts, self.rate)

"""Successive elimination (Even-Dar, Mannor and Mansour 2006, with unknown biases)."""

import math

import numpy as np

from ...core.discovery.tiers import Tier
from ...core.problem import Problem
from ...core.seeds import Seed
from .base import CountingPolicy, checked_number
from .counts import Counts, own_rows
from .ucb import UCB1State


class SuccessiveElimination(CountingPolicy):
    """Pull every remaining arm once more, then drop those whose mean is 2 alpha_n below the best.

    alpha_n = sqrt(ln(4 K n^2 / delta) / n) after n pulls of each: with probability 1 - delta the best arm stays.

    Args:
        problem: What is played; its reward is 0 or 1.
        delta: Probability with which the best arm may be dropped.
        seed: Seed or Generator of its draws.
    """

    name = "successive-elimination"
    tier = Tier.REWARDS

    def __init__(self, problem: Problem, *, delta: float = 0.1, seed: Seed = None) -> None:
        self.delta = checked_number("delta", delta, below=1)
        self._options = {"delta": self.delta}
        super().__init__(problem, seed=seed)

    def _start(self, counts: Counts) -> UCB1State:
        return self._explore(UCB1State(counts), counts.allowed)

    def _plan(self, state: UCB1State) -> UCB1State:
        left, pulls = state.counts.allowed, own_rows(state.counts)
        means = state.counts.rewards[:, 1] / pulls
        n = int(pulls[left].min())
        reach = 2 * math.sqrt(math.log(4 * len(pulls) * n * n / self.delta) / n)
        left &= means > means[left].max() - reach
        if np.count_nonzero(left) == 1:
            return self._settle(state, left)
        return self._explore(state, np.where(left, np.maximum(n + 1 - pulls, 0), 0))

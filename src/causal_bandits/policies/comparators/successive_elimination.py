"""Successive elimination (Even-Dar, Mannor and Mansour 2006, with unknown biases)."""

import math

import numpy as np

from ...problem import Problem
from ...seeds import Seed
from ..tiers import Tier
from . import rules
from .base import TallyPolicy, checked_number
from .tally import Tally


class SuccessiveElimination(TallyPolicy):
    """Pull every remaining arm once more, then drop those whose mean is 2 alpha_n below the best.

    alpha_n = sqrt(ln(4 K n^2 / delta) / n) after n pulls of each: with probability 1 - delta the best arm stays.
    """

    name = "successive-elimination"
    tier = Tier.REWARDS
    rule = rules.UCB1

    def __init__(self, problem: Problem, *, delta: float = 0.1, seed: Seed = None) -> None:
        self.delta = checked_number("delta", delta, below=1)
        super().__init__(problem, seed=seed, options={"delta": self.delta})

    def _start(self, tally: Tally) -> Tally:
        return self._explore(tally, tally.allowed)

    def _plan(self, tally: Tally) -> Tally:
        pulls = tally.rewards.sum(axis=1)
        means = tally.rewards[:, 1] / pulls
        n = int(pulls[tally.allowed].min())
        reach = 2 * math.sqrt(math.log(4 * len(pulls) * n * n / self.delta) / n)
        best = means[tally.allowed].max()
        tally.allowed[:] &= means > best - reach
        if np.count_nonzero(tally.allowed) == 1:
            return self._settle(tally, tally.allowed)
        return self._explore(tally, np.where(tally.allowed, np.maximum(n + 1 - pulls, 0), 0))

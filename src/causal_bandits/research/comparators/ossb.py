"""OSSB (Combes, Magureanu and Proutiere 2017) given a separating set: it plays the allocation of Graves and Lai."""

import math
from collections.abc import Sequence
from typing import ClassVar

import numpy as np

from ...core.compiled import Floats, Ints
from ...core.discovery.tiers import Tier
from ...core.problem import Problem
from ...core.seeds import Seed
from ..limits import GAP, least_divergence
from .base import checked_number, set_names
from .baselines import UCB_1, IndexPolicy, IndexState
from .counts import Counts, own_rows

SMOOTHED = 0.5
"""Rows spread over the cells that were seen at all, added to each arm: every arm then reaches every cell."""
BLOCK = 0.05
"""Share of the rows so far that are planned at once."""


def allocation(seen: Ints) -> tuple[int, Floats]:
    """The best arm by the rows (arms, cells, 2), and the pulls per ln t that the program asks for of each other arm."""
    rows = seen.sum(axis=2)
    reached = rows.sum(axis=0) > 0
    chances = rows[:, reached] + SMOOTHED / np.count_nonzero(reached)
    chances /= chances.sum(axis=1, keepdims=True)
    pooled = seen.sum(axis=0)[reached]
    means = (pooled[:, 1] + SMOOTHED) / (pooled.sum(axis=1) + 2 * SMOOTHED)
    values = chances @ means
    best = int(values.argmax())
    least = least_divergence(chances, np.broadcast_to(means, chances.shape), float(values[best]))
    worse = values[best] - values > GAP
    return best, np.where(worse, 1 / np.where(least > 0, least, np.inf), 0.0)


def planned_pulls(own: Ints, best: int, wanted: Floats, epsilon: float) -> Ints:
    """The next pulls: what arms lack of `wanted` ln t or of a share of all exploration, else the best arm."""
    t = int(own.sum())
    explored = t - own[best]
    goal = np.maximum(wanted * math.log(t), epsilon * explored / len(own))
    lacking = np.ceil(np.maximum(goal - own, 0.0))
    lacking[best] = 0
    block = max(1, int(BLOCK * t))
    pulls = np.zeros(len(own), dtype=np.int64)
    if lacking.sum() == 0:
        pulls[best] = block
        return pulls
    shared = lacking * min(1.0, block / lacking.sum())
    pulls[:] = np.floor(shared)
    if pulls.sum() == 0:
        pulls[int(lacking.argmax())] = 1
    return pulls


class OSSB(IndexPolicy):
    """Pulls every arm as often as the lower bound C_S ln T requires under the current estimates, else the best arm.

    Deviation: P(Z | arm) is smoothed, so that the program has a closed form, and pulls are planned in blocks of 5%
    of the rows.

    Args:
        separating: Names of the variables of a set Z that separates the levers from the reward.
        epsilon: Every arm has at least this share of an equal part of all exploration.
        gamma: Pulls beyond what the program asks for, as a share of it.
    """

    name = "ossb"
    tier = Tier.SEPARATING_SET
    rule = UCB_1
    needs: ClassVar[tuple[str, ...]] = ("separating",)
    hints = "a separating set Z"
    plays_all_arms = True

    def __init__(
        self,
        problem: Problem,
        *,
        separating: Sequence[str],
        epsilon: float = 0.1,
        gamma: float = 0.1,
        seed: Seed = None,
    ) -> None:
        self.separating = set_names(separating)
        self.epsilon, self.gamma = checked_number("epsilon", epsilon, below=1), checked_number("gamma", gamma)
        super().__init__(problem, seed=seed)

    def _start(self, counts: Counts) -> IndexState:
        return self._explore(super()._start(counts), np.ones(len(counts.allowed)))

    def _plan(self, state: IndexState) -> IndexState:
        best, wanted = allocation(state.counts.seen)
        return self._explore(
            state, planned_pulls(own_rows(state.counts), best, (1 + self.gamma) * wanted, self.epsilon)
        )

"""KL-UCB for rewards of 0 and 1 (Garivier and Cappe 2011)."""

import math
from typing import NamedTuple

import numpy as np

from ...core.compiled import by_reference, compiled
from ...core.discovery.tiers import Tier
from .base import CountingPolicy
from .counts import Counts, arm_index, counted, mean_and_rows
from .indices import kl_ucb_index


@counted
@by_reference
class KLUCBState(NamedTuple):
    """Counts are all it needs."""

    counts: Counts


@arm_index.of(KLUCBState)
@compiled
def kl_ucb_of_arm(state: KLUCBState, arm: int, rng: np.random.Generator) -> float:
    """KL-UCB of an arm; it comes first while it has no rows."""
    m, n = mean_and_rows(state.counts, arm)
    return kl_ucb_index(m, n, state.counts.rows[0]) if n else math.inf


class KLUCB(CountingPolicy):
    """Each arm once, then the highest q with n kl(m, q) <= ln t + 3 ln ln t.

    Deviation: ln t + 3 ln ln t falls below ln t, and then below 0, for t < 3; there ln t alone is used.

    Args:
        problem: What is played; its reward is 0 or 1.
        seed: Seed or Generator of its draws.
    """

    name = "kl-ucb"
    tier = Tier.REWARDS
    plays_highest = True
    state = KLUCBState

"""KL-UCB for rewards of 0 and 1 (Garivier and Cappe 2011)."""

from ...problem import Problem
from ...seeds import Seed
from ..tiers import Tier
from . import rules
from .base import TallyPolicy


class KLUCB(TallyPolicy):
    """Each arm once, then the highest q with n kl(m, q) <= ln t + 3 ln ln t.

    Deviation: ln t + 3 ln ln t falls below ln t, and then below 0, for t < 3; there ln t alone is used.
    """

    name = "kl-ucb"
    tier = Tier.REWARDS
    rule = rules.KL_UCB

    def __init__(self, problem: Problem, *, seed: Seed = None) -> None:
        super().__init__(problem, seed=seed)

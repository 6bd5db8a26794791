"""Epsilon-greedy with a falling epsilon (Auer, Cesa-Bianchi and Fischer 2002, Fig. 3)."""

from ...problem import Problem
from ...seeds import Seed
from ..tiers import Tier
from . import rules
from .base import TallyPolicy, checked_number


class EpsilonGreedy(TallyPolicy):
    """With probability min(1, rate K / t) any arm, else the one with the highest mean; untried arms come first.

    `rate` is the paper's c / d^2, which it asks to be set from the smallest gap; 1 asks for nothing.
    """

    name = "epsilon-greedy"
    tier = Tier.REWARDS
    rule = rules.GREEDY

    def __init__(self, problem: Problem, *, rate: float = 1.0, seed: Seed = None) -> None:
        rate = checked_number("rate", rate)
        super().__init__(problem, seed=seed, numbers=(rate,), options={"rate": rate})

"""Upper confidence bounds from rewards alone: UCB1, UCB-V, UCB-tuned, and UCB with a small constant."""

from ...problem import Problem
from ...seeds import Seed
from ..tiers import Tier
from . import rules
from .base import TallyPolicy, checked_horizon, checked_number


class UCB1(TallyPolicy):
    """Each arm once, then the highest m + sqrt(2 ln t / n) (Auer, Cesa-Bianchi and Fischer 2002).

    >>> problem = Problem("Y", {"A": 2}, {"I": ["none", "on"]})
    >>> policy = UCB1(problem, seed=0)
    >>> policy.tell(problem.arm(I="on"), {"A": 1, "Y": 1})
    >>> policy.ask()  # the other arm has no rows yet
    do()
    """

    name = "ucb1"
    tier = Tier.REWARDS
    rule = rules.UCB1

    def __init__(self, problem: Problem, *, seed: Seed = None) -> None:
        super().__init__(problem, seed=seed)


class UCBV(TallyPolicy):
    """The bound follows the variance of the rewards (Audibert, Munos and Szepesvari 2009)."""

    name = "ucb-v"
    tier = Tier.REWARDS
    rule = rules.UCB_V

    def __init__(self, problem: Problem, *, seed: Seed = None) -> None:
        super().__init__(problem, seed=seed)


class UCBTuned(TallyPolicy):
    """The bound follows an upper bound of the variance (Auer, Cesa-Bianchi and Fischer 2002, sec. 4)."""

    name = "ucb-tuned"
    tier = Tier.REWARDS
    rule = rules.UCB_TUNED

    def __init__(self, problem: Problem, *, seed: Seed = None) -> None:
        super().__init__(problem, seed=seed)


class SmallUCB(TallyPolicy):
    """m + sqrt(c ln T / n) with a small constant c: no guarantee of its own, and hard to beat in practice."""

    name = "ucb-small"
    tier = Tier.REWARDS
    needs = ("horizon",)
    hints = "the horizon"
    rule = rules.SCALED_UCB

    def __init__(self, problem: Problem, *, horizon: int, constant: float = 0.1, seed: Seed = None) -> None:
        horizon, constant = checked_horizon(horizon), checked_number("constant", constant)
        options = {"horizon": horizon, "constant": constant}
        super().__init__(problem, seed=seed, numbers=(horizon, constant), options=options)

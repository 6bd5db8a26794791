"""C-UCB and C-TS (Lu, Meisami, Tewari and Yan 2020): rewards learnt per value of the parents, P(parents | arm) told."""

from collections.abc import Sequence

from numpy.typing import ArrayLike

from ...problem import Problem
from ...seeds import Seed
from ..tiers import Tier
from . import rules
from .base import TallyPolicy, checked_horizon, plain_chances, set_names


class CUCB(TallyPolicy):
    """The arm with the highest sum_z p(z | a) u_z, u_z = m_z + sqrt(2 ln(1 / delta) / max(1, n_z)), delta = 1 / T^2.

    `chances` is P(Z | arm) with an axis for the arm and one per variable of `separating`, in that order.

    >>> problem = Problem("Y", {"A": 2}, {"I": ["none", "on"]})
    >>> policy = CUCB(problem, separating=["A"], chances=[[0.9, 0.1], [0.2, 0.8]], horizon=100, seed=0)
    >>> policy.tell_many({"I": ["none"] * 9, "A": [0, 1, 0, 1, 0, 1, 0, 1, 1], "Y": [0, 1, 0, 1, 0, 1, 0, 1, 1]})
    >>> policy.ask()  # A = 1 pays, and `on` makes it likely, though `on` was never pulled
    do(I=on)
    """

    name = "c-ucb"
    tier = Tier.PARENTS
    needs = ("separating", "chances", "horizon")
    hints = "a separating set Z, P(Z | a), the horizon"
    rule = rules.C_UCB

    def __init__(
        self, problem: Problem, *, separating: Sequence[str], chances: ArrayLike, horizon: int, seed: Seed = None
    ) -> None:
        names, horizon = set_names(separating), checked_horizon(horizon)
        options = {"separating": list(names), "chances": plain_chances(chances), "horizon": horizon}
        super().__init__(problem, seed=seed, numbers=(horizon,), through=names, chances=chances, options=options)


class CTS(TallyPolicy):
    """The arm with the highest sum_z p(z | a) theta_z, theta_z drawn from Beta(1 + ones, 1 + zeros)."""

    name = "c-ts"
    tier = Tier.PARENTS
    needs = ("separating", "chances")
    hints = "a separating set Z, P(Z | a)"
    rule = rules.C_TS

    def __init__(self, problem: Problem, *, separating: Sequence[str], chances: ArrayLike, seed: Seed = None) -> None:
        names = set_names(separating)
        options = {"separating": list(names), "chances": plain_chances(chances)}
        super().__init__(problem, seed=seed, through=names, chances=chances, options=options)

"""UCB-Normal (Auer, Cesa-Bianchi and Fischer 2002) and Causal UCB-Normal (Algorithm 2 of the paper)."""

from typing import ClassVar

from ..discovery import Discovery, ResidualTesting
from ..discovery.tiers import Tier
from .real import RealPolicy


class UCBNormal(RealPolicy):
    """Each arm learns from its own rows: mean + 4 sqrt(V ln N), V the estimated variance of the mean.

    Deviation: Algorithm 2 prints 4 sqrt(V ln N / n) with V already the variance of the mean; `index="printed"` is that.
    Options are those of `RealPolicy`.

    >>> from causal_bandits import Problem
    >>> problem = Problem("Y", {"A": float}, {"I": ["none", "on"]}, reward=float)
    >>> policy = UCBNormal(problem, seed=0, initial=0)
    >>> policy.tell_many([{"I": "none", "A": 0.1, "Y": 1.0}, {"I": "none", "A": 0.3, "Y": 1.2}])
    >>> policy.ask()  # the other arm has no rows yet
    do(I=on)
    """

    name = "ucb-normal"
    tier = Tier.REWARDS
    thompson = False
    compares = "its upper confidence bound"


class CausalUCBNormal(RealPolicy):
    """UCB-Normal that discovers separating sets while it plays, and shares through linear regressions on them.

    Each arm uses the accepted set whose estimate has the lowest variance, or its own rows if their variance is lower.
    By default sets are found by `ResidualTesting()`; options are those of `RealPolicy`.

    >>> from causal_bandits import Problem
    >>> problem = Problem("Y", {"A": float}, {"I": ["none", "on"]}, reward=float)
    >>> policy = CausalUCBNormal(problem, seed=0, initial=0)
    >>> policy.tell_many([{"I": i, "A": a, "Y": a + a**2} for i in ("none", "on") for a in (0.0, 1.0, 2.5)])
    >>> [str(found) for found in policy.separating_sets()][-1]
    '{A} separates I'
    """

    name = "causal-ucb-normal"
    tier = Tier.OBSERVED
    evidence: ClassVar[Discovery | None] = ResidualTesting()
    thompson = False
    compares = "its upper confidence bound"

"""UCB-Normal (Auer, Cesa-Bianchi and Fischer 2002) and Causal UCB-Normal (Algorithm 2 of the paper)."""

from typing import ClassVar

from ..discovery import RealDiscovery, ResidualTesting
from ..discovery.tiers import Tier
from ..problem import Problem
from ..seeds import Seed
from .real import Index, RealPolicy


class UCBNormal(RealPolicy):
    """Each arm learns from its own rows: mean + 4 sqrt(V ln N), V the estimated variance of the mean.

    The first `initial` arms are chosen uniformly, as in the paper's experiment. Deviation: Algorithm 2 prints
    4 sqrt(V ln N / n) with V already the variance of the mean; `index="printed"` is that. Auer's forced plays (every
    arm at least 8 ln N times) are not in the paper: `forced_plays=True`.

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

    def __init__(
        self,
        problem: Problem,
        *,
        seed: Seed = None,
        initial: int = 50,
        index: Index = "auer",
        forced_plays: bool = False,
    ) -> None:
        super().__init__(problem, seed=seed, initial=initial, index=index, forced_plays=forced_plays)


class CausalUCBNormal(RealPolicy):
    """UCB-Normal that discovers separating sets while it plays, and shares through linear regressions on them.

    Per arm, the accepted set whose estimate has the lowest variance is used, or the arm's own rows if they do better.
    `variance` is how that is found: in closed form, or from `bootstraps` as the paper does. `choice` is
    explained in `CausalGaussianThompsonSampling`, the rest in `UCBNormal`.

    >>> problem = Problem("Y", {"A": float}, {"I": ["none", "on"]}, reward=float)
    >>> policy = CausalUCBNormal(problem, seed=0, initial=0)
    >>> policy.tell_many([{"I": i, "A": a, "Y": a + a**2} for i in ("none", "on") for a in (0.0, 1.0, 2.5)])
    >>> [str(found) for found in policy.separating_sets()][-1]
    '{A} separates I'
    """

    name = "causal-ucb-normal"
    tier = Tier.OBSERVED
    evidence: ClassVar[RealDiscovery | None] = ResidualTesting()
    thompson = False
    compares = "its upper confidence bound"

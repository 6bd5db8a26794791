"""UCB-Normal (Auer, Cesa-Bianchi and Fischer 2002) and Causal UCB-Normal (Algorithm 2 of the paper)."""

from typing import ClassVar

from ..discovery import Discovery, ResidualTesting
from ..discovery.tiers import Tier
from ..problem import Problem
from ..seeds import Seed
from .real import Index, RealPolicy


class UCBNormal(RealPolicy):
    """Each arm learns from its own rows: mean + 4 sqrt(V ln N), V the estimated variance of the mean.

    Deviation: Algorithm 2 prints 4 sqrt(V ln N / n) with V already the variance of the mean; `index="printed"` is that.

    Args:
        problem: The problem; its reward is real-valued.
        seed: Seed or Generator of its draws.
        initial: Number of first rounds in which arms are chosen uniformly, as in the paper's experiment.
        index: Auer's formula, or the one printed in Algorithm 2.
        forced_plays: Play every arm at least 8 ln N times, as Auer does and the paper does not.

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

    Each arm uses the accepted set whose estimate has the lowest variance, or its own rows if their variance is lower.

    Args:
        problem: The problem; its reward is real-valued.
        discovery: How separating sets are found; `ResidualTesting()` by default.
        max_size: Size of the largest sets; by default all sets, or as many as stay fast.
        index: As in `UCBNormal`.
        forced_plays: As in `UCBNormal`.
        seed: Seed or Generator of its draws.
        initial: As in `UCBNormal`.
        variance: Variances in closed form, or from bootstraps as in the paper. With few rows the two differ on the same
            data: by a factor of up to 1.7 with ten rows of every arm, of 1.2 with a hundred. On average they agree, and
            both are about 10% too small with ten rows (`python -m benchmarks.regression_variance`).
        bootstraps: Number of bootstrap samples for ``variance="bootstrap"``.

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

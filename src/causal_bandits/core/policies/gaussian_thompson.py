"""Thompson Sampling for real-valued rewards, and its causal twin: the natural step beyond the paper."""

from typing import ClassVar

from ..discovery import RealDiscovery, ResidualTesting
from ..discovery.tiers import Tier
from ..problem import Problem
from ..seeds import Seed
from .real import PRIOR_ROWS, Choice, RealPolicy, Variance, checked_prior


class GaussianThompsonSampling(RealPolicy):
    """Each arm learns from its own rows: normal-inverse-gamma, so a draw is a scaled t.

    An arm's variance starts from a few rows with the variance of all rewards: first rewards that are alike, such as
    zeros, are no certainty.

    Args:
        problem: What is played; its reward is real-valued.
        seed: Seed or Generator of its draws.
        initial: Number of first rounds in which arms are chosen uniformly.
        prior_rows: How many such rows; 0 is the reference prior, under which an arm may be left for good.

    >>> problem = Problem("Y", {"A": float}, {"I": ["none", "on"]}, reward=float)
    >>> GaussianThompsonSampling(problem, seed=0, initial=0).ask()
    do()
    """

    name = "gaussian-ts"
    tier = Tier.REWARDS
    thompson = True

    def __init__(
        self, problem: Problem, *, seed: Seed = None, initial: int = 50, prior_rows: float = PRIOR_ROWS
    ) -> None:
        self._prior_rows = checked_prior(prior_rows)
        super().__init__(problem, seed=seed, initial=initial)


class CausalGaussianThompsonSampling(RealPolicy):
    """Gaussian Thompson Sampling that draws through Bayesian regressions on the separating sets it discovers.

    Per arm, the accepted set whose estimate has the lowest variance is drawn through, or the arm's own rows. With
    ``choice="squared-error"`` it is the set with the lowest expected squared error, which counts what the set would be
    wrong by if it did not separate; it needs `BayesFactors`, and both together are `SafeGaussianThompson`.

    Args:
        problem: What is played; its reward is real-valued.
        discovery: How separating sets are found; `ResidualTesting()` by default.
        seed: Seed or Generator of its draws.
        max_size: Size of the largest sets to look at; by default all, or as many as stay fast.
        initial: Number of first rounds in which arms are chosen uniformly.
        variance: Variances in closed form, or from bootstraps as in the paper.
        bootstraps: Number of bootstrap samples for ``variance="bootstrap"``.
        choice: Use the set with the lowest variance, or with the lowest expected squared error.
        prior_rows: As in `GaussianThompsonSampling`.

    >>> problem = Problem("Y", {"A": float}, {"I": ["none", "on"]}, reward=float)
    >>> policy = CausalGaussianThompsonSampling(problem, seed=0, initial=0)
    >>> policy.tell_many([{"I": i, "A": a, "Y": a + a**2} for i in ("none", "on") for a in (0.0, 1.0, 2.5)])
    >>> policy.ask() in problem.arms
    True
    """

    name = "causal-gaussian-ts"
    tier = Tier.OBSERVED
    thompson = True
    evidence: ClassVar[RealDiscovery | None] = ResidualTesting()

    def __init__(
        self,
        problem: Problem,
        *,
        discovery: RealDiscovery | None = None,
        seed: Seed = None,
        max_size: int | None = None,
        initial: int = 50,
        variance: Variance = "closed-form",
        bootstraps: int = 50,
        choice: Choice = "variance",
        prior_rows: float = PRIOR_ROWS,
    ) -> None:
        self._prior_rows = checked_prior(prior_rows)
        super().__init__(
            problem,
            discovery=discovery,
            seed=seed,
            max_size=max_size,
            initial=initial,
            variance=variance,
            bootstraps=bootstraps,
            choice=choice,
        )

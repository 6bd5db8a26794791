"""Thompson Sampling for real-valued rewards, its causal twin, and the default where mediators are real numbers."""

from typing import ClassVar

from ..discovery import BayesFactors, Discovery, ResidualTesting
from ..discovery.tiers import Tier
from ..problem import Problem
from ..seeds import Seed
from .real import PRIOR_ROWS, RealPolicy, Variance, checked_prior


class GaussianThompsonSampling(RealPolicy):
    """Each arm learns from its own rows: normal-inverse-gamma, so a draw is a scaled t.

    An arm's variance starts from a few rows with the variance of all rewards, so that equal first rewards, such as
    zeros, do not look certain.

    Args:
        problem: The problem; its reward is real-valued.
        seed: Seed or Generator of its draws.
        initial: Number of first rounds in which arms are chosen uniformly.
        prior_rows: Number of such rows; 0 is the reference prior, under which an arm may never be played again.

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

    Per arm, the accepted set whose estimate has the lowest variance is drawn through, or the arm's own rows.

    Args:
        problem: The problem; its reward is real-valued.
        discovery: How separating sets are found; `ResidualTesting()` by default.
        seed: Seed or Generator of its draws.
        max_size: Size of the largest sets; by default all sets, or as many as stay fast.
        initial: Number of first rounds in which arms are chosen uniformly.
        variance: Variances in closed form, or from bootstraps as in the paper.
        bootstraps: Number of bootstrap samples for ``variance="bootstrap"``.
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
    evidence: ClassVar[Discovery | None] = ResidualTesting()

    def __init__(
        self,
        problem: Problem,
        *,
        discovery: Discovery | None = None,
        seed: Seed = None,
        max_size: int | None = None,
        initial: int = 50,
        variance: Variance = "closed-form",
        bootstraps: int = 50,
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
        )


class SafeGaussianThompson(CausalGaussianThompsonSampling):
    """Causal Gaussian Thompson Sampling that need not know whether any set separates: the one to start with.

    The default where the reward and some mediators are numbers. A set is used if the rows support it (`BayesFactors`,
    read ``either`` way). Each arm uses the set with the lowest expected squared error, or its own rows; the error
    includes the bias of a set that does not separate.

    Args:
        problem: The problem; its reward is real-valued.
        discovery: How evidence for sets is weighed; `BayesFactors(reading="either", veto=5)` by default.
        seed: Seed or Generator of its draws.
        max_size: As in `CausalGaussianThompsonSampling`, like all that follow.
        initial: Number of first rounds in which arms are chosen uniformly.
        variance: Variances in closed form, or from bootstraps.
        bootstraps: Number of bootstrap samples.
        prior_rows: As in `GaussianThompsonSampling`.

    >>> problem = Problem("Y", {"A": float}, {"I": ["none", "on"]}, reward=float)
    >>> policy = SafeGaussianThompson(problem, seed=0, initial=0)
    >>> values = [("none", a) for a in range(9)] + [("on", a) for a in range(5, 14)]
    >>> policy.tell_many([{"I": i, "A": float(a), "Y": a + a % 3} for i, a in values])
    >>> [str(found) for found in policy.separating_sets()]
    ['{A} separates I']
    """

    name = "causal-gaussian-ts-safe"
    evidence: ClassVar[Discovery | None] = BayesFactors(reading="either", veto=5.0)
    doubts = True

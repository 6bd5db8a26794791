"""Thompson Sampling for real-valued rewards, its causal twin, and the default where mediators are real numbers."""

from typing import ClassVar

from ..discovery import BayesFactors, Discovery, ResidualTesting
from ..discovery.tiers import Tier
from .real import RealPolicy


class GaussianThompsonSampling(RealPolicy):
    """Each arm learns from its own rows: normal-inverse-gamma, so a draw is a scaled t.

    An arm's variance starts from a few rows with the variance of all rewards, so that equal first rewards, such as
    zeros, do not look certain. Options are those of `RealPolicy`.

    >>> from causal_bandits import Problem
    >>> problem = Problem("Y", {"A": float}, {"I": ["none", "on"]}, reward=float)
    >>> GaussianThompsonSampling(problem, seed=0, initial=0).ask()
    do()
    """

    name = "gaussian-ts"
    tier = Tier.REWARDS
    thompson = True


class CausalGaussianThompsonSampling(RealPolicy):
    """Gaussian Thompson Sampling that draws through Bayesian regressions on the separating sets it discovers.

    Per arm, the accepted set whose estimate has the lowest variance is drawn through, or the arm's own rows. By default
    sets are found by `ResidualTesting()`; options are those of `RealPolicy`.

    >>> from causal_bandits import Problem
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


class SafeGaussianThompson(CausalGaussianThompsonSampling):
    """Causal Gaussian Thompson Sampling that need not know whether any set separates: the one to start with.

    The default where the reward and some mediators are numbers. A set is used if the rows support it (`BayesFactors`,
    read ``either`` way). Each arm uses the set with the lowest expected squared error, or its own rows; the error
    includes the bias of a set that does not separate.

    By default `discovery` is `BayesFactors(reading="either", veto=5)`; options are those of `RealPolicy`.

    >>> from causal_bandits import Problem
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

"""Real-valued policies that share less where sharing may be wrong: ours, beyond the paper."""

from typing import Any, ClassVar

from ..discovery import BayesFactors, RealDiscovery
from ..problem import Problem
from ..seeds import Seed
from .gaussian_thompson import CausalGaussianThompsonSampling
from .real import PRIOR_ROWS, RealPolicy
from .ucb_normal import CausalUCBNormal

EVIDENCE = BayesFactors(reading="either", veto=5.0)
OPTIONS = ("discovery", "max_size", "initial", "prior_rows")


class _Weighed(RealPolicy):
    """What both have in common: weighed evidence, and sets chosen by expected squared error."""

    evidence: ClassVar[RealDiscovery | None] = EVIDENCE

    def options(self) -> dict[str, Any]:
        """The options of this policy as plain values for JSON."""
        return {name: value for name, value in super().options().items() if name in OPTIONS}


class SafeGaussianThompson(_Weighed, CausalGaussianThompsonSampling):
    """Causal Gaussian Thompson Sampling for those who do not know whether any set separates: the one to start with.

    The default where the reward and some mediators are numbers. A set is used when the rows speak *for* it
    (`BayesFactors`, read ``either`` way), and per arm the set with the lowest expected squared error is taken, or the
    arm's own rows.

    Args:
        problem: What is played; its reward is real-valued.
        initial: Number of first rounds in which arms are chosen uniformly.
        max_size: Size of the largest sets to look at; by default all, or as many as stay fast.
        discovery: How evidence for sets is weighed; `BayesFactors(reading="either", veto=5)` by default.
        seed: Seed or Generator of its draws.
        prior_rows: As in `GaussianThompsonSampling`.

    >>> problem = Problem("Y", {"A": float}, {"I": ["none", "on"]}, reward=float)
    >>> policy = SafeGaussianThompson(problem, seed=0, initial=0)
    >>> values = [("none", a) for a in range(9)] + [("on", a) for a in range(5, 14)]
    >>> policy.tell_many([{"I": i, "A": float(a), "Y": a + a % 3} for i, a in values])
    >>> [str(found) for found in policy.separating_sets()]
    ['{A} separates I']
    """

    name = "causal-gaussian-ts-safe"

    def __init__(
        self,
        problem: Problem,
        *,
        prior_rows: float = PRIOR_ROWS,
        initial: int = 50,
        max_size: int | None = None,
        discovery: RealDiscovery | None = None,
        seed: Seed = None,
    ) -> None:
        options: dict[str, Any] = {"max_size": max_size, "initial": initial, "choice": "squared-error"}
        CausalGaussianThompsonSampling.__init__(
            self, problem, discovery=discovery, seed=seed, prior_rows=prior_rows, **options
        )


class SafeUCBNormal(_Weighed, CausalUCBNormal):
    """Causal UCB-Normal with the evidence and the choice of sets of `SafeGaussianThompson`.

    Args:
        problem: What is played; its reward is real-valued.
        initial: Number of first rounds in which arms are chosen uniformly.
        max_size: Size of the largest sets to look at; by default all, or as many as stay fast.
        discovery: How evidence for sets is weighed; `BayesFactors(reading="either", veto=5)` by default.
        seed: Seed or Generator of its draws.

    >>> problem = Problem("Y", {"A": float}, {"I": ["none", "on"]}, reward=float)
    >>> SafeUCBNormal(problem, seed=0, initial=0).ask()
    do()
    """

    name = "causal-ucb-normal-safe"

    def __init__(
        self,
        problem: Problem,
        *,
        seed: Seed = None,
        discovery: RealDiscovery | None = None,
        max_size: int | None = None,
        initial: int = 50,
    ) -> None:
        super().__init__(
            problem, initial=initial, max_size=max_size, discovery=discovery, seed=seed, choice="squared-error"
        )

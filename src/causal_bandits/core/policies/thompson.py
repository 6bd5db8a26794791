"""Naive Thompson Sampling (Thompson 1933): the baseline of the paper."""

from ..discovery.tiers import Tier
from ..problem import Problem
from ..seeds import Seed
from .discrete import DiscretePolicy


class ThompsonSampling(DiscretePolicy):
    """Each arm learns from its own rows: Beta(1 + ones, 1 + zeros), draw, take the highest.

    Args:
        problem: What is played.
        seed: Seed or Generator of its draws.

    >>> problem = Problem("Y", {"A": 2}, {"I": ["none", "on"]})
    >>> policy = ThompsonSampling(problem, seed=0)
    >>> policy.tell(problem.arm(I="on"), {"A": 1, "Y": 1})
    >>> policy.recommend().arm
    do(I=on)
    """

    name = "ts"
    tier = Tier.REWARDS

    def __init__(self, problem: Problem, *, seed: Seed = None) -> None:
        super().__init__(problem, seed=seed, max_size=0, samples=0)

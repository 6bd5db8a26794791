"""Top-two Thompson Sampling: for those who want an answer, not earnings."""

from typing import Any

import numpy as np

from ..compiled import Floats
from ..problem import Problem
from ..seeds import Seed
from .safe_thompson import ALIKE, GradedState, SafeThompsonSampling

SECOND = 0.5
"""The share of rounds that go to the challenger."""


class BestArmThompson(SafeThompsonSampling):
    """Find the best arm in few decisions: top-two Thompson Sampling (Russo 2016) by own rows.

    Half of the rounds go to the arm that is drawn as the best, the other half to its challenger, the arm whose own rows
    speak least against it (T3C of Shang, de Heide, Menard, Kaufmann and Valko 2020). So the arms that are hard to tell
    apart get most of the rows, and `advice`, which goes by own rows too, can stop soon. Estimates and recommendations
    are those of `SafeThompsonSampling`.

    Deviation: what speaks against a challenger is that it is better by more than 5 %, in the normal approximation, so
    that two arms that are alike do not take all rows.

    Args:
        problem: What is played; its reward is 0 or 1.
        max_size: Size of the largest sets to look at; by default all, or as many as stay fast.
        alike: As in `SafeThompsonSampling`.
        seed: Seed or Generator of its draws.

    >>> problem = Problem("purchase", {"clicked": 2}, {"banner": ["none", "red"]})
    >>> policy = BestArmThompson(problem, seed=0)
    >>> for arm in problem.arms:
    ...     policy.tell_many([{"clicked": 1, "purchase": int(bool(arm.active))}] * 40, arm=arm)
    >>> policy.ask(100).count(problem.arm()) > 30  # surely the worse one, and still a challenger
    True
    >>> policy.advice().action
    'stop'
    """

    name = "best-arm"

    def __init__(
        self, problem: Problem, *, max_size: int | None = None, alike: float = ALIKE, seed: Seed = None
    ) -> None:
        super().__init__(problem, max_size=max_size, alike=alike, average=False, seed=seed)

    def _empty(self) -> GradedState:
        return super()._empty()._replace(second=SECOND)

    def _indices(self, state: GradedState, rng: np.random.Generator) -> Floats | None:
        return None  # the challenger is not the arm with the highest draw

    @classmethod
    def _before(cls, problem: Problem) -> dict[str, Any]:
        return {name: value for name, value in super()._before(problem).items() if name != "average"}

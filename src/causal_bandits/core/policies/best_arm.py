"""Top-two Thompson Sampling: for those who want an answer, not earnings."""

from ...errors import ProblemError
from ..problem import Problem
from ..seeds import Seed
from .safe import SafePolicy, SafeState

SECOND = 0.5
"""The share of rounds that go to the challenger."""


class BestArmThompson(SafePolicy):
    """Finds the best arm in few decisions: top-two Thompson Sampling (Russo 2016) on own rows.

    Half of the rounds go to the arm that a draw ranks first, half to its challenger, the arm that its own rows rule out
    least (T3C of Shang, de Heide, Menard, Kaufmann and Valko 2020). The arms that are hard to tell apart get most of
    the rows, so `advice`, which also uses own rows, can stop soon. Estimates and recommendations are those of
    `SafePolicy`.

    Deviation: the evidence is against the challenger being better by more than 5%, in the normal approximation, so that
    two equal arms do not take all rows.

    Args:
        problem: The problem; its reward is 0 or 1.
        max_size: Size of the largest sets; by default all sets, or as many as stay fast.
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

    numbers = int
    exact_shares = False

    def __init__(self, problem: Problem, *, max_size: int | None = None, seed: Seed = None) -> None:
        if problem.reward_is_real:
            raise ProblemError(f"the reward {problem.target!r} is not 0 or 1; use SafePolicy")
        super().__init__(problem, max_size=max_size, seed=seed)

    def _empty(self) -> SafeState:
        return super()._empty()._replace(second=SECOND)

"""Presets: a policy by what you want of it, for every kind of reward."""

from typing import Any

from ..errors import OptionError, brief, listing
from ..problem import Problem, check_problem
from ..seeds import Seed
from .base import Policy
from .causal_thompson import CausalThompsonSampling
from .gaussian_thompson import GaussianThompsonSampling
from .known_policies import POLICIES
from .safe_gaussian import SafeGaussianThompson
from .safe_rewards import RewardThompson, SafeRewardThompson
from .safe_thompson import SafeThompsonSampling
from .thompson import ThompsonSampling
from .ucb_normal import CausalUCBNormal

PRESETS: dict[str, tuple[type[Policy[Any]], type[Policy[Any]], type[Policy[Any]]]] = {
    "safe": (SafeThompsonSampling, SafeRewardThompson, SafeGaussianThompson),
    "paper": (CausalThompsonSampling, CausalUCBNormal, CausalUCBNormal),
}
"""Per preset the policy for rewards of 0 or 1, for other rewards, and for numbers with real-valued mediators."""
PLAIN: tuple[type[Policy[Any]], ...] = (ThompsonSampling, RewardThompson, GaussianThompsonSampling)
"""Plain Thompson Sampling for the same: what the name "ts" means."""
DEFAULT = "safe"


def _kind(problem: Problem) -> int:
    """Which of the three a problem needs: regressions only where mediators are real numbers."""
    if not problem.reward_is_real:
        return 0
    return 2 if problem.reward.kind == "real" and any(variable.is_real for variable in problem.observed) else 1


def policy_class(name: object, problem: Problem) -> type[Policy[Any]]:
    """The class behind the name of a preset or of a policy.

    Args:
        name: Name of a preset or of a policy.
        problem: What is played; its reward decides between the policies of a preset, and which one is "ts".
    """
    if isinstance(name, str) and name in PRESETS:
        return PRESETS[name][_kind(problem)]
    if name == ThompsonSampling.name:
        return PLAIN[_kind(problem)]
    if isinstance(name, str) and name in POLICIES:
        return POLICIES[name]
    raise OptionError(
        f"policy={brief(name)}; expected a policy of this problem, or one of {listing([*PRESETS, *POLICIES])}"
    )


def preset(name: str, problem: Problem, *, seed: Seed = None) -> Policy[Any]:
    """Create a policy: ``"safe"`` is the one to start with, ``"paper"`` the one of the paper.

    Args:
        name: ``"safe"`` or ``"paper"``.
        problem: What is played; its reward decides which policy it is.
        seed: Seed or Generator of its draws.

    >>> problem = Problem("purchase", {"clicked": 2}, {"banner": ["none", "red"]})
    >>> preset("safe", problem).name, preset("paper", problem).name
    ('safe-ts', 'causal-ts')
    >>> preset("safe", Problem("spend", {"clicked": 2}, {"banner": 2}, reward="revenue")).name
    'safe-reward-ts'
    """
    if not isinstance(name, str) or name not in PRESETS:
        raise OptionError(f"preset({brief(name)}): expected one of {listing(PRESETS)}")
    check_problem(problem)
    chosen: Any = policy_class(name, problem)
    made: Policy[Any] = chosen(problem, seed=seed)
    return made

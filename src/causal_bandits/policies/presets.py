"""Presets: a policy by what you want of it, for rewards of 0 or 1 and for real-valued ones."""

from typing import Any

from ..errors import OptionError, brief, listing
from ..problem import Problem, check_problem
from ..seeds import Seed
from .base import Policy
from .causal_thompson import CausalThompsonSampling
from .known_policies import POLICIES
from .safe_gaussian import SafeGaussianThompson
from .safe_thompson import SafeThompsonSampling
from .ucb_normal import CausalUCBNormal

PRESETS: dict[str, tuple[type[Policy[Any]], type[Policy[Any]]]] = {
    "safe": (SafeThompsonSampling, SafeGaussianThompson),
    "paper": (CausalThompsonSampling, CausalUCBNormal),
}
"""Per preset the policy for rewards of 0 or 1, and the one for real-valued rewards."""
DEFAULT = "safe"


def policy_class(name: object, problem: Problem) -> type[Policy[Any]]:
    """The class behind the name of a preset or of a policy.

    Args:
        name: Name of a preset or of a policy.
        problem: What is played; whether its reward is real-valued decides between the policies of a preset.
    """
    if isinstance(name, str) and name in PRESETS:
        return PRESETS[name][problem.reward_is_real]
    if isinstance(name, str) and name in POLICIES:
        return POLICIES[name]
    raise OptionError(
        f"policy={brief(name)}; expected a policy of this problem, or one of {listing([*PRESETS, *POLICIES])}"
    )


def preset(name: str, problem: Problem, *, seed: Seed = None) -> Policy[Any]:
    """Create a policy: ``"safe"`` is the one to start with, ``"paper"`` the one of the paper.

    Args:
        name: ``"safe"`` or ``"paper"``.
        problem: What is played; whether its reward is real-valued decides which policy it is.
        seed: Seed or Generator of its draws.

    >>> problem = Problem("purchase", {"clicked": 2}, {"banner": ["none", "red"]})
    >>> preset("safe", problem).name, preset("paper", problem).name
    ('safe-ts', 'causal-ts')
    """
    if not isinstance(name, str) or name not in PRESETS:
        raise OptionError(f"preset({brief(name)}): expected one of {listing(PRESETS)}")
    check_problem(problem)
    chosen: Any = policy_class(name, problem)
    made: Policy[Any] = chosen(problem, seed=seed)
    return made

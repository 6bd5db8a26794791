"""Presets: a policy by what you want of it, for every kind of reward."""

import inspect
import os
from typing import Any

from ...errors import OptionError, brief, listing
from ..files import file_path
from ..problem import Problem, check_problem
from ..seeds import Seed
from .base import Policy
from .causal_thompson import CausalThompsonSampling
from .discrete import ThompsonSampling
from .gaussian_thompson import GaussianThompsonSampling, SafeGaussianThompson
from .registry import POLICIES
from .reward_thompson import RewardThompson
from .safe import SafePolicy
from .saving import load
from .ucb_normal import CausalUCBNormal

PRESETS: dict[str, tuple[type[Policy[Any]], type[Policy[Any]], type[Policy[Any]]]] = {
    "safe": (SafePolicy, SafePolicy, SafeGaussianThompson),
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
        problem: The problem; the kind of its reward determines the policy of a preset, and of "ts".
    """
    if isinstance(name, str) and name in PRESETS:
        return PRESETS[name][_kind(problem)]
    if isinstance(name, str) and name == ThompsonSampling.name:
        return PLAIN[_kind(problem)]
    if isinstance(name, str) and name in POLICIES:
        found: type[Policy[Any]] = POLICIES[name]
        return found
    first = listing(list(dict.fromkeys([*PRESETS, *POLICIES]))[:6])
    raise OptionError(f"policy={brief(name)}; expected a policy of this problem, or one of {first}, ...")


def preset(name: str, problem: Problem, *, seed: Seed = None) -> Policy[Any]:
    """Create a policy by name: ``"safe"`` is the default, ``"paper"`` the paper's algorithm.

    Args:
        name: ``"safe"``, ``"paper"``, or the name of any policy that needs no further options, such as ``"ts"``.
        problem: The problem; the kind of its reward determines the policy.
        seed: Seed or Generator of its draws.

    >>> problem = Problem("purchase", {"clicked": 2}, {"banner": ["none", "red"]})
    >>> [preset(name, problem).name for name in ("safe", "paper", "ts")]
    ['safe', 'causal-ts', 'ts']
    >>> preset("safe", Problem("spend", {"clicked": 2}, {"banner": 2}, reward="revenue")).name
    'safe'
    """
    check_problem(problem)
    chosen: Any = policy_class(name, problem)
    required = [each for each in inspect.signature(chosen).parameters.values() if each.default is each.empty]
    absent = [each.name for each in required if each.name != "problem"]
    if absent:
        raise OptionError(
            f"policy {chosen.name!r} requires {listing(absent)}; create it by its class, policies.{chosen.__name__}"
        )
    made: Policy[Any] = chosen(problem, seed=seed)
    return made


def load_policy(path: str | os.PathLike[str]) -> Policy[Any]:
    """Load a policy of any class from a save file.

    Args:
        path: File written by `policy.save`.
    """
    found: Policy[Any] = load(file_path(path))
    return found

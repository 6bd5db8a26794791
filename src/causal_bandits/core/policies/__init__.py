"""Learners with `ask` and `tell`: for discrete and for real-valued problems, each plain and causal.

A policy is one file: a class that has a `name` is registered, exported from here, listed and put to the contract.
"""

from typing import TYPE_CHECKING, Any

from ..discovery.tiers import TARGETS, Tier
from .advice import Advice
from .base import Pending, Policy, Variant
from .best_arm import BestArmThompson
from .causal_thompson import CausalThompsonSampling
from .discrete import DiscretePolicy, ThompsonSampling
from .estimates import ArmEstimate, Estimates, Lift
from .gaussian_thompson import CausalGaussianThompsonSampling, GaussianThompsonSampling, SafeGaussianThompson
from .lifts import Effects, LevelEffect
from .posterior import Posterior, Source
from .presets import DEFAULT, PRESETS, load_policy, policy_class, preset
from .protocol import choose, expect, indices, learn, record_reward
from .real import RealPolicy
from .recommendation import Recommendation, Recommendations
from .registry import POLICIES, find_policies
from .reward_thompson import RewardThompson
from .safe import SafePolicy
from .ucb_normal import CausalUCBNormal, UCBNormal

__all__ = [
    "DEFAULT",
    "POLICIES",
    "PRESETS",
    "TARGETS",
    "Advice",
    "ArmEstimate",
    "BestArmThompson",
    "CausalGaussianThompsonSampling",
    "CausalThompsonSampling",
    "CausalUCBNormal",
    "DiscretePolicy",
    "Effects",
    "Estimates",
    "GaussianThompsonSampling",
    "LevelEffect",
    "Lift",
    "Pending",
    "Policy",
    "Posterior",
    "RealPolicy",
    "Recommendation",
    "Recommendations",
    "RewardThompson",
    "SafeGaussianThompson",
    "SafePolicy",
    "Source",
    "ThompsonSampling",
    "Tier",
    "UCBNormal",
    "Variant",
    "choose",
    "expect",
    "indices",
    "learn",
    "load_policy",
    "policy_class",
    "preset",
    "record_reward",
]

find_policies(__path__, __name__)

if not TYPE_CHECKING:

    def __getattr__(name: str) -> Any:
        """Policies that were named elsewhere, or in a file that nobody listed above."""
        for policy in POLICIES.values():
            if policy.__name__ == name:
                return policy
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")

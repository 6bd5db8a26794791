"""Learners with `ask` and `tell`: for discrete and for real-valued problems, each plain and causal.

A policy is one file: a class that has a `name` is registered, exported from here, listed and put to the contract.
"""

from typing import TYPE_CHECKING, Any

from ..discovery.tiers import TARGETS, Tier
from ..errors import moved
from .advice import Advice
from .base import POLICIES, Pending, Policy, Variant
from .best_arm import BestArmThompson
from .causal_thompson import CausalThompsonSampling
from .comparators.back_door import BackDoorBandit
from .comparators.base import CountingPolicy
from .comparators.elahi import PartialDiscovery
from .comparators.epsilon_greedy import EpsilonGreedy
from .comparators.galcb import LinearCausalBandit
from .comparators.graph_posterior import GraphPosteriorThompson
from .comparators.hac_ucb import HACUCB
from .comparators.kl_ucb import KLUCB
from .comparators.lattimore import LattimoreGeneral, LattimoreParallel
from .comparators.lu_tree import LuTree
from .comparators.main_effects import MainEffectsThompson
from .comparators.maiti import MaitiObserving
from .comparators.nair import NairObserving
from .comparators.pomis import PomisKLUCB, PomisTS
from .comparators.post_action import PostActionNonSeparator, PostActionSeparator
from .comparators.raps import RapsUCB
from .comparators.reward_thompson import RewardThompson
from .comparators.sen import SenPhases
from .comparators.successive_elimination import SuccessiveElimination
from .comparators.told_set import CTS, CUCB
from .comparators.ucb import UCB1, UCBV, SmallUCB, UCBTuned
from .comparators.ucb_plus import UCBPlus
from .comparators.ucb_plus_unknown import UnknownUCBPlus
from .comparators.yabe import YabePropagating
from .discrete import DiscretePolicy
from .estimates import ArmEstimate, Estimates, Lift
from .gaussian_thompson import CausalGaussianThompsonSampling, GaussianThompsonSampling
from .known_policies import find_policies, load_policy
from .lifts import Effects, LevelEffect
from .posterior import Posterior, Source
from .presets import DEFAULT, PRESETS, policy_class, preset
from .protocol import choose, expect, indices, learn, settle
from .real import RealPolicy
from .recommendation import Recommendation, Recommendations
from .safe import SafePolicy
from .safe_gaussian import SafeGaussianThompson, SafeUCBNormal
from .thompson import ThompsonSampling
from .ucb_normal import CausalUCBNormal, UCBNormal

__all__ = [
    "CTS",
    "CUCB",
    "DEFAULT",
    "HACUCB",
    "KLUCB",
    "POLICIES",
    "PRESETS",
    "TARGETS",
    "UCB1",
    "UCBV",
    "Advice",
    "ArmEstimate",
    "BackDoorBandit",
    "BestArmThompson",
    "CausalGaussianThompsonSampling",
    "CausalThompsonSampling",
    "CausalUCBNormal",
    "CountingPolicy",
    "DiscretePolicy",
    "Effects",
    "EpsilonGreedy",
    "Estimates",
    "GaussianThompsonSampling",
    "GraphPosteriorThompson",
    "LattimoreGeneral",
    "LattimoreParallel",
    "LevelEffect",
    "Lift",
    "LinearCausalBandit",
    "LuTree",
    "MainEffectsThompson",
    "MaitiObserving",
    "NairObserving",
    "PartialDiscovery",
    "Pending",
    "Policy",
    "PomisKLUCB",
    "PomisTS",
    "PostActionNonSeparator",
    "PostActionSeparator",
    "Posterior",
    "RapsUCB",
    "RealPolicy",
    "Recommendation",
    "Recommendations",
    "RewardThompson",
    "SafeGaussianThompson",
    "SafePolicy",
    "SafeUCBNormal",
    "SenPhases",
    "SmallUCB",
    "Source",
    "SuccessiveElimination",
    "ThompsonSampling",
    "Tier",
    "UCBNormal",
    "UCBPlus",
    "UCBTuned",
    "UnknownUCBPlus",
    "Variant",
    "YabePropagating",
    "choose",
    "expect",
    "indices",
    "learn",
    "load_policy",
    "policy_class",
    "preset",
    "settle",
]

find_policies(__path__, __name__)

if not TYPE_CHECKING:

    def __getattr__(name: str) -> Any:
        """Policies that were named elsewhere, or in a file that nobody listed above."""
        for policy in POLICIES.values():
            if policy.__name__ == name:
                return policy
        if name == "TallyPolicy":
            raise moved(f"{__name__}.{name}", f"{__name__}.CountingPolicy")
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")

"""Learners that ask and are told: for discrete and for real-valued problems, each plain and causal."""

from .base import Policy
from .causal_thompson import CausalThompsonSampling
from .comparators import (
    CTS,
    CUCB,
    HACUCB,
    KLUCB,
    UCB1,
    UCBV,
    EpsilonGreedy,
    LattimoreGeneral,
    LattimoreParallel,
    LuTree,
    MaitiObserving,
    NairObserving,
    PomisKLUCB,
    PomisTS,
    RapsUCB,
    SenPhases,
    SmallUCB,
    SuccessiveElimination,
    Tally,
    TallyPolicy,
    UCBPlus,
    UCBTuned,
    UnknownUCBPlus,
    YabePropagating,
    choose_tally,
    learn_tally,
)
from .discrete import DiscretePolicy
from .estimates import ArmEstimate, Estimates, Recommendation
from .gaussian_thompson import CausalGaussianThompsonSampling, GaussianThompsonSampling
from .graph_posterior import GraphPosteriorThompson
from .graph_rules import GraphState, choose_by_graph, learn_graph_row
from .presets import DEFAULT, PRESETS, policy_class, preset
from .real import RealPolicy
from .real_rules import RealState, choose_real, learn_real_row
from .registry import POLICIES, load_policy
from .rules import ThompsonState, choose
from .safe_gaussian import SafeGaussianThompson, SafeUCBNormal
from .safe_thompson import SafeThompsonSampling
from .thompson import ThompsonSampling
from .tiers import TARGETS, Tier
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
    "ArmEstimate",
    "CausalGaussianThompsonSampling",
    "CausalThompsonSampling",
    "CausalUCBNormal",
    "DiscretePolicy",
    "EpsilonGreedy",
    "Estimates",
    "GaussianThompsonSampling",
    "GraphPosteriorThompson",
    "GraphState",
    "LattimoreGeneral",
    "LattimoreParallel",
    "LuTree",
    "MaitiObserving",
    "NairObserving",
    "Policy",
    "PomisKLUCB",
    "PomisTS",
    "RapsUCB",
    "RealPolicy",
    "RealState",
    "Recommendation",
    "SafeGaussianThompson",
    "SafeThompsonSampling",
    "SafeUCBNormal",
    "SenPhases",
    "SmallUCB",
    "SuccessiveElimination",
    "Tally",
    "TallyPolicy",
    "ThompsonSampling",
    "ThompsonState",
    "Tier",
    "UCBNormal",
    "UCBPlus",
    "UCBTuned",
    "UnknownUCBPlus",
    "YabePropagating",
    "choose",
    "choose_by_graph",
    "choose_real",
    "choose_tally",
    "learn_graph_row",
    "learn_real_row",
    "learn_tally",
    "load_policy",
    "policy_class",
    "preset",
]

"""Learners that ask and are told: for discrete and for real-valued problems, each plain and causal."""

from .base import Policy, Recommendation
from .causal_thompson import CausalThompsonSampling
from .discrete import DiscretePolicy
from .estimates import ArmEstimate, Estimates
from .gaussian_thompson import CausalGaussianThompsonSampling, GaussianThompsonSampling
from .real import RealPolicy
from .real_rules import RealState, choose_real, learn_real_row
from .registry import POLICIES, load_policy
from .rules import ThompsonState, choose
from .thompson import ThompsonSampling
from .ucb_normal import CausalUCBNormal, UCBNormal

__all__ = [
    "POLICIES",
    "ArmEstimate",
    "CausalGaussianThompsonSampling",
    "CausalThompsonSampling",
    "CausalUCBNormal",
    "DiscretePolicy",
    "Estimates",
    "GaussianThompsonSampling",
    "Policy",
    "RealPolicy",
    "RealState",
    "Recommendation",
    "ThompsonSampling",
    "ThompsonState",
    "UCBNormal",
    "choose",
    "choose_real",
    "learn_real_row",
    "load_policy",
]

"""Learners that ask and are told: naive and causal Thompson Sampling."""

from .base import DiscretePolicy, Recommendation
from .causal_thompson import CausalThompsonSampling
from .estimates import ArmEstimate, Estimates
from .registry import POLICIES, load_policy
from .rules import ThompsonState, choose
from .thompson import ThompsonSampling

__all__ = [
    "POLICIES",
    "ArmEstimate",
    "CausalThompsonSampling",
    "DiscretePolicy",
    "Estimates",
    "Recommendation",
    "ThompsonSampling",
    "ThompsonState",
    "choose",
    "load_policy",
]

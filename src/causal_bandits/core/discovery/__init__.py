"""Finding separating sets: tests, Bayes factors, causal discovery, or known sets. All return `Findings`."""

from .asd import ASD, DiscoveredGraphs, discover
from .base import (
    Discovery,
    Evidence,
    Findings,
    SeparatingSet,
    SeparatingSets,
    check_alpha,
    check_discovery,
)
from .bayes import BayesFactors
from .declared import DISCOVERIES, Declared, discovery_from_dict, find_discoveries
from .direct import DirectTesting
from .known import KnownSets
from .mean_testing import MeanTesting
from .residual import ResidualTesting
from .tiers import TARGETS, Tier

__all__ = [
    "ASD",
    "DISCOVERIES",
    "TARGETS",
    "BayesFactors",
    "Declared",
    "DirectTesting",
    "DiscoveredGraphs",
    "Discovery",
    "Evidence",
    "Findings",
    "KnownSets",
    "MeanTesting",
    "ResidualTesting",
    "SeparatingSet",
    "SeparatingSets",
    "Tier",
    "check_alpha",
    "check_discovery",
    "discover",
    "discovery_from_dict",
]

find_discoveries(__path__, __name__)

"""Finding separating sets: tests, Bayes factors, causal discovery, or known sets. All return `Findings`."""

from .asd import ASD, DiscoveredGraphs, discover
from .base import (
    Declared,
    Discovery,
    Findings,
    RealDiscovery,
    SeparatingSet,
    SeparatingSets,
    check_alpha,
    check_discovery,
)
from .bayes import BayesFactors
from .direct import DirectTesting
from .grounds import ByTests, Confidences, Evidence, Grounds, Told, Weighed
from .known import KnownSets
from .refresh import next_refresh
from .registry import DISCOVERIES, discovery_from_dict
from .residual import ResidualTesting
from .tiers import TARGETS, Tier

__all__ = [
    "ASD",
    "DISCOVERIES",
    "TARGETS",
    "BayesFactors",
    "ByTests",
    "Confidences",
    "Declared",
    "DirectTesting",
    "DiscoveredGraphs",
    "Discovery",
    "Evidence",
    "Findings",
    "Grounds",
    "KnownSets",
    "RealDiscovery",
    "ResidualTesting",
    "SeparatingSet",
    "SeparatingSets",
    "Tier",
    "Told",
    "Weighed",
    "check_alpha",
    "check_discovery",
    "discover",
    "discovery_from_dict",
    "next_refresh",
]

"""Finding separating sets: tests, Bayes factors, causal discovery, or known sets. All return `Findings`."""

from .asd import ASD, DiscoveredGraphs, discover
from .base import (
    Discovery,
    Findings,
    RealDiscovery,
    SeparatingSet,
    SeparatingSets,
    check_alpha,
    check_discovery,
)
from .bayes import BayesFactors
from .declared import DISCOVERIES, Declared, discovery_from_dict, find_discoveries
from .direct import DirectTesting
from .grounds import ByTests, Confidences, Degrees, Evidence, Grounds, Told, Weighed
from .known import KnownSets
from .mean_testing import MeanTesting
from .refresh import GROWTH, next_refresh
from .residual import ResidualTesting
from .tiers import TARGETS, Tier

__all__ = [
    "ASD",
    "DISCOVERIES",
    "GROWTH",
    "TARGETS",
    "BayesFactors",
    "ByTests",
    "Confidences",
    "Declared",
    "Degrees",
    "DirectTesting",
    "DiscoveredGraphs",
    "Discovery",
    "Evidence",
    "Findings",
    "Grounds",
    "KnownSets",
    "MeanTesting",
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

find_discoveries(__path__, __name__)

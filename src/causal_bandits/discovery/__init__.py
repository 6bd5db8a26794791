"""Finding separating sets: tests, Bayes factors, causal discovery, or told. All answer with `Findings`."""

from .asd import ASD, DiscoveredGraphs, discover
from .base import Discovery, Evidence, Findings, RealDiscovery, SeparatingSet
from .bayes import BayesFactors
from .direct import DirectTesting
from .known import KnownSets
from .refresh import next_refresh
from .registry import DISCOVERIES, discovery_from_dict
from .residual import ResidualTesting

__all__ = [
    "ASD",
    "DISCOVERIES",
    "BayesFactors",
    "DirectTesting",
    "DiscoveredGraphs",
    "Discovery",
    "Evidence",
    "Findings",
    "KnownSets",
    "RealDiscovery",
    "ResidualTesting",
    "SeparatingSet",
    "discover",
    "discovery_from_dict",
    "next_refresh",
]

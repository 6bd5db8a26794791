"""Finding separating sets: tests, Bayes factors, causal discovery, or known sets. All return `Findings`."""

import importlib
import pkgutil

from .asd import ASD, DiscoveredGraphs, discover
from .base import (
    DISCOVERIES,
    Discovery,
    Evidence,
    Findings,
    SeparatingSet,
    SeparatingSets,
    check_alpha,
    discovery_from_dict,
)
from .bayes import BayesFactors
from .direct import DirectTesting
from .known import KnownSets
from .residual import ResidualTesting
from .tiers import TARGETS, Tier

__all__ = [
    "ASD",
    "DISCOVERIES",
    "TARGETS",
    "BayesFactors",
    "DirectTesting",
    "DiscoveredGraphs",
    "Discovery",
    "Evidence",
    "Findings",
    "KnownSets",
    "ResidualTesting",
    "SeparatingSet",
    "SeparatingSets",
    "Tier",
    "check_alpha",
    "discover",
    "discovery_from_dict",
]

for _module in pkgutil.iter_modules(__path__, f"{__name__}."):
    importlib.import_module(_module.name)

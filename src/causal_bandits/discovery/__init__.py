"""Finding separating sets: by direct testing, or told beforehand. All answer with `Findings`."""

from .base import Discovery, Evidence, Findings, SeparatingSet
from .direct import DirectTesting
from .known import KnownSets
from .refresh import next_refresh
from .registry import DISCOVERIES, discovery_from_dict

__all__ = [
    "DISCOVERIES",
    "DirectTesting",
    "Discovery",
    "Evidence",
    "Findings",
    "KnownSets",
    "SeparatingSet",
    "discovery_from_dict",
    "next_refresh",
]

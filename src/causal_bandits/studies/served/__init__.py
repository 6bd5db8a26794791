"""Served studies: workers decide from a snapshot in memory and append; one of them counts what was appended."""

from .deriving import derived
from .staleness import Staleness
from .worker import Worker

__all__ = ["Staleness", "Worker", "derived"]

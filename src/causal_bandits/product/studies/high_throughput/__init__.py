"""High-throughput mode: workers decide from a snapshot in memory and append; one of them counts the rows."""

from .deriving import derived
from .log import HighThroughputLog

__all__ = ["HighThroughputLog", "derived"]

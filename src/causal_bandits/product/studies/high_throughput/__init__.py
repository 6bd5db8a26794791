"""High-throughput mode: workers decide from a snapshot in memory and append; one of them counts the rows."""

from .log import HighThroughputLog

__all__ = ["HighThroughputLog"]

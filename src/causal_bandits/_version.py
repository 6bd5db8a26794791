"""The release: what builds read it from, and what results and workers are compared by."""

__version__ = "0.2.0"

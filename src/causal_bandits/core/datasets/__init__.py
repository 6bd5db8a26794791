"""Public datasets that ship with the package; nothing is downloaded."""

from .sachs_2005 import Dataset, sachs

__all__ = ["Dataset", "sachs"]

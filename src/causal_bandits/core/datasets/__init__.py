"""Public datasets that ship with the package; nothing is downloaded."""

from .dataset import Dataset
from .sachs_2005 import sachs

__all__ = ["Dataset", "sachs"]

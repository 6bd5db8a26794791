"""A logged table analysed: variables inferred, sets tested, arms compared with and without sharing."""

from .analyze import Analysis, analyze
from .infer import Inferred, infer

__all__ = ["Analysis", "Inferred", "analyze", "infer"]

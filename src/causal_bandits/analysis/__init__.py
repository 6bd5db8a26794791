"""A logged table analysed: variables inferred, sets tested, arms compared with and without sharing."""

from .analyze import Analysis, analyze
from .infer import Inferred, infer
from .summary import arm_rows, evidence_over_time, plain_twin, set_rows

__all__ = ["Analysis", "Inferred", "analyze", "arm_rows", "evidence_over_time", "infer", "plain_twin", "set_rows"]

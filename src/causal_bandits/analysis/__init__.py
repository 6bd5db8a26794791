"""A logged table analysed: variables inferred, sets tested, arms compared with and without sharing."""

from .analyze import Analysis, analyze
from .assignment import Assignment, Dependence
from .infer import Inferred, infer
from .roles import Proposal, Role, propose

__all__ = ["Analysis", "Assignment", "Dependence", "Inferred", "Proposal", "Role", "analyze", "infer", "propose"]

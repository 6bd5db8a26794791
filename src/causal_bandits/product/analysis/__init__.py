"""A logged table analyzed: variables inferred, sets tested, arms compared with and without sharing."""

from ..queries import Query
from .analyze import Analysis, analyze
from .assignment import Assignment, Dependence
from .infer import Inferred, infer
from .roles import Proposal, Role, propose

__all__ = [
    "Analysis",
    "Assignment",
    "Dependence",
    "Inferred",
    "Proposal",
    "Query",
    "Role",
    "analyze",
    "infer",
    "propose",
]

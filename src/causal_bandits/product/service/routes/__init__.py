"""The routes."""

from .. import sign_in
from . import create, decisions, manage, operations, pages, results, studies

ROUTERS = (
    *(decisions.router, studies.router, results.router, operations.router),
    *(pages.router, manage.router, create.router, sign_in.router),
)
"""In the order in which they are matched: the most frequent first."""

__all__ = ["ROUTERS"]

"""The routes."""

from .. import sign_in
from . import decisions, forms, operations, pages, results, studies

ROUTERS = (
    *(decisions.router, studies.router, results.router, operations.router),
    *(pages.router, forms.router, sign_in.router),
)
"""In the order in which they are matched: the most frequent first."""

__all__ = ["ROUTERS"]

"""The routes, one module for each part of a study."""

from . import arms, decisions, events, exports, looks, operations, pages, static, studies

ROUTERS = (
    decisions.router,
    events.router,
    studies.router,
    arms.router,
    looks.router,
    exports.router,
    operations.router,
    pages.router,
    static.router,
)
"""In the order in which they are tried: what is asked for most often comes first."""

__all__ = ["ROUTERS"]

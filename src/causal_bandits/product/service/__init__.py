"""The service: studies over HTTP, for any language, with a dashboard.

`create_app` makes the application (extra `service`), `Client` speaks to one with the methods of `Study`. Both are
imported when first used: the client needs no web framework, and the application no client.
"""

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .app import create_app as create_app
    from .client import AsyncClient as AsyncClient
    from .client import AsyncRemoteStudy as AsyncRemoteStudy
    from .client import Client as Client
    from .client import RemoteStudy as RemoteStudy
    from .serving import serve as serve
    from .settings import ServiceSettings as ServiceSettings
    from .tokens import Tokens as Tokens
    from .tokens import read_tokens as read_tokens

_HOMES = {
    "AsyncClient": "client",
    "AsyncRemoteStudy": "client",
    "Client": "client",
    "RemoteStudy": "client",
    "ServiceSettings": "settings",
    "Tokens": "tokens",
    "create_app": "app",
    "read_tokens": "tokens",
    "serve": "serving",
}


def __getattr__(name: str) -> Any:
    if name in _HOMES:
        return getattr(importlib.import_module(f"{__name__}.{_HOMES[name]}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


__all__ = sorted(_HOMES)  # noqa: PLE0605

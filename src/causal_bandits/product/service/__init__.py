"""The service: studies over HTTP, for any language, with a dashboard.

`create_app` makes the application (extra `service`), `Client` speaks to one with the methods of `Study`. Both are
imported when first used: the client needs no web framework, and the application no client.
"""

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .app import create_app
    from .client import AsyncClient, AsyncRemoteStudy, Client, RemoteStudy
    from .serving import serve
    from .settings import ServiceSettings
    from .tokens import Tokens, read_tokens

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


__all__ = [
    "AsyncClient",
    "AsyncRemoteStudy",
    "Client",
    "RemoteStudy",
    "ServiceSettings",
    "Tokens",
    "create_app",
    "read_tokens",
    "serve",
]

"""The application: routes behind one middleware."""

import asyncio
import contextlib
import threading
from collections.abc import AsyncIterator
from typing import Any

from anyio import CapacityLimiter
from fastapi import FastAPI
from fastapi.exceptions import RequestValidationError
from fastapi.openapi.utils import get_openapi
from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException

from ..._version import __version__
from ...errors import CausalBanditsError
from ..studies import Monitor
from . import problems
from .bodies import Rows, Table
from .measuring import Measures
from .middleware import GateMiddleware
from .pages.views import Views
from .registry import StudyRegistry
from .responses import SCHEMAS, Problem
from .routes import ROUTERS
from .settings import ServiceSettings
from .sign_in import Attempts
from .watching import Watch

BATCHES_AT_ONCE = 2
"""Batches and imports that are read and stored at once; others wait, outside of threads."""
EXPORTS_AT_ONCE = 1
"""Exports that are made at once, since each takes all the time that it can get."""
EXPORTS = 32
"""Exports that are sent at once, each from a file."""


def create_app(settings: ServiceSettings) -> FastAPI:
    """The application for a storage; any ASGI server runs it. Its storage is opened here, so that an error is seen."""
    measures = Measures()
    app = FastAPI(
        title="causal-bandits",
        version=__version__,
        summary="Adaptive experiments that share what every arm learns",
        docs_url=None,
        redoc_url=None,
        lifespan=_lifespan,
    )
    app.state.settings = settings
    app.state.measures = measures
    app.state.registry = StudyRegistry(settings.storage)
    app.state.views = Views()
    app.state.attempts = Attempts()
    app.state.batches = CapacityLimiter(BATCHES_AT_ONCE)
    app.state.exports = CapacityLimiter(EXPORTS_AT_ONCE)
    app.state.exports_sent = threading.BoundedSemaphore(EXPORTS)
    app.state.closing = asyncio.Event()
    app.state.checking = None
    app.state.monitor = Monitor(lambda: app.state.registry.store, app.state.registry.look, settings.alarms)
    app.state.watch = Watch(app.state.registry, measures, app.state.closing, settings.streams)
    app.add_middleware(GateMiddleware, settings=settings, measures=measures)
    app.add_exception_handler(CausalBanditsError, problems.answer_library)
    app.add_exception_handler(HTTPException, problems.answer_http)
    app.add_exception_handler(RequestValidationError, problems.answer_validation)
    for router in ROUTERS:
        app.router.routes.extend(router.routes)  # flat, so that whoever walks the routes sees them all
    app.openapi = lambda: _document(app)  # type: ignore[method-assign]
    return app


@contextlib.asynccontextmanager
async def _lifespan(app: FastAPI) -> AsyncIterator[None]:
    stop = threading.Event()
    threading.Thread(target=app.state.monitor.run, args=(stop,), name="alarms", daemon=True).start()
    yield
    stop.set()
    app.state.closing.set()
    await run_in_threadpool(app.state.registry.finish)


def _document(app: FastAPI) -> dict[str, Any]:
    """The OpenAPI document: everything needs a token, where the server has tokens."""
    if app.openapi_schema is None:
        made = get_openapi(title=app.title, version=app.version, summary=app.summary, routes=app.routes)
        made["servers"] = [{"url": app.state.settings.root_path or "/"}]
        schemas = made["components"]["schemas"]
        schemas |= SCHEMAS
        for kind in (Problem, Rows, Table):
            schemas[kind.__name__] = kind.model_json_schema(ref_template="#/components/schemas/{model}")
        for unused in ("HTTPValidationError", "ValidationError"):
            schemas.pop(unused, None)
        made["components"]["securitySchemes"] = {"token": {"type": "http", "scheme": "bearer"}}
        made["security"] = [{"token": []}]
        app.openapi_schema = made
    return app.openapi_schema

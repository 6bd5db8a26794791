"""Probes and metrics."""

import asyncio
import contextlib
import logging
from typing import Any

from fastapi import APIRouter
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response

from ....errors import StorageError
from ..registry import StudyRegistry
from ..responses import Ready, Unready, answer, answers, errors_of, json_content, measures_of, registry_of

log = logging.getLogger("causal_bandits.service")
router = APIRouter(tags=["operations"], responses=errors_of())

OPEN: dict[str, Any] = {"security": []}
READINESS = answers(Ready)
READINESS["responses"][503] = {"description": Unready.__doc__, "content": json_content(Unready)}
READY_SECONDS = 2.0
"""How long the storage may take to answer a readiness check."""


@router.get("/healthz", **answers(Ready), openapi_extra=OPEN)
async def healthz() -> Response:
    """Whether the process answers."""
    return answer({"status": "ok"})


@router.get("/readyz", **READINESS, openapi_extra=OPEN)
async def readyz(request: Request) -> Response:
    """Whether the storage answers one small query within 2 seconds; 503 otherwise, or while the server stops.

    While one check waits for the storage, later ones wait for the same answer, so that they take one thread in all.
    """
    state = request.app.state
    if state.closing.is_set():
        return answer({"status": "stopping"}, 503)
    if state.checking is None or state.checking.done():
        state.checking = asyncio.ensure_future(run_in_threadpool(_check, registry_of(request)))
    done, _ = await asyncio.wait({state.checking}, timeout=READY_SECONDS)
    if done and state.checking.result():
        return answer({"status": "ok"})
    return answer({"status": "storage unavailable"}, 503)


def _check(registry: StudyRegistry) -> bool:
    try:
        registry.check_answers()
    except StorageError as error:  # a probe needs no token, so the reason is for the log alone
        log.warning("the storage does not answer: %s", error)
        return False
    return True


@router.get("/metrics", response_class=PlainTextResponse)
async def metrics(request: Request) -> Response:
    """Counters for Prometheus."""
    registry = registry_of(request)
    gauges = {"open_studies": len(registry.acting), "watched_studies": len(registry.looking)}
    stale = await run_in_threadpool(registry.stale)
    with contextlib.suppress(StorageError):
        gauges["alarm_messages_waiting"] = await run_in_threadpool(request.app.state.monitor.waiting)
    text = measures_of(request).text(gauges, stale)
    return PlainTextResponse(text, media_type="text/plain; version=0.0.4; charset=utf-8")

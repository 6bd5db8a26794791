"""For those who run the server."""

import asyncio

from fastapi import APIRouter
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response

from ...errors import StorageError
from .. import answers
from ..answering import answer, desk_of, errors_of, measures_of

router = APIRouter(tags=["operations"], responses=errors_of())

READY_SECONDS = 2.0
"""How long the storage may take to answer a readiness check."""


@router.get("/healthz", response_model=answers.Health)
async def healthz() -> Response:
    """Whether the process answers."""
    return answer({"status": "ok"})


@router.get("/readyz", response_model=answers.Health)
async def readyz(request: Request) -> Response:
    """Whether the storage answers one small query within 2 seconds; 503 otherwise, or while the server stops.

    While one check waits for the storage, later ones wait for the same answer, so that they take one thread in all.
    """
    state = request.app.state
    if state.closing.is_set():
        return answer({"status": "stopping"}, 503)
    if state.checking is None or state.checking.done():
        state.checking = asyncio.ensure_future(run_in_threadpool(desk_of(request).check_answers))
    done, _ = await asyncio.wait({state.checking}, timeout=READY_SECONDS)
    if not done:
        raise StorageError(
            f"storage {desk_of(request).place} did not answer within {READY_SECONDS:g} seconds; "
            "check that its server runs"
        )
    state.checking.result()
    return answer({"status": "ok"})


@router.get("/metrics", response_class=PlainTextResponse)
async def metrics(request: Request) -> Response:
    """Counters for Prometheus."""
    desk = desk_of(request)
    gauges = {"open_studies": len(desk.acting), "watched_studies": len(desk.looking)}
    stale = await run_in_threadpool(desk.stale)
    text = measures_of(request).text(gauges, stale)
    return PlainTextResponse(text, media_type="text/plain; version=0.0.4; charset=utf-8")

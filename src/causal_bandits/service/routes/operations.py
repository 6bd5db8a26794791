"""For those who run the server."""

from fastapi import APIRouter
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response

from ...studies import Study
from .. import answers
from ..answering import answer, desk_of, errors_of, measures_of

router = APIRouter(tags=["operations"], responses=errors_of())


@router.get("/healthz", response_model=answers.Health)
async def healthz() -> Response:
    """Whether the process answers."""
    return answer({"status": "ok"})


@router.get("/readyz", response_model=answers.Health)
async def readyz(request: Request) -> Response:
    """Whether the storage can be read; 503 while it cannot, or while the server stops."""
    if request.app.state.closing.is_set():
        return answer({"status": "stopping"}, 503)
    await run_in_threadpool(lambda: desk_of(request).on_store(lambda store: Study.list(storage=store)))
    return answer({"status": "ok"})


@router.get("/metrics", response_class=PlainTextResponse)
async def metrics(request: Request) -> Response:
    """Counters for Prometheus."""
    desk = desk_of(request)
    gauges = {"open_studies": len(desk.acting), "watched_studies": len(desk.looking)}
    stale = await run_in_threadpool(desk.stale)
    text = measures_of(request).text(gauges, stale)
    return PlainTextResponse(text, media_type="text/plain; version=0.0.4; charset=utf-8")

"""What happens to a study, as server-sent events."""

from collections.abc import AsyncGenerator
from typing import Annotated

from fastapi import APIRouter, Header, Query
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse
from starlette.types import Receive, Scope, Send

from ...studies import Change
from ..responses import StudyName, answers, errors_of, look
from ..watching import Watch

router = APIRouter(prefix="/api/v1/studies/{name}", tags=["events"], responses=errors_of(404))


class EventStream(StreamingResponse):
    """A stream of events that ends with its connection."""

    def __init__(self, stream: AsyncGenerator[str, None]) -> None:
        super().__init__(stream, media_type="text/event-stream", headers={"Cache-Control": "no-store"})
        self._stream = stream

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Send it, and close it however that ends."""
        try:
            await super().__call__(scope, receive, send)
        finally:
            await self._stream.aclose()


@router.get(
    "/events",
    response_class=StreamingResponse,
    responses={200: {"description": "Events", "content": {"text/event-stream": {"schema": {"type": "string"}}}}},
)
async def events(
    request: Request,
    name: StudyName,
    after: Annotated[int | None, Query(ge=0, description="Begin after this event; by default with the next.")] = None,
    last: Annotated[
        str | None, Header(alias="Last-Event-ID", description="The last event that was seen, instead of `after`.")
    ] = None,
) -> Response:
    """Every change of a study as it happens, in order; the id of an event is its number in the study.

    An event tells what kind of change it was and which decisions it concerns.
    """
    watch: Watch = request.app.state.watch
    begin = int(last) if last is not None and last.isascii() and last.isdigit() and len(last) < 16 else after
    return EventStream(await watch.stream(name, begin))


@router.get("/changes", **answers(list[Change], 404))
def changes(
    request: Request,
    name: StudyName,
    after: Annotated[int, Query(ge=0, description="Begin after this event.")] = 0,
    limit: Annotated[int, Query(ge=1, le=10_000)] = 1000,
) -> Response:
    """What happened so far, without waiting for more."""
    return look(request, name, lambda study: study.changes(after, limit=limit))

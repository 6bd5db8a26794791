"""What happens to a study, as server-sent events."""

from typing import Annotated

from fastapi import APIRouter, Header, Query
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse

from .. import answers
from ..answering import StudyName, errors_of, look
from ..watching import Watch

router = APIRouter(prefix="/api/v1/studies/{name}", tags=["events"], responses=errors_of(404))


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
    stream = await watch.stream(name, begin)
    return StreamingResponse(stream, media_type="text/event-stream", headers={"Cache-Control": "no-store"})


@router.get("/changes", response_model=answers.Changes)
def changes(
    request: Request,
    name: StudyName,
    after: Annotated[int, Query(ge=0, description="Begin after this event.")] = 0,
    limit: Annotated[int, Query(ge=1, le=10_000)] = 1000,
) -> Response:
    """What happened so far, without waiting for more."""
    return look(request, name, lambda study: {"changes": study.changes(after, limit=limit)})

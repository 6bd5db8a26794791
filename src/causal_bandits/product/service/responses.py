"""Answers as JSON, typed in the OpenAPI document, and conditional ones.

The newest event of a study, and which windows have closed since, is the ETag of all answers about it. A request that
changes something is answered with one of the typed dictionaries below; other answers are classes of the library.
"""

import json
from collections.abc import Awaitable, Callable
from typing import Annotated, Any, Literal, TypedDict

from fastapi import APIRouter, Depends, Path
from pydantic import AfterValidator, BaseModel, ConfigDict
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse
from starlette.types import Receive, Scope, Send

from ...core.policies.posterior import Source
from ...core.serialization import Schema, json_schema, to_json
from ...errors import OptionError, brief
from ..options import unknown_option
from ..studies import DecisionRow, Study
from ..studies.history import mark_of
from .gate import name_in
from .measuring import Measures
from .problems import MEDIA
from .registry import StudyRegistry

StudyName = Annotated[
    str, Path(alias="name", description="The study, percent-encoded; / as %2F."), AfterValidator(name_in)
]
_JSON = json.JSONEncoder(separators=(",", ":"), allow_nan=False)
Id = Annotated[int, Path(alias="id", ge=1, description="A decision.")]


async def check_parameters(request: Request) -> None:
    """Reject a parameter in the address that its route does not have; a dependency of every router of the API."""
    known = {field.alias for field in request.scope["route"].dependant.query_params}
    unknown = next((name for name in request.query_params if name not in known), None)
    if unknown is None:
        return
    if not known:
        raise OptionError(f"unknown parameter {brief(unknown)}; this address takes no parameters")
    raise unknown_option(unknown, known, "parameter")


def errors_of(*more: int) -> dict[int | str, dict[str, Any]]:
    """What the OpenAPI document says of refusals."""
    content = {MEDIA: {"schema": {"$ref": "#/components/schemas/Problem"}}}
    said = {400: "malformed", 401: "no valid token", 403: "the token does not allow this", 422: "unusable values"}
    said |= {413: "too long", 415: "of another type", 503: "the storage cannot be used"}
    said |= {status: {404: "unknown", 409: "contradicts what is stored"}[status] for status in more}
    return {status: {"description": words, "content": content} for status, words in sorted(said.items())}


def study_router(**options: Any) -> APIRouter:
    """A router for addresses below a study."""
    about: dict[str, Any] = {"responses": errors_of(404), "dependencies": [Depends(check_parameters)]}
    return APIRouter(prefix="/api/v1/studies/{name}", **about, **options)


SCHEMAS: dict[str, Schema] = {}
"""The schemas of all classes that answers have, for the OpenAPI document."""


def answers(kind: Any, *errors: int, status: int = 200, field: str | None = None) -> dict[str, Any]:
    """What the OpenAPI document says of a route that answers with the JSON of a class, or an object with it in a field.

    Pass it to the decorator.
    """
    described = (getattr(kind, "__doc__", None) or "").partition("\n")[0] if isinstance(kind, type) else ""
    found = {"description": described or "Success", "content": json_content(kind, field)}
    return {"response_model": None, "status_code": status, "responses": {**errors_of(*errors), status: found}}


def json_content(kind: Any, field: str | None = None) -> dict[str, Any]:
    """JSON of a class, as the OpenAPI document describes a body."""
    schema = json_schema(kind, SCHEMAS)
    if field is not None:
        schema = {"type": "object", "properties": {field: schema}, "required": [field]}
    return {"application/json": {"schema": schema}}


def registry_of(request: Request) -> StudyRegistry:
    """The open studies."""
    registry: StudyRegistry = request.app.state.registry
    return registry


def measures_of(request: Request) -> Measures:
    """The counters."""
    measures: Measures = request.app.state.measures
    return measures


def answer(value: Any, status: int = 200, headers: dict[str, str] | None = None) -> Response:
    """An answer as JSON."""
    return Response(_JSON.encode(to_json(value)), status, headers, "application/json")


def look(request: Request, name: str, work: Callable[[Study], Any]) -> Response:
    """Read something from a study; 304 if nothing has changed since the last request."""
    return look_as(request, name, lambda study: answer(work(study)))


def look_as(request: Request, name: str, work: Callable[[Study], Response]) -> Response:
    """The same, where the answer is not JSON. The tag is read first, so it is never newer than the answer."""

    return registry_of(request).look(
        name, lambda study: unless_known(request, mark_of(study._session), lambda: work(study))
    )


def unless_known(request: Request, mark: str, make: Callable[[], Response]) -> Response:
    """An answer with a mark as its ETag; 304 if the caller has it."""
    tag = f'"{mark}"'
    known = is_known(request.headers.get("if-none-match"), tag)
    found = Response(status_code=304) if known else make()
    found.headers["ETag"] = tag
    return found


def is_known(given: str | None, tag: str) -> bool:
    """Whether a caller has an answer with this tag.

    >>> is_known('W/"3-ab", "4-cd"', '"4-cd"'), is_known(None, '"4-cd"')
    (True, False)
    """
    return given is not None and any(each.strip().removeprefix("W/") in (tag, "*") for each in given.split(","))


class ClosingResponse(StreamingResponse):
    """A stream after which something is done, however it ends."""

    def __init__(self, content: Any, done: Callable[[], Awaitable[None]], **options: Any) -> None:
        super().__init__(content, **options)
        self._done = done

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Send it."""
        try:
            await super().__call__(scope, receive, send)
        finally:
            await self._done()


# Answers that are no class of the library


class Problem(BaseModel):
    """An error: one sentence, and the library's name for it where it has one."""

    model_config = ConfigDict(
        json_schema_extra={
            "examples": [
                {
                    "type": "about:blank",
                    "title": "Not Found",
                    "status": 404,
                    "detail": "decision 9 is not known; the study has made decisions 1 to 1",
                    "error": "UnknownDecisionError",
                }
            ]
        }
    )
    type: str
    title: str
    status: int
    detail: str
    error: str | None = None


class DecisionPage(TypedDict):
    """Some decisions; `next` is the id to pass as `after`, null at the end."""

    decisions: list[DecisionRow]
    next: int | None


class PosteriorDraws(TypedDict):
    """The posterior of all arms' means, in the order of the problem's arms."""

    rows: int
    means: list[float]
    sources: list[Source]
    draws: list[list[float]]
    """Joint draws: one row each, one column per arm."""


class Ready(TypedDict):
    """The server takes requests."""

    status: Literal["ok"]


class Unready(TypedDict):
    """Why the server takes no requests now."""

    status: Literal["stopping", "storage unavailable"]

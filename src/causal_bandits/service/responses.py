"""Answers as JSON, typed in the OpenAPI document, and conditional ones.

The newest event of a study, and which windows have closed since, is the ETag of all answers about it.
"""

import json
from collections.abc import Callable
from typing import Annotated, Any

from fastapi import Path
from pydantic import AfterValidator
from starlette.requests import Request
from starlette.responses import Response

from ..serialization import Schema, json_schema, to_json
from ..studies import Study
from ..studies.following import closed_windows
from .gate import name_in
from .measuring import Measures
from .problems import MEDIA
from .registry import StudyRegistry

StudyName = Annotated[
    str, Path(alias="name", description="The study, percent-encoded; / as %2F."), AfterValidator(name_in)
]
_JSON = json.JSONEncoder(separators=(",", ":"), allow_nan=False)
Id = Annotated[int, Path(alias="id", ge=1, description="A decision.")]


def errors_of(*more: int) -> dict[int | str, dict[str, Any]]:
    """What the OpenAPI document says of refusals."""
    content = {MEDIA: {"schema": {"$ref": "#/components/schemas/Problem"}}}
    common = {400: "malformed", 401: "no valid token", 403: "the token does not allow this", 422: "unusable values"}
    others = {404: "unknown", 409: "contradicts what is stored", 413: "too long", 415: "of another type"}
    chosen = {**common, **{status: others[status] for status in more}, 503: "the storage cannot be used"}
    return {status: {"description": words, "content": content} for status, words in chosen.items()}


SCHEMAS: dict[str, Schema] = {}
"""The schemas of all classes that answers have, for the OpenAPI document."""


def answers(kind: Any, *errors: int, status: int = 200) -> dict[str, Any]:
    """What the OpenAPI document says of a route that answers with the JSON of a class; pass it to the decorator."""
    described = (getattr(kind, "__doc__", None) or "").partition("\n")[0] if isinstance(kind, type) else ""
    found = {"description": described or "Success", "content": json_content(kind)}
    return {"response_model": None, "status_code": status, "responses": {**errors_of(*errors), status: found}}


def json_content(kind: Any) -> dict[str, Any]:
    """JSON of a class, as the OpenAPI document describes a body."""
    return {"application/json": {"schema": json_schema(kind, SCHEMAS)}}


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
    """What somebody wants to know of a study; 304 if nothing has happened since they last asked."""
    return look_as(request, name, lambda study: answer(work(study)))


def look_as(request: Request, name: str, work: Callable[[Study], Response]) -> Response:
    """The same, where the answer is not JSON. The tag is read first, so it is never newer than the answer."""

    def looked(study: Study) -> Response:
        newest, closed = study.newest, closed_windows(study._session)
        tag = f'"{newest.sequence}-{newest.mark}{f".{closed}" if closed else ""}"'
        if is_known(request.headers.get("if-none-match"), tag):
            return Response(status_code=304, headers={"ETag": tag})
        found = work(study)
        found.headers["ETag"] = tag
        return found

    return registry_of(request).look(name, looked)


def is_known(given: str | None, tag: str) -> bool:
    """Whether a caller has an answer with this tag.

    >>> is_known('W/"3-ab", "4-cd"', '"4-cd"'), is_known(None, '"4-cd"')
    (True, False)
    """
    return given is not None and any(each.strip().removeprefix("W/") in (tag, "*") for each in given.split(","))

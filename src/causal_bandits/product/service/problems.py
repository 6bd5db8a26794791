"""Errors as problem+json (RFC 9457): the library's own sentence, and the name of its exception."""

import http
import json
from typing import Any

from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import HTMLResponse, Response
from starlette.types import Scope

from ... import errors
from ...core.secrecy import without_secrets
from ...errors import CausalBanditsError, brief
from .gate import RefusedError
from .pages.views import render

MEDIA = "application/problem+json"

STATUS: dict[type[CausalBanditsError], int] = {
    errors.UnknownStudyError: 404,
    errors.UnknownDecisionError: 404,
    errors.StudyExistsError: 409,
    errors.ConflictError: 409,
    errors.DecisionClosedError: 409,
    errors.StudyFinishedError: 409,
    errors.StorageError: 503,
    errors.MissingExtraError: 501,
}
"""What an error of ours is in HTTP; any other is a value that cannot be used: 422."""


FRAMEWORK = {
    400: "the body cannot be read as JSON",
    404: "no page or route has this address",
    405: "method not allowed",
}
"""The answer where the framework rejects a request."""


class KeyReusedError(errors.ConflictError):
    """An idempotency key that came with another body before."""


STATUS[KeyReusedError] = 422


def problem(
    scope: Scope, status: int, detail: str, error: str | None = None, headers: dict[str, str] | None = None
) -> Response:
    """One sentence: a page for a browser that asks for one, else problem+json."""
    title = http.HTTPStatus(status).phrase
    if wants_page(scope):
        root = scope.get("root_path", "")
        return HTMLResponse(render("failed.html", root_path=root, title=title, sentence=detail), status, headers)
    body = {"type": "about:blank", "title": title, "status": status, "detail": detail}
    if error is not None:
        body["error"] = error
    return Response(json.dumps(body), status, headers, MEDIA)


def wants_page(scope: Scope) -> bool:
    """Whether a browser asks for a page: nothing of the API is one."""
    path = str(scope.get("path", "")).removeprefix(scope.get("root_path", ""))
    accepts = (value for name, value in scope["headers"] if name == b"accept")
    return not path.startswith("/api/") and any(b"text/html" in value for value in accepts)


async def answer_library(request: Request, error: Exception) -> Response:
    """The answer to a request that the library rejected."""
    assert isinstance(error, CausalBanditsError)
    name = "ConflictError" if isinstance(error, KeyReusedError) else type(error).__name__
    status = next((STATUS[kind] for kind in type(error).__mro__ if kind in STATUS), 422)
    return problem(request.scope, status, without_secrets(str(error)), name)


async def answer_http(request: Request, error: Exception) -> Response:
    """What the gate rejects, or the framework: no such route, another method."""
    assert isinstance(error, HTTPException)
    return refused(request.scope, error)


def refused(scope: Scope, error: HTTPException) -> Response:
    """The answer to a request that goes no further."""
    said = error.detail if isinstance(error, RefusedError) else FRAMEWORK.get(error.status_code, error.detail)
    return problem(scope, error.status_code, said, None, dict(error.headers or {}))


async def answer_validation(request: Request, error: Exception) -> Response:
    """A body or a parameter of another form: the first thing that is wrong with it."""
    assert isinstance(error, RequestValidationError)
    first: dict[str, Any] = dict(error.errors()[0])
    if first["type"] == "json_invalid":
        return problem(
            request.scope, 400, f"the body is not JSON ({first.get('ctx', {}).get('error', 'it cannot be read')})"
        )
    if first["type"] == "missing" and first["loc"] == ("body",):
        return problem(request.scope, 400, "the body is empty; expected a JSON object")
    return problem(request.scope, 422, sentence(first), "OptionError")


def sentence(found: dict[str, Any]) -> str:
    """What is wrong with one value.

    >>> sentence({"type": "x", "loc": ("body", "count"), "input": 0, "msg": "Input should be 1 or more"})
    'count=0; expected 1 or more'
    """
    where = ".".join(str(part) for part in found["loc"][1:]) or str(found["loc"][0])
    said = str(found["msg"])
    if found["type"] == "unknown_option":
        return said
    if found["type"] == "missing":
        return f"{where} is missing; add it"
    expected = said.removeprefix("Value error, ").replace("Input should be", "expected")
    return f"{where}={brief(found.get('input'))}; {expected[:1].lower()}{expected[1:]}"

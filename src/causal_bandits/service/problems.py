"""Errors as problem+json (RFC 9457): the library's own sentence, and the name of its exception."""

import http
import json
from typing import Any

from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response

from .. import errors
from ..errors import CausalBanditsError, brief
from ..secrecy import without_secrets
from .gate import RefusedError

MEDIA = "application/problem+json"

STATUS: dict[type[CausalBanditsError], int] = {
    errors.UnknownStudyError: 404,
    errors.UnknownDecisionError: 404,
    errors.StudyExistsError: 409,
    errors.ConflictError: 409,
    errors.DecisionClosedError: 409,
    errors.StorageError: 503,
    errors.MissingExtraError: 501,
}
"""What an error of ours is in HTTP; any other is a value that cannot be used: 422."""


class KeyReusedError(errors.ConflictError):
    """An idempotency key that came with another body before."""


STATUS[KeyReusedError] = 422


def problem(status: int, detail: str, error: str | None = None, headers: dict[str, str] | None = None) -> Response:
    """One sentence as problem+json."""
    body = {"type": "about:blank", "title": http.HTTPStatus(status).phrase, "status": status, "detail": detail}
    if error is not None:
        body["error"] = error
    return Response(json.dumps(body), status, headers, MEDIA)


def unexpected() -> Response:
    """What is said of an error that nobody expected; the front logs it."""
    return problem(500, "something went wrong in the server; its log says what, nothing else is known here")


def status_of(error: CausalBanditsError) -> int:
    """What an error of ours is in HTTP."""
    return next((STATUS[kind] for kind in type(error).__mro__ if kind in STATUS), 422)


def of_library(error: CausalBanditsError) -> Response:
    """The answer to a request that the library refused."""
    status = status_of(error)
    name = "ConflictError" if isinstance(error, KeyReusedError) else type(error).__name__
    return problem(status, without_secrets(str(error)), name)


async def answer_library(_: Request, error: Exception) -> Response:
    """A handler of the application."""
    assert isinstance(error, CausalBanditsError)
    return of_library(error)


async def answer_refused(_: Request, error: Exception) -> Response:
    """What the front refuses while a route reads the body."""
    assert isinstance(error, RefusedError)
    return problem(error.status, error.sentence)


async def answer_unexpected(_: Request, _error: Exception) -> Response:
    """An error that nobody expected; the framework raises it again, for the front to log."""
    return unexpected()


async def answer_http(_: Request, error: Exception) -> Response:
    """What the framework refuses: no such route, another method."""
    assert isinstance(error, HTTPException)
    if isinstance(error.__cause__, RefusedError):  # met while the body was read
        return problem(error.__cause__.status, error.__cause__.sentence)
    sentences = {
        400: "the body cannot be read as JSON",
        404: "there is nothing at this address",
        405: "this address does not know this method",
    }
    return problem(
        error.status_code, sentences.get(error.status_code, str(error.detail)), None, dict(error.headers or {})
    )


async def answer_validation(_: Request, error: Exception) -> Response:
    """A body or a parameter of another form: the first thing that is wrong with it."""
    assert isinstance(error, RequestValidationError)
    first: dict[str, Any] = dict(error.errors()[0])
    if first["type"] == "json_invalid":
        return problem(400, f"the body is not JSON ({first.get('ctx', {}).get('error', 'it cannot be read')})")
    if first["type"] == "missing" and first["loc"] == ("body",):
        return problem(400, "the body is empty; expected a JSON object")
    return problem(422, sentence(first), "OptionError")


def sentence(found: dict[str, Any]) -> str:
    """What is wrong with one value.

    >>> sentence({"type": "x", "loc": ("body", "count"), "input": 0, "msg": "Input should be 1 or more"})
    'count=0; expected 1 or more'
    """
    where = ".".join(str(part) for part in found["loc"][1:]) or str(found["loc"][0])
    said = str(found["msg"])
    if found["type"] == "unknown_field":
        return said
    if found["type"] == "missing":
        return f"{where} is missing; add it"
    expected = said.removeprefix("Value error, ").replace("Input should be", "expected")
    return f"{where}={brief(found.get('input'))}; {expected[:1].lower()}{expected[1:]}"

"""Ask and tell, which come far more often than anything else: from the bytes of a request to its answer.

The front calls them without going through the framework, whose layers cost as much as a durable decision; the routes of
the same address, which the framework documents, do the same by the same functions.
"""

import functools
import re
from typing import Any, TypeVar

from pydantic import BaseModel, ValidationError
from starlette.responses import Response
from starlette.types import Receive

from ..errors import CausalBanditsError, ConflictError, OptionError
from ..studies import Decision
from .answering import answer
from .bodies import Ask, Outcome
from .desk import Desk
from .gate import API, RefusedError, name_in
from .hands import Hands
from .measuring import Measures
from .problems import KeyReusedError, of_library, sentence

T = TypeVar("T", bound=BaseModel)

THREADS = 32
_PATH = re.compile(rf"{API}/studies/([^/]+)/decisions(?:/([1-9][0-9]{{0,17}}))?")
ASK, TELL = f"{API}/studies/{{name}}/decisions", f"{API}/studies/{{name}}/decisions/{{id}}"


def asked(desk: Desk, measures: Measures, name: str, content: bytes, key: str | None) -> Response:
    """Decisions, stored."""
    body = read(Ask, content)
    try:
        made = desk.act(name, lambda study: study.ask(body.count, segment=body.segment, key=key, arms=body.arms))
    except ConflictError as error:
        raise KeyReusedError(str(error)) from None
    measures.count("decisions", len(made))
    return answer({"decisions": [_row(each) for each in made]}, 201)


def _row(made: Decision) -> dict[str, Any]:
    row = {"id": made.id, "arm": dict(made.arm), "time": made.time.isoformat()}
    return {**row, "segment": made.segment} if made.segment else row


def told(desk: Desk, measures: Measures, name: str, number: int, content: bytes) -> Response:
    """An outcome, stored."""
    body = read(Outcome, content)
    desk.act(name, lambda study: study.tell(number, body.metrics, body.reward, final=body.final))
    measures.count("outcomes")
    return answer({"id": number})


def read(kind: type[T], content: bytes) -> T:
    """The body of a request, or one sentence."""
    try:
        return kind.model_validate_json(content)
    except ValidationError as error:
        first: dict[str, Any] = dict(error.errors(include_url=False)[0])
    if first["type"] == "json_invalid":
        raise RefusedError(400, f"the body is not JSON ({first['ctx']['error']})")
    raise OptionError(sentence({**first, "loc": ("body", *first["loc"])}))


def in_utf8(text: str | None) -> str | None:
    """A header, which comes byte by byte."""
    return None if text is None else text.encode("latin-1").decode("utf-8", "replace")


class Deciding:
    """The short way to both."""

    def __init__(self, desk: Desk, measures: Measures) -> None:
        self._desk, self._measures = desk, measures
        self._hands = Hands(THREADS)

    def close(self) -> None:
        """Let the threads go."""
        self._hands.close()

    async def answered(self, method: str, path: str, headers: dict[str, str], receive: Receive) -> Response | None:
        """The answer to a request that asks or tells; None for any other."""
        found = _PATH.fullmatch(path) if method in ("POST", "PATCH") else None
        if found is None or (method == "POST") != (found[2] is None):
            return None
        content = await body_of(receive)
        name = name_in(found[1])
        if method == "POST":
            key = in_utf8(headers.get("idempotency-key"))
            work = functools.partial(asked, self._desk, self._measures, name, content, key)
        else:
            work = functools.partial(told, self._desk, self._measures, name, int(found[2]), content)
        try:
            return await self._hands.do(work)
        except CausalBanditsError as error:
            return of_library(error)

    @staticmethod
    def route(path: str) -> str:
        """The pattern of such an address, for the counters."""
        return ASK if path.endswith("/decisions") else TELL


async def body_of(receive: Receive) -> bytes:
    """All of a request's body."""
    message = await receive()
    content: bytes = message.get("body", b"")
    while message.get("more_body"):
        message = await receive()
        content += message.get("body", b"")
    return content

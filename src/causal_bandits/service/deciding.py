"""Ask and tell, which come far more often than anything else: from the bytes of a request to its answer.

The front calls them without going through the framework, whose layers cost as much as a durable decision; the routes of
the same address, which the framework documents, do the same by the same functions.
"""

import contextlib
import functools
import re
import time
from collections.abc import Callable
from typing import Any, NamedTuple, TypeVar

from pydantic import BaseModel, ValidationError
from starlette.responses import Response
from starlette.types import Receive, Scope

from ..errors import CausalBanditsError, ConflictError, OptionError
from ..studies import Decision
from ..studies.storage import BusyNowError, at_once
from .alone import Alone
from .answering import Made, made, made_of
from .bodies import Ask, Outcome
from .desk import Desk
from .gate import API, RefusedError, name_in
from .hands import Hands
from .measuring import Measures
from .problems import KeyReusedError, of_library, sentence

T = TypeVar("T", bound=BaseModel)

THREADS = 32
LONGEST_LENGTH = 4
"""Digits: bodies from 10,000 bytes on, and those of unknown length, are read by the routes."""
_PATH = re.compile(rf"{API}/studies/([^/]+)/decisions(?:/([1-9][0-9]{{0,17}}))?")
ASK, TELL = f"{API}/studies/{{name}}/decisions", f"{API}/studies/{{name}}/decisions/{{id}}"


class Call(NamedTuple):
    """An ask or a tell that was read and is not yet done."""

    name: str
    kind: tuple[object, ...]
    """What is alike in calls that take about as long."""
    work: Callable[[], Made]


def asked(desk: Desk, measures: Measures, name: str, body: Ask, key: str | None) -> Made:
    """Decisions, stored."""
    try:
        found = desk.act(name, lambda study: study.ask(body.count, segment=body.segment, key=key, arms=body.arms))
    except ConflictError as error:
        raise KeyReusedError(str(error)) from None
    measures.count("decisions", len(found))
    return made({"decisions": [_row(each) for each in found]}, 201)


def _row(found: Decision) -> dict[str, Any]:
    row = {"id": found.id, "arm": dict(found.arm), "time": found.time.isoformat()}
    return {**row, "segment": found.segment} if found.segment else row


def told(desk: Desk, measures: Measures, name: str, number: int, body: Outcome) -> Made:
    """An outcome, stored."""
    desk.act(name, lambda study: study.tell(number, body.metrics, body.reward, final=body.final))
    measures.count("outcomes")
    return Made(200, b'{"id":%d}' % number)


def read(kind: type[T], content: bytes) -> T:
    """The body of a request, or one sentence."""
    try:
        return kind.model_validate_json(content)
    except ValidationError as error:
        first: dict[str, Any] = dict(error.errors(include_url=False)[0])
    if first["type"] == "json_invalid":
        raise RefusedError(400, f"the body is not JSON ({first['ctx']['error']})")
    raise OptionError(sentence({**first, "loc": ("body", *first["loc"])}))


@functools.lru_cache(maxsize=256)
def read_ask(content: bytes) -> tuple[Ask, tuple[object, ...]]:
    """The body of an ask, and what asks have in common that take about as long; most are alike, so some are kept."""
    ask = read(Ask, content)
    return ask, (ask.count, ask.segment is None, ask.arms is None)


@functools.lru_cache(maxsize=256)
def read_outcome(content: bytes) -> tuple[Outcome, tuple[object, ...]]:
    """The same of a tell: where all variables have levels, outcomes repeat. Nobody changes what was read."""
    said = read(Outcome, content)
    known = tuple((each, value is None) for each, value in (said.metrics or {}).items())
    return said, (known, said.reward is None, said.final)


def in_utf8(text: str | None) -> str | None:
    """A header, which comes byte by byte."""
    return None if text is None else text.encode("latin-1").decode("utf-8", "replace")


class Deciding:
    """The short way to both, for short bodies."""

    def __init__(self, desk: Desk, measures: Measures) -> None:
        self._desk, self._measures = desk, measures
        self._hands = Hands(THREADS)
        self._alone = Alone(measures)

    def close(self) -> None:
        """Let the threads go."""
        self._hands.close()

    def expects(self, client: object) -> bool:
        """Whether the next call of this client may be answered at once."""
        return self._alone.is_client(client)

    def at_once(
        self,
        method: str,
        path: str,
        headers: dict[str, str],
        content: bytes,
        client: object,
        send: Callable[[Made], None],
    ) -> int | None:
        """Answer a call by a client that is alone, and give the status; None, and nothing done, for any other."""
        found = _matched(method, path, headers)
        if found is None:
            return None
        try:
            call = self._read(found, headers, content)
            if not self._is_alone(client, call):
                return None
            started = time.perf_counter()
            done = at_once(call.work)
        except CausalBanditsError as error:
            done = made_of(of_library(error))
            send(done)
        except BusyNowError:
            return None
        else:
            send(done)
            self._alone.took(client, call.kind, time.perf_counter() - started)
        return done.status

    async def answered(self, scope: Scope, path: str, headers: dict[str, str], receive: Receive) -> Response | None:
        """The answer to a request that asks or tells; None for any other, and for a long one."""
        found = _matched(scope["method"], path, headers)
        if found is None:
            return None
        content = await body_of(receive)
        try:
            call = self._read(found, headers, content)
            return (await self._done(scope.get("client"), call)).response()
        except CausalBanditsError as error:
            return of_library(error)

    def _read(self, found: re.Match[str], headers: dict[str, str], content: bytes) -> Call:
        name = name_in(found[1])
        if found[2] is None:
            (ask, alike), key = read_ask(content), in_utf8(headers.get("idempotency-key"))
            work = functools.partial(asked, self._desk, self._measures, name, ask, key)
            return Call(name, (name, *alike, key is None), work)
        said, alike = read_outcome(content)
        return Call(
            name, (name, *alike), functools.partial(told, self._desk, self._measures, name, int(found[2]), said)
        )

    def _is_alone(self, client: object, call: Call) -> bool:
        return self._alone.is_now(client, call.kind) and self._desk.acts_quickly(call.name)

    async def _done(self, client: object, call: Call) -> Made:
        """By this thread where nobody waits for it, else by another."""
        started, done = time.perf_counter(), None
        if self._is_alone(client, call):
            with contextlib.suppress(BusyNowError):
                done = at_once(call.work)
        if done is None:
            done = await self._hands.do(call.work)
        self._alone.took(client, call.kind, time.perf_counter() - started)
        return done


def _matched(method: str, path: str, headers: dict[str, str]) -> re.Match[str] | None:
    """The study and the decision in the path of an ask or a tell with a short body."""
    length = headers.get("content-length", "")
    found = _PATH.fullmatch(path) if method in ("POST", "PATCH") else None
    if found is None or (method == "POST") != (found[2] is None):
        return None
    return found if len(length) <= LONGEST_LENGTH and length.isdigit() else None


def route(path: str) -> str:
    """The pattern of the address of an ask or a tell, for the counters."""
    return ASK if path.endswith("/decisions") else TELL


async def body_of(receive: Receive) -> bytes:
    """All of a request's body."""
    message = await receive()
    content: bytes = message.get("body", b"")
    while message.get("more_body"):
        message = await receive()
        content += message.get("body", b"")
    return content

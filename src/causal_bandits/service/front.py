"""The front: one middleware before every route and method. What the gate does not let through goes no further."""

import functools
import logging
import time
from collections.abc import Callable
from typing import Any, NamedTuple

from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from . import gate, sign_in, tokens
from .answering import Made, made_of
from .deciding import Deciding, route
from .gate import RefusedError
from .measuring import Measures
from .problems import problem, unexpected
from .settings import ServiceSettings
from .whole_requests import plain_headers, whole_request

log = logging.getLogger("causal_bandits.service")

POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; "
    "font-src 'self'; form-action 'self'; frame-ancestors 'none'; base-uri 'none'"
)
HEADERS: tuple[tuple[bytes, bytes], ...] = (
    (b"content-security-policy", POLICY.encode()),
    (b"x-content-type-options", b"nosniff"),
    (b"referrer-policy", b"no-referrer"),
    (b"cross-origin-opener-policy", b"same-origin"),
    (b"cross-origin-resource-policy", b"same-origin"),
    (b"x-frame-options", b"DENY"),
)
PRIVATE = (b"cache-control", b"private, no-cache")


class Front:
    """Path, host, token, scope, origin, type and length of the body; then the routes. Errors end as one sentence."""

    def __init__(self, app: ASGIApp, settings: ServiceSettings, measures: Measures, deciding: Deciding) -> None:
        self.app = app
        self.deciding = deciding
        self.settings = settings
        self.measures = measures
        self._known = functools.lru_cache(maxsize=64)(self._sender)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """One request."""
        if scope["type"] == "lifespan":
            await self.app(scope, receive, send)
            return
        if scope["type"] != "http":
            await send({"type": "websocket.close", "code": 1008})
            return
        answer = _Answer(send)
        started = time.perf_counter()
        self.measures.in_flight += 1
        try:
            await self._handle(scope, receive, answer)
        finally:
            self.measures.in_flight -= 1
            pattern = str(scope.get("route_path") or getattr(scope.get("route"), "path", "none"))
            self.measures.request(pattern, scope["method"], answer.status, time.perf_counter() - started)

    def at_once(self, data: bytes, client: object, send: Callable[[Made], None]) -> bool:
        """Answer a whole request that asks or tells in this call; counters are for after the answer.

        False, and nothing done, for everything else: it takes the usual way, which also says what is wrong with it.
        """
        sent = whole_request(data) if self.deciding.expects(client) else None
        known = None if sent is None else self._known(sent.lines)
        if sent is None or known is None or known.headers["content-length"] != str(len(sent.content)):
            return False
        started = time.perf_counter()
        path = gate.route_path(gate.own_path(sent.path, self.settings.root_path))
        self.measures.in_flight += 1
        try:
            gate.check_scope(sent.method, path, known.held)
            if len(sent.content) > gate.most_bytes(sent.method, path, self.settings):
                return False
            status = self.deciding.at_once(sent.method, path, known.headers, sent.content, client, send)
        except RefusedError:
            return False
        except Exception:
            log.exception("%s %s failed", sent.method, path)
            send(made_of(unexpected()))
            status = 500
        finally:
            self.measures.in_flight -= 1
        if status is not None:
            self.measures.request(route(path), sent.method, status, time.perf_counter() - started)
        return status is not None

    def _sender(self, lines: bytes) -> "_Sender | None":
        """Who sends these headers, or None if they are unusual or refused.

        This depends on the bytes and the settings alone, so it is remembered for the last few (`_known`).
        """
        headers = plain_headers(lines)
        if headers is None:
            return None
        try:
            gate.check_sender("POST", headers, self.settings)
            gate.check_type("POST", headers)
        except RefusedError:
            return None
        return _Sender(headers, gate.held_scope(headers, self.settings))

    async def _handle(self, scope: Scope, receive: Receive, answer: "_Answer") -> None:
        sent = gate.own_path(scope.get("raw_path") or scope["path"].encode(), self.settings.root_path)
        path = gate.route_path(sent)
        scope["root_path"], scope["path"] = self.settings.root_path, self.settings.root_path + path
        headers = {name.decode("latin-1"): value.decode("latin-1") for name, value in scope["headers"]}
        method = scope["method"]
        try:
            gate.check_sender(method, headers, self.settings)
            if path in sign_in.PATHS and self.settings.tokens:
                await sign_in.answered(path, method, headers, self.settings, scope, receive, answer)
                return
            held = gate.held_scope(headers, self.settings)
            scope.setdefault("state", {})["held"] = gate.check_scope(method, path, held)
            gate.check_type(method, headers)
            limited = _Limited(receive, headers, gate.most_bytes(method, path, self.settings))
            short = await self.deciding.answered(scope, path, headers, limited)
            if short is None:
                await self.app(scope, limited, answer)
            else:
                scope["route_path"] = route(path)
                await short(scope, receive, answer)
        except RefusedError as refused:
            await self._refuse(refused, sent, headers, scope, receive, answer)
        except Exception:
            log.exception("%s %s failed", method, path)
            if answer.status is None:
                await unexpected()(scope, receive, answer)
            elif not answer.is_whole:
                raise

    async def _refuse(
        self,
        refused: RefusedError,
        path: str,
        headers: dict[str, str],
        scope: Scope,
        receive: Receive,
        answer: "_Answer",
    ) -> None:
        if answer.status is not None:
            return
        response: Response
        if refused.status == 401 and not path.startswith("/api/") and "text/html" in headers.get("accept", ""):
            response = sign_in.page(path, self.settings)
        else:
            challenge = {"WWW-Authenticate": "Bearer"} if refused.status == 401 else {}
            response = problem(refused.status, refused.sentence, None, challenge)
        await response(scope, receive, answer)


class _Sender(NamedTuple):
    """Headers of a request, and what they allow."""

    headers: dict[str, str]
    held: tokens.Scope | None


class _Answer:
    """`send` that adds what every answer has, and remembers the status."""

    def __init__(self, send: Send) -> None:
        self._send = send
        self.status: int | None = None
        self.is_whole = False

    async def __call__(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            self.status = message["status"]
            headers: list[Any] = [*message.get("headers", ()), *HEADERS]
            if not any(name == b"cache-control" for name, _ in headers):
                headers.append(PRIVATE)
            message = {**message, "headers": headers}
        await self._send(message)
        self.is_whole = message["type"] == "http.response.body" and not message.get("more_body", False)


class _Limited:
    """`receive` that refuses a body longer than allowed, declared or not."""

    def __init__(self, receive: Receive, headers: dict[str, str], most: int) -> None:
        self._receive = receive
        self._most = most
        self._left = most
        declared = headers.get("content-length", "0")
        if declared.isdigit() and int(declared) > most:
            self._too_long()

    async def __call__(self) -> Message:
        message = await self._receive()
        if message["type"] == "http.request":
            self._left -= len(message.get("body", b""))
            if self._left < 0:
                self._too_long()
        return message

    def _too_long(self) -> None:
        raise RefusedError(413, f"the body is longer than {self._most:,} bytes; send it in parts")

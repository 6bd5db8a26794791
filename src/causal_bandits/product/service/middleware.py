"""One middleware in front of every route and method: a request that the gate rejects goes no further."""

import logging
import time
from typing import Any, Self

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from . import gate, sign_in
from .gate import RefusedError
from .measuring import Measures
from .problems import problem, refused, wants_page
from .settings import ServiceSettings

log = logging.getLogger("causal_bandits.service")
audit = logging.getLogger("causal_bandits.audit")
"""A line for every request that changed a study itself."""

POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; "
    "font-src 'self'; form-action 'self'; frame-ancestors 'none'; base-uri 'none'"
)
HEADERS: tuple[tuple[bytes, bytes], ...] = (
    (b"content-security-policy", POLICY.encode()),
    (b"x-content-type-options", b"nosniff"),
    (b"referrer-policy", b"same-origin"),
    (b"cross-origin-opener-policy", b"same-origin"),
    (b"cross-origin-resource-policy", b"same-origin"),
    (b"x-frame-options", b"DENY"),
)
PRIVATE = (b"cache-control", b"private, no-cache")
NO_WEBSOCKET = {"type": "websocket.close", "code": 1008}
PIECE = 65_536
"""Bytes of an answer that are sent at once."""


class GateMiddleware:
    """Path, host, token, scope, origin, type and length of the body; then the routes. Errors end as one sentence."""

    def __init__(self, app: ASGIApp, settings: ServiceSettings, measures: Measures) -> None:
        self.app = app
        self.settings = settings
        self.measures = measures
        self.held_bytes = 0

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """One request."""
        if scope["type"] != "http":
            await (self.app(scope, receive, send) if scope["type"] == "lifespan" else send(NO_WEBSOCKET))
            return
        answer = _Answer(send)
        started = time.perf_counter()
        self.measures.in_flight += 1
        try:
            await self._handle(scope, receive, answer)
        finally:
            self.measures.in_flight -= 1
            pattern = str(getattr(scope.get("route"), "path", "none"))
            self.measures.request(pattern, scope["method"], answer.status, time.perf_counter() - started)

    async def _handle(self, scope: Scope, receive: Receive, answer: "_Answer") -> None:
        sent = gate.own_path(scope.get("raw_path") or scope["path"].encode(), self.settings.root_path)
        path = gate.route_path(sent)
        scope["root_path"], scope["path"] = self.settings.root_path, self.settings.root_path + path
        method = scope["method"]
        try:
            headers = gate.read_headers(scope["headers"], self.settings.limits.max_headers)
            scope["headers"] = [(name.encode("latin-1"), value.encode("latin-1")) for name, value in headers.items()]
            if not gate.is_probe(method, path):
                gate.check_host(headers, self.settings)
                gate.check_origin(method, headers)
            token = gate.held_token(headers, self.settings)
            scope.setdefault("state", {})["held"] = gate.check_scope(method, path, token.scope)
            gate.check_type(method, path, headers)
            with _Body(receive, headers, gate.most_bytes(method, path, self.settings), self) as body:
                await self.app(scope, body, answer)
            if gate.has_changed(method, path, answer.status or 500):
                sender = (scope.get("client") or ("unknown",))[0]
                audit.info("%s %s: %s, from %s by %s", method, path, answer.status, sender, token)
        except RefusedError as error:
            if answer.status is None:
                response = refused(scope, error)
                if error.status_code == 401 and wants_page(scope):
                    response = sign_in.page(sent, self.settings)
                await response(scope, receive, answer)
        except Exception:
            log.exception("%s %s failed", method, path)
            if answer.status is None:
                await problem(scope, 500, "internal server error; see the server log")(scope, receive, answer)
            elif not answer.is_whole:
                raise


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
        body = message.get("body", b"")
        for start in range(0, len(body) - PIECE, PIECE):  # each piece waits until the client has read those before
            await self._send({**message, "body": body[start : start + PIECE], "more_body": True})
        if len(body) > PIECE:
            message = {**message, "body": body[(len(body) - 1) // PIECE * PIECE :]}
        await self._send(message)
        self.is_whole = message["type"] == "http.response.body" and not message.get("more_body", False)


class _Body:
    """`receive` that rejects a body that is too long, declared or not, or too much together with others, or cut off."""

    def __init__(self, receive: Receive, headers: dict[str, str], most: int, middleware: GateMiddleware) -> None:
        self._receive = receive
        self._most = most
        self._middleware = middleware
        self._read = 0
        declared = headers.get("content-length", "0")
        self._is_whole = declared == "0" and "transfer-encoding" not in headers
        if declared.isdigit() and int(declared) > most:
            self._too_long()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._middleware.held_bytes -= self._read

    async def __call__(self) -> Message:
        message = await self._receive()
        if message["type"] == "http.request":
            length = len(message.get("body", b""))
            self._read += length
            self._middleware.held_bytes += length
            self._is_whole = not message.get("more_body", False)
            if self._read > self._most:
                self._too_long()
            if self._middleware.held_bytes > self._middleware.settings.limits.held_bytes:
                raise RefusedError(
                    503, "this server reads too many long bodies at once; try again later", {"Retry-After": "5"}
                )
        elif not self._is_whole:
            raise RefusedError(400, "the connection was closed before the whole body had arrived; nothing was changed")
        return message

    def _too_long(self) -> None:
        raise RefusedError(413, f"the body is longer than {self._most:,} bytes; send it in parts")

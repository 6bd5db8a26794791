"""Limits on connections, before any request is understood: uvicorn's protocol with a deadline for each of its phases.

The parser (h11) bounds the bytes of a request's head. Once a second all connections of the process are looked at, and
those that have been in the same phase for too long are closed:

    head     waiting for the rest of a request's head, or for the first request
    idle     between two requests (uvicorn's keep-alive timeout)
    body     waiting for the rest of a body
    rest     waiting for the rest of a body that was answered before its end, such as one that is too long
    work     the application works, or streams
    answer   waiting for the client to read its answer
    closing  closed, with bytes that the client has not read
"""

import asyncio
import functools
import ipaddress
import json
import socket
from collections.abc import Sequence
from typing import Any, Literal, cast

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol

from .settings import Limits

SWEEP_SECONDS = 1.0
PIECE = 16_384
"""Bytes of a head given to the parser at once; it checks its length after each piece."""
REST_PAUSE = 0.02
"""Seconds between two reads of a body that was rejected."""
ACCEPTED_AT_ONCE = 16
"""Connections accepted before they are counted; few, since each takes a descriptor."""
RESERVED = 128
"""Descriptors that are kept for files, the storage and connections that are rejected."""
FEWEST = 16

Phase = Literal["head", "idle", "body", "rest", "work", "answer", "closing"]


def most_connections(limits: Limits) -> int:
    """Connections that a process may have: as many as wanted, but fewer than it may open files."""
    try:
        import resource
    except ImportError:  # Windows has no such limit
        return limits.max_connections
    descriptors = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
    if descriptors == resource.RLIM_INFINITY:
        return limits.max_connections
    return min(limits.max_connections, max(descriptors - RESERVED, FEWEST))


class Connections:
    """The open connections of a process, the oldest first."""

    def __init__(self, limits: Limits, proxies: Sequence[str] = ()) -> None:
        self.limits = limits
        self.most = most_connections(limits)
        self.phases: dict[LimitedProtocol, tuple[Phase, object, float]] = {}
        """What each was last seen doing, for which request, and since when."""
        self._proxies = [proxy if proxy == "*" else ipaddress.ip_network(proxy, strict=False) for proxy in proxies]
        self._timer: asyncio.TimerHandle | None = None

    def _is_proxy(self, address: str) -> bool:
        """Whether an address is a trusted proxy, which may have any number of connections."""
        try:
            return "*" in self._proxies or any(ipaddress.ip_address(address) in network for network in self._proxies)
        except ValueError:
            return False

    def admit(self, connection: "LimitedProtocol") -> bool:
        """Count a new connection; where there are too many, an old one without a request is closed for it."""
        address = connection.address
        full = len(self.phases) >= self.most and not self._close_oldest(None)
        many = sum(each.address == address for each in self.phases) >= self.limits.max_connections_per_address
        if full or (many and not self._is_proxy(address) and not self._close_oldest(address)):
            return False
        self.phases[connection] = ("head", None, connection.loop.time())
        if self._timer is None:
            self._timer = connection.loop.call_later(SWEEP_SECONDS, self.sweep, connection.loop)
        return True

    def _close_oldest(self, address: str | None) -> bool:
        """Close the oldest connection that never sent a request, or else the oldest without one now."""
        waiting = [
            each
            for each in self.phases
            if (address is None or each.address == address) and each.phase() in ("head", "idle", "closing")
        ]
        chosen = next((each for each in waiting if each.cycle is None), waiting[0] if waiting else None)
        if chosen is None:
            return False
        del self.phases[chosen]
        chosen.transport.abort()
        return True

    def sweep(self, loop: asyncio.AbstractEventLoop) -> None:
        """Close the connections that have been in one phase for too long."""
        now, limits = loop.time(), self.limits
        seconds: dict[Phase, float] = {
            "head": limits.head_seconds,
            "body": limits.body_seconds,
            "rest": limits.rest_seconds,
            "answer": limits.answer_seconds,
            "closing": limits.answer_seconds,
        }
        for connection, (seen, request, since) in [*self.phases.items()]:
            phase = connection.phase()
            if phase != seen or connection.cycle is not request:
                self.phases[connection] = (phase, connection.cycle, now)
            elif now - since > seconds.get(phase, float("inf")):
                connection.end(phase)
        self._timer = loop.call_later(SWEEP_SECONDS, self.sweep, loop) if self.phases else None


class LimitedProtocol(H11Protocol):
    """One connection."""

    def __init__(self, connections: Connections, **options: Any) -> None:
        super().__init__(**options)
        self._limited = connections
        self.address = ""

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Count it, or say that there are too many."""
        super().connection_made(transport)
        line = transport.get_extra_info("socket")
        if line is not None and line.family in (socket.AF_INET, socket.AF_INET6):
            line.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)  # head and body of an answer are two packets
        self.address = self.client[0] if self.client else ""
        if not self._limited.admit(self):
            self._say(503, "this server has too many connections; try again later")

    def connection_lost(self, exc: Exception | None) -> None:
        """It is closed."""
        self._limited.phases.pop(self, None)
        super().connection_lost(exc)
        self._unset_keepalive_if_required()

    def data_received(self, data: bytes) -> None:
        """Some bytes: of a head in pieces, of a body at once."""
        at = 0
        while at < len(data) and not self.transport.is_closing():
            end = len(data) if self.conn.their_state is h11.SEND_BODY else at + PIECE
            super().data_received(data[at:end])
            at = end
        if self.phase() == "rest":  # it was rejected: read it slowly, so that others do not wait for it
            self.flow.pause_reading()
            self.loop.call_later(REST_PAUSE, self._read_on)

    def _read_on(self) -> None:
        if not self.transport.is_closing():
            self.flow.resume_reading()

    def phase(self) -> Phase:
        """What it is doing."""
        if self.transport.is_closing():
            return "closing"
        if self.flow.write_paused:
            return "answer"
        is_answered = self.cycle is None or self.cycle.response_complete
        if self.conn.their_state is h11.SEND_BODY:
            return "rest" if is_answered else "body"
        if not is_answered:
            return "work"
        return "head" if self.cycle is None or self.conn.trailing_data[0] else "idle"

    def end(self, phase: Phase) -> None:
        """Close it, since it took too long."""
        if phase == "head":
            self._say(408, "the headers of this request did not arrive in time")
        elif phase == "body" and not self.cycle.response_started:
            self._say(408, "the body of this request did not arrive in time; nothing was changed")
        else:
            self.transport.abort()

    def send_400_response(self, msg: str) -> None:
        """Answer bytes that are not a request."""
        most = self.config.h11_max_incomplete_event_size or 0
        self._say(400, f"this is not a valid HTTP request, or its headers are longer than {most:,} bytes")

    def _say(self, status: int, sentence: str) -> None:
        """Answer with one sentence and close; just close where an answer was begun."""
        if self.conn.our_state in (h11.IDLE, h11.SEND_RESPONSE):
            body = json.dumps(
                {"type": "about:blank", "title": "Refused", "status": status, "detail": sentence}
            ).encode()
            self.transport.write(
                b"HTTP/1.1 %d Refused\r\ncontent-type: application/problem+json\r\ncontent-length: %d\r\n"
                b"x-content-type-options: nosniff\r\nconnection: close\r\n\r\n%b" % (status, len(body), body)
            )
        self.transport.close()


def protocol_class(limits: Limits, proxies: Sequence[str]) -> type[asyncio.Protocol]:
    """What uvicorn makes for each connection of a process."""
    return cast("type[asyncio.Protocol]", functools.partial(LimitedProtocol, Connections(limits, proxies)))

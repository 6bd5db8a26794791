"""One socket that speaks HTTP/1.1 and stays open.

The standard library's client reads headers as if they were mail and sends a body in a packet of its own, which takes a
quarter of the time of a durable decision; this one does what a server of ours, or a proxy before it, needs.
"""

import json
import select
import socket
import ssl
from collections.abc import Mapping
from functools import lru_cache
from typing import Any, NamedTuple

LONGEST_HEAD = 262_144
AT_ONCE = 65_536


class Answer(NamedTuple):
    """What a server answered, all of it."""

    status: int
    headers: Mapping[str, str]
    content: bytes

    @property
    def json(self) -> Any:
        """Its values."""
        return json.loads(self.content.decode())


class Incoming:
    """What comes in on a socket, in the pieces that it is asked for: most answers are one read."""

    def __init__(self, line: socket.socket) -> None:
        self._line = line
        self.kept = b""

    def until(self, mark: bytes) -> bytes:
        """What comes before a mark."""
        while (place := self.kept.find(mark)) < 0:
            if len(self.kept) > LONGEST_HEAD:
                raise ConnectionError("its answer has too many headers")
            self.kept += self._more("it closed the connection")
        found, self.kept = self.kept[:place], self.kept[place + len(mark) :]
        return found

    def exactly(self, size: int) -> bytes:
        """So many bytes."""
        parts, missing = [self.kept], size - len(self.kept)
        while missing > 0:
            parts.append(self._more("its answer was cut off"))
            missing -= len(parts[-1])
        found = b"".join(parts)
        self.kept = found[size:]
        return found[:size]

    def rest(self) -> bytes:
        """All that comes until the other side closes."""
        parts, self.kept = [self.kept], b""
        while more := self._line.recv(AT_ONCE):
            parts.append(more)
        return b"".join(parts)

    def _more(self, otherwise: str) -> bytes:
        more = self._line.recv(AT_ONCE)
        if not more:
            raise ConnectionError(otherwise)
        return more


class Head(NamedTuple):
    """What comes before the body of an answer."""

    status: int
    headers: Mapping[str, str]
    length: int | None
    is_chunked: bool
    keep: bool
    """Whether the connection may be used again."""


class Wire:
    """A connection to one host; not for several threads at once."""

    def __init__(self, host: str, port: int, *, secure: bool, seconds: float) -> None:
        self._host, self._port, self._secure, self._seconds = host, port, secure, seconds
        self._socket: socket.socket | None = None

    def close(self) -> None:
        """Close it; the next request opens it again."""
        found, self._socket = self._socket, None
        if found is not None:
            found.close()

    def exchange(self, request: bytes) -> Answer:
        """Send a whole request and read its whole answer; whatever goes wrong is an OSError."""
        try:
            line = self._opened()
            line.sendall(request)
            incoming = Incoming(line)
            answer, keep = _read(incoming)
        except BaseException:  # also an interrupt: what is on the way belongs to nobody
            self.close()
            raise
        if not keep or incoming.kept:
            self.close()
        return answer

    def _opened(self) -> socket.socket:
        """The socket; a new one where the server has closed it meanwhile."""
        if self._socket is not None and select.select([self._socket], [], [], 0)[0]:
            self.close()
        if self._socket is None:
            made = socket.create_connection((self._host, self._port), self._seconds)
            self._socket = made
            made.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            if self._secure:
                self._socket = ssl.create_default_context().wrap_socket(made, server_hostname=self._host)
        return self._socket


def _read(incoming: Incoming) -> tuple[Answer, bool]:
    """An answer, and whether the connection may be used again."""
    head = _head(incoming.until(b"\r\n\r\n"))
    while head.status < 200:  # news on the way to the answer
        head = _head(incoming.until(b"\r\n\r\n"))
    if head.status in (204, 304):
        return Answer(head.status, head.headers, b""), head.keep
    if head.is_chunked:
        return Answer(head.status, head.headers, _chunks(incoming)), head.keep
    if head.length is None:
        return Answer(head.status, head.headers, incoming.rest()), False
    return Answer(head.status, head.headers, incoming.exactly(head.length)), head.keep


@lru_cache(maxsize=128)
def _head(text: bytes) -> Head:
    """The headers of an answer; those of one server are much alike, within a second the same for many answers."""
    first, *lines = text.decode("latin-1").split("\r\n")
    said = first.split(None, 2)
    if len(said) < 2 or not said[0].startswith("HTTP/1."):
        raise ConnectionError("it does not speak HTTP")
    headers = {}
    for line in lines:
        name, _, value = line.partition(":")
        headers[name.lower()] = value.strip()
    length = headers.get("content-length")
    return Head(
        _number(said[1], 10),
        headers,
        None if length is None else _number(length, 10),
        "chunked" in headers.get("transfer-encoding", "").lower(),
        headers.get("connection", "").lower() != "close",
    )


def _number(text: str | bytes, base: int) -> int:
    try:
        found = int(text, base)
    except ValueError:
        found = -1
    if found < 0:
        raise ConnectionError("it does not speak HTTP")
    return found


def _chunks(incoming: Incoming) -> bytes:
    parts = []
    while size := _number(incoming.until(b"\r\n").partition(b";")[0].strip(), 16):
        parts.append(incoming.exactly(size))
        incoming.until(b"\r\n")
    while incoming.until(b"\r\n"):
        pass
    return b"".join(parts)

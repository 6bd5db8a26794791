"""One socket that speaks HTTP/1.1 and stays open.

The standard library's client reads headers as if they were mail and sends a body in a packet of its own, which takes a
quarter of the time of a durable decision; this one does what a server of ours, or a proxy before it, needs.
"""

import json
import select
import socket
import ssl
from typing import Any, NamedTuple

LONGEST_HEAD = 262_144
AT_ONCE = 65_536


class Answer(NamedTuple):
    """What a server answered, all of it."""

    status: int
    headers: dict[str, str]
    content: bytes

    @property
    def json(self) -> Any:
        """Its values."""
        return json.loads(self.content)


class Incoming:
    """What comes in on a socket, in the pieces that it is asked for: most answers are one read."""

    def __init__(self, line: socket.socket) -> None:
        self._line = line
        self.kept = bytearray()

    def until(self, mark: bytes) -> str:
        """The text before a mark."""
        while (place := self.kept.find(mark)) < 0:
            if len(self.kept) > LONGEST_HEAD:
                raise ConnectionError("its answer has too many headers")
            self._read_on("it closed the connection")
        return self._taken(place, len(mark)).decode("latin-1")

    def exactly(self, size: int) -> bytes:
        """So many bytes."""
        while len(self.kept) < size:
            self._read_on("its answer was cut off")
        return self._taken(size)

    def rest(self) -> bytes:
        """All that comes until the other side closes."""
        while more := self._line.recv(AT_ONCE):
            self.kept += more
        return self._taken(len(self.kept))

    def _read_on(self, otherwise: str) -> None:
        more = self._line.recv(AT_ONCE)
        if not more:
            raise ConnectionError(otherwise)
        self.kept += more

    def _taken(self, size: int, and_mark: int = 0) -> bytes:
        found = bytes(self.kept[:size])
        del self.kept[: size + and_mark]
        return found


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
    status = 100
    while status < 200:  # news on the way to the answer
        status, headers = _head(incoming)
    keep = headers.get("connection", "").lower() != "close"
    if status in (204, 304):
        return Answer(status, headers, b""), keep
    if "chunked" in headers.get("transfer-encoding", "").lower():
        return Answer(status, headers, _chunks(incoming)), keep
    if "content-length" not in headers:
        return Answer(status, headers, incoming.rest()), False
    return Answer(status, headers, incoming.exactly(_number(headers["content-length"], 10))), keep


def _head(incoming: Incoming) -> tuple[int, dict[str, str]]:
    first, *lines = incoming.until(b"\r\n\r\n").split("\r\n")
    said = first.split(None, 2)
    if len(said) < 2 or not said[0].startswith("HTTP/1."):
        raise ConnectionError("it does not speak HTTP")
    headers = {}
    for line in lines:
        name, _, value = line.partition(":")
        headers[name.lower()] = value.strip()
    return _number(said[1], 10), headers


def _number(text: str, base: int) -> int:
    try:
        found = int(text, base)
    except ValueError:
        found = -1
    if found < 0:
        raise ConnectionError("it does not speak HTTP")
    return found


def _chunks(incoming: Incoming) -> bytes:
    parts = []
    while size := _number(incoming.until(b"\r\n").partition(";")[0].strip(), 16):
        parts.append(incoming.exactly(size))
        incoming.until(b"\r\n")
    while incoming.until(b"\r\n"):
        pass
    return b"".join(parts)

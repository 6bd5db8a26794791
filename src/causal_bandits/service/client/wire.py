"""One socket that speaks HTTP/1.1 and stays open.

The standard library's client reads headers as if they were mail and sends a body in a packet of its own, which takes a
quarter of the time of a durable decision; this one does what a server of ours, or a proxy before it, needs.
"""

import json
import select
import socket
import ssl
from typing import Any, BinaryIO, NamedTuple

LONGEST_LINE = 65_536
MOST_HEADERS = 200


class Answer(NamedTuple):
    """What a server answered, all of it."""

    status: int
    headers: dict[str, str]
    content: bytes

    @property
    def json(self) -> Any:
        """Its values."""
        return json.loads(self.content)


class Wire:
    """A connection to one host; not for several threads at once."""

    def __init__(self, host: str, port: int, *, secure: bool, seconds: float) -> None:
        self._host, self._port, self._secure, self._seconds = host, port, secure, seconds
        self._socket: socket.socket | None = None
        self._file: BinaryIO | None = None

    def close(self) -> None:
        """Close it; the next request opens it again."""
        found, self._socket, self._file = (self._file, self._socket), None, None
        for each in found:
            if each is not None:
                each.close()

    def exchange(self, request: bytes) -> Answer:
        """Send a whole request and read its whole answer; whatever goes wrong is an OSError."""
        try:
            line, file = self._opened()
            line.sendall(request)
            answer, keep = _read(file)
        except BaseException:  # also an interrupt: what is on the way belongs to nobody
            self.close()
            raise
        if not keep:
            self.close()
        return answer

    def _opened(self) -> tuple[socket.socket, BinaryIO]:
        """The socket; a new one where the server has closed it meanwhile."""
        if self._socket is not None and select.select([self._socket], [], [], 0)[0]:
            self.close()
        if self._socket is None or self._file is None:
            made = socket.create_connection((self._host, self._port), self._seconds)
            self._socket = made
            made.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            if self._secure:
                self._socket = ssl.create_default_context().wrap_socket(made, server_hostname=self._host)
            self._file = self._socket.makefile("rb")
        return self._socket, self._file


def _read(file: BinaryIO) -> tuple[Answer, bool]:
    """An answer, and whether the connection may be used again."""
    status = 100
    while status < 200:  # news on the way to the answer
        status, headers = _head(file)
    keep = headers.get("connection", "").lower() != "close"
    if status in (204, 304):
        return Answer(status, headers, b""), keep
    if "chunked" in headers.get("transfer-encoding", "").lower():
        return Answer(status, headers, _chunks(file)), keep
    if "content-length" not in headers:
        return Answer(status, headers, file.read()), False
    return Answer(status, headers, _exactly(file, _number(headers["content-length"], 10))), keep


def _head(file: BinaryIO) -> tuple[int, dict[str, str]]:
    first = _line(file).split(None, 2)
    if len(first) < 2 or not first[0].startswith("HTTP/1."):
        raise ConnectionError("it does not speak HTTP")
    headers: dict[str, str] = {}
    while line := _line(file):
        name, _, value = line.partition(":")
        headers[name.lower()] = value.strip()
        if len(headers) > MOST_HEADERS:
            raise ConnectionError("its answer has too many headers")
    return _number(first[1], 10), headers


def _line(file: BinaryIO) -> str:
    line = file.readline(LONGEST_LINE)
    if not line.endswith(b"\n"):
        raise ConnectionError("it closed the connection")
    return line.decode("latin-1").rstrip("\r\n")


def _number(text: str, base: int) -> int:
    try:
        found = int(text, base)
    except ValueError:
        found = -1
    if found < 0:
        raise ConnectionError("it does not speak HTTP")
    return found


def _exactly(file: BinaryIO, size: int) -> bytes:
    content = file.read(size)
    if len(content) != size:
        raise ConnectionError("its answer was cut off")
    return content


def _chunks(file: BinaryIO) -> bytes:
    parts = []
    while size := _number(_line(file).partition(";")[0].strip(), 16):
        parts.append(_exactly(file, size))
        _line(file)
    while _line(file):
        pass
    return b"".join(parts)

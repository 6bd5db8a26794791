"""The direct way: a request that asks or tells, whole in one read, is answered in the call that reads it.

Everything else takes the server's usual way, with a task and messages to and from the application, which for one client
alone takes as long as the disk. The application says which requests it answers at once (`Front.at_once`, behind the
same gate). This relies on little of uvicorn: where a later release no longer calls one of these methods, a connection
is not known to be idle, and all its requests take the usual way.
"""

import http
from collections.abc import Callable
from functools import lru_cache
from typing import Any

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from .answering import Made
from .front import HEADERS, PRIVATE

AtOnce = Callable[[bytes, object, Callable[[Made], None]], bool]


class DirectProtocol(HttpToolsProtocol):
    """One connection."""

    def __init__(self, config: Any, server_state: Any, app_state: dict[str, Any], _loop: Any = None) -> None:
        super().__init__(config, server_state, app_state, _loop)
        self._at_once: AtOnce | None = None if config.access_log else getattr(config.app, "at_once", None)
        self._begun = self._read = self._answered = 0
        self._last = 0.0

    def data_received(self, data: bytes) -> None:
        """Some bytes: directly where they are a request between two others, and nothing waits to be sent."""
        if self._at_once is not None and self._begun == self._read == self._answered:
            is_clear = self.transport.get_write_buffer_size() == 0
            if is_clear and self._at_once(data, self.client, self._send):
                self._last = self.loop.time()
                self.server_state.total_requests += 1
                return
        super().data_received(data)

    def _send(self, made: Made) -> None:
        self.transport.write(written(made, self.server_state.default_headers))

    def on_message_begin(self) -> None:
        """The first byte of a request that takes the usual way."""
        self._begun += 1
        super().on_message_begin()

    def on_message_complete(self) -> None:
        """Its last byte."""
        self._read += 1
        super().on_message_complete()

    def on_response_complete(self) -> None:
        """Its answer."""
        self._answered += 1
        super().on_response_complete()

    def timeout_keep_alive_handler(self) -> None:
        """Close a connection that nobody used for so long; direct answers do not set the clock each time."""
        left = self._last + self.timeout_keep_alive - self.loop.time()
        if left <= 0:
            super().timeout_keep_alive_handler()
        else:
            self.timeout_keep_alive_task = self.loop.call_later(left, self.timeout_keep_alive_handler)


def written(made: Made, dated: list[tuple[bytes, bytes]]) -> bytes:
    """An answer as it is sent, with the headers that every answer has."""
    return b"%bcontent-length: %d\r\n\r\n%b" % (_head(made.status, made.media, *dated), len(made.content), made.content)


@lru_cache(maxsize=16)
def _head(status: int, media: str, *dated: tuple[bytes, bytes]) -> bytes:
    """All but the length, for a second or so."""
    lines = (*dated, (b"content-type", media.encode()), *HEADERS, PRIVATE)
    first = f"HTTP/1.1 {status} {http.HTTPStatus(status).phrase}\r\n".encode()
    return first + b"".join(b"%b: %b\r\n" % each for each in lines)

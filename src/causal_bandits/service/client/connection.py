"""A connection to a server: one socket for each thread, kept open; every refusal is an error of the library."""

import http.client
import json
import re
import select
import socket
import threading
import weakref
from collections.abc import Mapping
from typing import Any, NamedTuple
from urllib.parse import SplitResult, urlsplit

import numpy as np

from ... import errors
from ..._version import __version__
from ...errors import AccessError, CausalBanditsError, ObservationError, OptionError, StorageError, brief
from ...secrecy import may_hold_secret

SECONDS = 130.0
"""How long an answer may take: a little longer than the server waits for its storage."""


class Answer(NamedTuple):
    """What a server answered, all of it."""

    status: int
    headers: Mapping[str, str]
    content: bytes

    @property
    def json(self) -> Any:
        """Its values."""
        return json.loads(self.content.decode())


class Connection:
    """Requests to one server; any number of threads may use it."""

    def __init__(self, url: str, token: str | None, seconds: float = SECONDS) -> None:
        parts = _read(url)
        self._secure, self._host = parts.scheme == "https", str(parts.hostname)
        self._port = parts.port or (443 if self._secure else 80)
        self.root = parts.path.rstrip("/")
        self.place = f"{parts.scheme}://{parts.netloc}{self.root}"
        self._seconds = seconds
        self._local = threading.local()
        self._all: list[http.client.HTTPConnection] = []
        self._closed_at_last = weakref.finalize(self, _close, self._all)
        self._headers = {"User-Agent": f"causal-bandits/{__version__}", "Accept": "application/json"}
        if token is not None:
            if not isinstance(token, str) or not token.isascii() or not token.isprintable():
                raise OptionError("token is not a printable ASCII text; pass one of the server's tokens")
            self._headers["Authorization"] = f"Bearer {token}"

    def close(self) -> None:
        """Close the sockets; they are opened again when they are needed."""
        for each in [*self._all]:
            each.close()

    def ask(self, method: str, path: str, body: Any = None, *, headers: dict[str, str] | None = None) -> Answer:
        """Send a request under the API and wait for its answer; an error of the server is raised here."""
        given, content = {**self._headers, **(headers or {})}, None
        if body is not None:
            content = encoded(body)
            given["Content-Type"] = "application/json"
        answer = self._sent(method, f"{self.root}/api/v1{path}", content, given)
        if answer.status >= 400:
            raise error_in(answer, self.place)
        kind = answer.headers.get("content-type", "")
        if answer.content and not kind.startswith(("application/json", "application/vnd.apache.parquet")):
            raise StorageError(f"server {self.place} answered with something else than JSON; is it the right one?")
        return answer

    def _sent(self, method: str, path: str, body: bytes | None, headers: dict[str, str]) -> Answer:
        connection = self._kept()
        try:
            connection.request(method, path, body, headers)
            found = connection.getresponse()
            return Answer(found.status, {name.lower(): value for name, value in found.getheaders()}, found.read())
        except BaseException as error:  # also an interrupt: what is on the way belongs to nobody
            connection.close()
            if isinstance(error, ConnectionRefusedError):
                raise StorageError(f"server {self.place} cannot be reached; check that it runs") from None
            if not isinstance(error, OSError | http.client.HTTPException):
                raise
            reason = " ".join(str(error).split())[:160] or type(error).__name__
            raise StorageError(
                f"server {self.place} did not answer ({reason}); the last call may or may not have been stored; "
                "check, or repeat it"
            ) from None

    def _kept(self) -> http.client.HTTPConnection:
        """This thread's connection; opened again if the server has closed it meanwhile."""
        kept: http.client.HTTPConnection | None = getattr(self._local, "connection", None)
        if kept is None:
            kind = http.client.HTTPSConnection if self._secure else http.client.HTTPConnection
            kept = self._local.connection = kind(self._host, self._port, timeout=self._seconds)
            self._all.append(kept)
        elif kept.sock is not None and _is_readable(kept.sock):
            kept.close()
        return kept


def _is_readable(line: socket.socket) -> bool:
    """Whether something has come that nobody asked for: as a rule, the end. `select` fails for large descriptors."""
    if not hasattr(select, "poll"):
        return bool(select.select([line], [], [], 0)[0])
    poll = select.poll()
    poll.register(line, select.POLLIN)
    return bool(poll.poll(0))


def _close(connections: list[http.client.HTTPConnection]) -> None:
    for each in connections:
        each.close()


def _read(url: object) -> SplitResult:
    """The address of a server, checked."""
    try:
        parts = urlsplit(url) if isinstance(url, str) else None
        _ = None if parts is None else parts.port
    except ValueError:
        parts = None
    if parts is None or parts.scheme not in ("http", "https") or not parts.hostname or parts.query or parts.fragment:
        shown = "" if isinstance(url, str) and may_hold_secret(url) else f" {brief(url)}"
        raise OptionError(f"url{shown} is not the address of a server; write for example 'http://127.0.0.1:8080'")
    if parts.username is not None or parts.password is not None:
        raise OptionError("url holds a user or a password; pass the server's token as token=...")
    if not parts.netloc.isascii() or not re.fullmatch(r"[!-~]*", parts.path):
        raise OptionError("url holds signs that an address cannot have; write them as %XX, and a name as xn--...")
    return parts


def encoded(body: Any) -> bytes:
    """Values as JSON; numbers of numpy are numbers, and arms are mappings."""
    try:
        return _JSON.encode(body).encode()
    except (TypeError, ValueError, RecursionError) as error:
        raise ObservationError(f"these values cannot be sent as JSON ({' '.join(str(error).split())[:160]})") from None


def _plain(value: Any) -> Any:
    if isinstance(value, np.generic):
        return value.item()
    if hasattr(value, "keys"):
        return dict(value)
    if hasattr(value, "isoformat"):
        return value.isoformat()
    if hasattr(value, "tolist"):
        return value.tolist()
    raise TypeError(f"{brief(value)} is of type {type(value).__name__}")


_JSON = json.JSONEncoder(default=_plain, separators=(",", ":"))


def error_in(answer: Answer, place: str) -> CausalBanditsError:
    """The error that a server tells: the library's own where it names one."""
    try:
        told = json.loads(answer.content)
        sentence, name = str(told["detail"]), str(told.get("error"))
    except (ValueError, TypeError, LookupError, AttributeError):
        return StorageError(
            f"server {place} answered with status {answer.status} and no sentence; is it the right one?"
        )
    kind = getattr(errors, name, None)
    if isinstance(kind, type) and issubclass(kind, CausalBanditsError):
        return kind(sentence)
    if answer.status in (401, 403):
        return AccessError(sentence)
    return StorageError(f"server {place}: {sentence}") if answer.status >= 500 else OptionError(sentence)

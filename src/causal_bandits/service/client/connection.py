"""A connection to a server: one socket for each thread, kept open; every refusal is an error of the library."""

import json
import re
import threading
import weakref
from typing import Any
from urllib.parse import SplitResult, urlsplit

import numpy as np

from ... import errors
from ..._version import __version__
from ...errors import AccessError, CausalBanditsError, ObservationError, OptionError, StorageError, brief
from ...secrecy import may_hold_secret
from .wire import Answer, Wire

SECONDS = 130.0
"""How long an answer may take: a little longer than the server waits for its storage."""


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
        self._all: list[Wire] = []
        self._closed_at_last = weakref.finalize(self, _close, self._all)
        self._lines = (
            f"Host: {parts.netloc}\r\nUser-Agent: causal-bandits/{__version__}\r\nAccept: application/json\r\n"
        )
        if token is not None:
            if not isinstance(token, str) or not token.isascii() or not token.isprintable():
                raise OptionError("token is not a printable ASCII text; pass one of the server's tokens")
            self._lines += f"Authorization: Bearer {token}\r\n"

    def close(self) -> None:
        """Close the sockets; they are opened again when they are needed."""
        for each in [*self._all]:
            each.close()

    def ask(self, method: str, path: str, body: Any = None, *, headers: dict[str, str] | None = None) -> Answer:
        """Send a request under the API and wait for its answer; an error of the server is raised here."""
        lines, content = self._lines, b""
        for name, value in (headers or {}).items():
            lines += f"{name}: {value}\r\n"
        if body is not None:
            content = encoded(body)
            lines += "Content-Type: application/json\r\n"
        if method != "GET":
            lines += f"Content-Length: {len(content)}\r\n"
        head = f"{method} {self.root}/api/v1{path} HTTP/1.1\r\n{lines}\r\n"
        answer = self._sent(head.encode("latin-1") + content)
        if answer.status >= 400:
            raise error_in(answer, self.place)
        kind = answer.headers.get("content-type", "")
        if answer.content and not kind.startswith(("application/json", "application/vnd.apache.parquet")):
            raise StorageError(f"server {self.place} answered with something else than JSON; is it the right one?")
        return answer

    def _sent(self, request: bytes) -> Answer:
        try:
            return self._wire().exchange(request)
        except ConnectionRefusedError:
            raise StorageError(f"server {self.place} cannot be reached; check that it runs") from None
        except OSError as error:
            reason = " ".join(str(error).split())[:160] or type(error).__name__
            raise StorageError(
                f"server {self.place} did not answer ({reason}); the last call may or may not have been stored; "
                "check, or repeat it"
            ) from None

    def _wire(self) -> Wire:
        """This thread's socket."""
        kept: Wire | None = getattr(self._local, "wire", None)
        if kept is None:
            kept = Wire(self._host, self._port, secure=self._secure, seconds=self._seconds)
            self._local.wire = kept
            self._all.append(kept)
        return kept


def _close(connections: list[Wire]) -> None:
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

"""Webhooks: where alarms are posted, what is posted, and how a receiver knows that we sent it.

A request is posted once and not redirected. Its address is looked up before every request, and one that leads to this
machine or a private network is rejected unless that was permitted: the connection is made to the address that was
checked, so a name cannot mean another machine a moment later.
"""

import contextlib
import hashlib
import hmac
import http.client
import ipaddress
import json
import os
import socket
import ssl
import threading
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import urlsplit

from ..._version import __version__
from ...errors import CausalBanditsError, OptionError
from ..options import WEBHOOK_VARIABLE

SECONDS = 10.0
"""How long a receiver may take to answer."""
SIGNATURE = "X-Causal-Bandits-Signature"
TIME = "X-Causal-Bandits-Time"
SHORTEST_SECRET = 16
ANSWER_BYTES = 1024


class DeliveryError(CausalBanditsError):
    """A webhook did not confirm a message; it is tried again later."""


class Webhook(NamedTuple):
    """Where messages go, in which form, and whether that may be in a private network."""

    address: str
    format: str = "json"
    private: bool = False

    @property
    def shown(self) -> str:
        """The address as it may be shown: its path may be a secret."""
        parts = urlsplit(self.address)
        return self.address if self.address.startswith("$") else f"{parts.scheme}://{parts.hostname}/..."


def read_secret(file: str | None) -> bytes | None:
    """The secret of signatures: the content of a file without the white space around it."""
    if file is None:
        return None
    try:
        found = Path(file).read_bytes().strip()
    except OSError as error:
        raise OptionError(f"cannot read the webhook secret in {file!r} ({error.strerror})") from None
    if len(found) < SHORTEST_SECRET:
        raise OptionError(
            f"the webhook secret in {file!r} has {len(found)} bytes; expected at least {SHORTEST_SECRET}, such as from "
            "`openssl rand -hex 32`"
        )
    return found


def check_private(name: str, address: str, *, allowed: bool) -> None:
    """Reject an address in a private network; names are looked up when a message is sent."""
    host = None if address.startswith("$") else urlsplit(address).hostname
    if host is None or allowed:
        return
    if host == "localhost" or host.endswith(".localhost") or _is_private(_literal(host)):
        raise OptionError(
            f"{name} leads to {host}, which is this machine or in a private network; use a public address, or permit "
            "it (allow_private_webhook for a study, --allow-private-webhooks for a server)"
        )


def _literal(host: str) -> str | None:
    """The address that a host is, in any form that systems accept; None for a name."""
    with contextlib.suppress(ValueError):
        return str(ipaddress.ip_address(host))
    with contextlib.suppress(OSError):
        return socket.inet_ntoa(socket.inet_aton(host))
    return None


def _is_private(address: str | None) -> bool:
    if address is None:
        return False
    found = ipaddress.ip_address(address.partition("%")[0])
    inner = getattr(found, "ipv4_mapped", None) or getattr(found, "sixtofour", None)
    return not found.is_global or found.is_multicast or (inner is not None and not inner.is_global)


def sign(secret: bytes, time: str, body: bytes) -> str:
    """The signature of a message: HMAC-SHA256 of its time, a dot and its body.

    >>> sign(b"0123456789abcdef", "1700000000", b"{}")[:16]
    'sha256=e4f8e2eca'
    """
    return "sha256=" + hmac.new(secret, f"{time}.".encode() + body, hashlib.sha256).hexdigest()


def body_of(form: str, alarm: Mapping[str, Any]) -> bytes:
    """An alarm as the body of a request: its JSON, or a message for a Slack channel."""
    if form == "json":
        return json.dumps(alarm).encode()
    mark = ":rotating_light:" if alarm["level"] == "alarm" else ":information_source:"
    over = " (over by now)" if alarm["cleared"] else ""
    title = f"{mark} *{_plain(alarm['title'])}* in study *{_plain(alarm['study'])}*{over}"
    text = f"{title}\n{_plain(alarm['says'])}\n`{alarm['code']}` since {alarm['raised']}"
    return json.dumps({"text": text}).encode()


def _plain(text: str) -> str:
    """Text in which Slack finds no mention and no link."""
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


def post(webhook: Webhook, body: bytes, now: float, secret: bytes | None = None) -> None:
    """Post a body; raises a `DeliveryError` unless the receiver confirms it with a status from 200 to 299."""
    address = _resolved(webhook.address)
    parts = urlsplit(address)
    host, secure = parts.hostname or "", parts.scheme == "https"
    port = parts.port or (443 if secure else 80)
    time = str(int(now))
    headers = {"Content-Type": "application/json", "User-Agent": f"causal-bandits/{__version__}", TIME: time}
    if secret is not None:
        headers[SIGNATURE] = sign(secret, time, body)
    target = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
    try:
        connection = _connected(host, port, secure, webhook.private)
        with contextlib.closing(connection), _deadline(connection.sock):
            connection.request("POST", target, body, headers)
            answer = connection.getresponse()
            answer.read(ANSWER_BYTES)
    except (OSError, http.client.HTTPException) as error:
        reason = f"no answer within {SECONDS:g} seconds" if isinstance(error, TimeoutError) else _words(error)
        raise DeliveryError(reason) from None
    if not 200 <= answer.status < 300:
        raise DeliveryError(f"it answered {answer.status}")


def _words(error: BaseException) -> str:
    return (getattr(error, "strerror", None) or str(error) or type(error).__name__)[:200]


def _resolved(address: str) -> str:
    """The address of a webhook, where it is in an environment variable."""
    variable = WEBHOOK_VARIABLE.fullmatch(address)
    if variable is None:
        return address
    found = os.environ.get(variable[1], "")
    if urlsplit(found).scheme not in ("http", "https"):
        raise DeliveryError(f"environment variable {variable[1]} holds no http or https address")
    return found


def _connected(host: str, port: int, secure: bool, private: bool) -> http.client.HTTPConnection:
    """A connection to the first address of a host that answers, all of which may be used."""
    found = [str(each[4][0]) for each in socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)]
    refused = next((each for each in found if _is_private(each)), None)
    if refused is not None and not private:
        raise DeliveryError(f"{host} leads to {refused}, which is this machine or in a private network")
    made = http.client.HTTPConnection(host, port, timeout=SECONDS)
    made.sock = socket.create_connection((found[0], port), timeout=SECONDS)
    if secure:
        try:
            made.sock = ssl.create_default_context().wrap_socket(made.sock, server_hostname=host)
        except BaseException:
            made.sock.close()
            raise
    return made


@contextlib.contextmanager
def _deadline(connection: socket.socket) -> Any:
    """End a connection that takes too long as a whole, however little it sends at a time."""
    late = threading.Event()

    def end() -> None:
        late.set()
        with contextlib.suppress(OSError):
            connection.shutdown(socket.SHUT_RDWR)

    timer = threading.Timer(SECONDS, end)
    timer.daemon = True
    timer.start()
    try:
        yield
    except (OSError, http.client.HTTPException) as error:
        raise (TimeoutError() if late.is_set() else error) from None
    finally:
        timer.cancel()

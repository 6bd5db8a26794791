"""What a server is told: where studies are, who may do what, under which names it is reached."""

import ipaddress
import re
from dataclasses import dataclass, field

from ..errors import OptionError, brief
from .tokens import NO_TOKENS, Tokens

LOOPBACK = ("localhost", "127.0.0.1", "[::1]")
LOOPBACK_PROXIES = ("127.0.0.1", "::1")
BODY_BYTES = 1_000_000
BATCH_BYTES = 16_000_000
BATCH_ROWS = 100_000
_ROOT = re.compile(r"(/[A-Za-z0-9._~-]+)*")
_HOST = re.compile(r"(\*\.)?[a-z0-9._-]+|\[[0-9a-f:.]+\]")


@dataclass(frozen=True)
class Limits:
    """What a connection may take before its request is understood; each process counts by itself.

    Args:
        head_bytes: Longest head of a request: its first line and headers.
        headers: Most headers of a request.
        head_seconds: How long the head of a request may take to arrive.
        body_seconds: How long the body may take.
        rest_seconds: How long to read what is left of a body that was refused.
        answer_seconds: How long a client may leave an answer unread.
        idle_seconds: How long a connection stays open between two requests.
        connections: Most connections; fewer where the process may open fewer files.
        connections_per_address: Most connections from one address that is not a proxy's.
        held_bytes: Most bytes of all bodies that are in memory at once.
    """

    head_bytes: int = 65_536
    headers: int = 100
    head_seconds: float = 10.0
    body_seconds: float = 60.0
    rest_seconds: float = 5.0
    answer_seconds: float = 30.0
    idle_seconds: int = 30
    connections: int = 1000
    connections_per_address: int = 250
    held_bytes: int = 128_000_000


@dataclass(frozen=True, repr=False)
class ServiceSettings:
    """The settings of a service.

    Args:
        storage: Database URL: sqlite:///FILE or postgresql://...
        tokens: Who may do what; without tokens everybody who reaches the server may do everything.
        hosts: Names under which the server is reached (the header Host), besides those of this machine itself.
        root_path: Prefix under which a proxy shows the server, such as /bandits.
        body_bytes: Longest body of a request.
        batch_bytes: Longest body of a batch of outcomes or of an import.
        batch_rows: Most rows of a batch or an import.
        streams: Most streams of events at once, in one process.
        proxies: Addresses or networks of proxies that may say who the client is and whether it came by HTTPS
            (X-Forwarded-For, X-Forwarded-Proto); "*" for any.
        limits: What connections may take.
    """

    storage: str
    tokens: Tokens = NO_TOKENS
    hosts: tuple[str, ...] = ()
    root_path: str = ""
    body_bytes: int = BODY_BYTES
    batch_bytes: int = BATCH_BYTES
    batch_rows: int = BATCH_ROWS
    streams: int = 500
    proxies: tuple[str, ...] = LOOPBACK_PROXIES
    limits: Limits = Limits()
    all_hosts: frozenset[str] = field(init=False, default=frozenset())

    def __post_init__(self) -> None:
        root = self.root_path.rstrip("/")
        if not _ROOT.fullmatch(root):
            raise OptionError(f"root_path={brief(self.root_path)}; expected a path such as /bandits")
        hosts = {host.strip().lower() for host in self.hosts}
        for host in hosts:
            if not _HOST.fullmatch(host):
                raise OptionError(
                    f"host {brief(host)} is not a name; expected one such as bandits.example.com, no port"
                )
        for proxy in self.proxies:
            try:
                _ = None if proxy == "*" else ipaddress.ip_network(proxy, strict=False)
            except ValueError:
                raise OptionError(
                    f"proxy {brief(proxy)} is not an address; expected one such as 10.0.0.5 or 10.0.0.0/8, or *"
                ) from None
        object.__setattr__(self, "root_path", root)
        object.__setattr__(self, "all_hosts", frozenset({*LOOPBACK, *hosts}))


def is_loopback(host: str) -> bool:
    """Whether only this machine reaches a server that listens there.

    >>> is_loopback("127.0.0.1"), is_loopback("::1"), is_loopback("0.0.0.0"), is_loopback("localhost")
    (True, True, False, True)
    """
    if host.lower() == "localhost":
        return True
    try:
        return ipaddress.ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return False

"""What a server is told: where studies are, who may do what, under which names it is reached."""

import ipaddress
import re
from dataclasses import dataclass, field

from ..errors import OptionError, brief
from .tokens import NO_TOKENS, Tokens

LOOPBACK = ("localhost", "127.0.0.1", "[::1]")
BODY_BYTES = 1_000_000
BATCH_BYTES = 64_000_000
_ROOT = re.compile(r"(/[A-Za-z0-9._~-]+)*")
_HOST = re.compile(r"(\*\.)?[a-z0-9._-]+|\[[0-9a-f:.]+\]")


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
        streams: Most streams of events at once, in one process.
    """

    storage: str
    tokens: Tokens = NO_TOKENS
    hosts: tuple[str, ...] = ()
    root_path: str = ""
    body_bytes: int = BODY_BYTES
    batch_bytes: int = BATCH_BYTES
    streams: int = 500
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

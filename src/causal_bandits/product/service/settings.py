"""The options of a server: storage, tokens, host names, and limits."""

import ipaddress
import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any

from ...errors import OptionError, brief
from ..options import (
    FILE,
    FLAG,
    LOG_LEVEL,
    SECONDS,
    TEXT,
    TEXTS,
    AlarmOptions,
    Option,
    check_fields,
    checked_options,
    options_of,
    whole,
)
from .tokens import NO_TOKENS, Tokens, read_tokens

LOOPBACK = ("localhost", "127.0.0.1", "[::1]")
LOOPBACK_PROXIES = ("127.0.0.1", "::1")
_ROOT = re.compile(r"(/[A-Za-z0-9._~-]+)*")
_HOST = re.compile(r"(\*\.)?[a-z0-9._-]+|\[[0-9a-f:.]+\]")
BYTES = whole(1, 2**40)
COUNT = whole(1, 10**9)


@dataclass(frozen=True)
class Limits:
    """What a connection may take before its request is understood; each process counts by itself."""

    max_connections: Annotated[
        int, Option("Maximum open connections per process; also limited by open files.", COUNT)
    ] = 1000
    max_connections_per_address: Annotated[
        int, Option("Maximum open connections from one address that is not a proxy.", COUNT)
    ] = 250
    head_bytes: Annotated[int, Option("Maximum bytes of a request's first line and headers.", BYTES)] = 65_536
    max_headers: Annotated[int, Option("Maximum number of headers.", COUNT)] = 100
    head_seconds: Annotated[float, Option("Time limit for the headers of a request.", SECONDS)] = 10.0
    body_seconds: Annotated[float, Option("Time limit for the body of a request.", SECONDS)] = 60.0
    rest_seconds: Annotated[float, Option("Time limit for draining a rejected body.", SECONDS)] = 5.0
    answer_seconds: Annotated[float, Option("Timeout for unread responses.", SECONDS)] = 30.0
    idle_seconds: Annotated[float, Option("Timeout for idle connections.", SECONDS)] = 30.0
    held_bytes: Annotated[int, Option("Maximum bytes of all bodies in memory.", BYTES)] = 128_000_000

    def __post_init__(self) -> None:
        check_fields(self)


@dataclass(frozen=True)
class Process:
    """Where a server listens, in how many processes, and what it logs."""

    host: Annotated[str, Option("Address to listen on; any but loopback needs --token-file.", TEXT)] = "127.0.0.1"
    port: Annotated[int, Option("Port to listen on; 0 for a free one.", whole(0, 65535))] = 8080
    workers: Annotated[int, Option("Number of processes.", whole(1, 256))] = 1
    token_file: Annotated[
        str | None, Option("File with tokens, one per line, each after its scope: read, decide or admin.", FILE)
    ] = None
    access_log: Annotated[bool, Option("Log every request.", FLAG)] = False
    log_level: Annotated[str, Option("Lowest level to log.", LOG_LEVEL)] = "warning"

    def __post_init__(self) -> None:
        check_fields(self)


@dataclass(frozen=True, repr=False)
class ServiceSettings:
    """What is served, and to whom; without tokens, anyone who reaches the server may do everything."""

    storage: Annotated[str, Option("Database URL: sqlite:///FILE or postgresql://...", TEXT)] = "sqlite:///studies.db"
    tokens: Tokens = NO_TOKENS
    hosts: Annotated[
        tuple[str, ...],
        Option("Host name of the server, such as bandits.example.com.", TEXTS, "--allow-host"),
    ] = ()
    root_path: Annotated[str, Option("URL prefix of the server behind a proxy, such as /bandits.", TEXT)] = ""
    proxies: Annotated[
        tuple[str, ...],
        Option(
            "Address or network of a proxy to trust for X-Forwarded-For and X-Forwarded-Proto, in addition to this "
            "machine: 10.0.0.5, 172.16.0.0/12, or * for any.",
            TEXTS,
            "--proxy",
        ),
    ] = LOOPBACK_PROXIES
    body_bytes: Annotated[int, Option("Maximum bytes of a request body.", BYTES)] = 1_000_000
    batch_bytes: Annotated[int, Option("Maximum bytes of a batch of outcomes or of an import.", BYTES)] = 16_000_000
    batch_rows: Annotated[int, Option("Maximum rows of a batch or an import.", COUNT)] = 100_000
    streams: Annotated[int, Option("Maximum event streams per process.", COUNT)] = 500
    limits: Limits = Limits()
    alarms: AlarmOptions = field(default_factory=AlarmOptions)
    all_hosts: frozenset[str] = field(init=False, default=frozenset())

    def __post_init__(self) -> None:
        check_fields(self)
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


class ServerOptions(Limits, AlarmOptions, ServiceSettings, Process):
    """All options of `causal-bandits serve`: each is a flag, an environment variable and a key of its file."""


def server_options(given: Mapping[str, Any], file: Path | None = None) -> tuple[Process, ServiceSettings]:
    """A server from options and a TOML file; an option that is given comes before the file's."""
    options = {**_in_file(file), **checked_options(ServerOptions, given)}
    limits, process = Limits(**_those_of(Limits, options)), Process(**_those_of(Process, options))
    alarms = AlarmOptions(**_those_of(AlarmOptions, options))
    more = _those_of(ServiceSettings, options)
    host = process.host
    named = () if host in ("0.0.0.0", "::") else (f"[{host}]" if ":" in host else host,)
    more["hosts"] = (*named, *more.get("hosts", ()))
    more["proxies"] = (*LOOPBACK_PROXIES, *more.get("proxies", ()))
    tokens = NO_TOKENS if process.token_file is None else read_tokens(Path(process.token_file))
    return process, ServiceSettings(**more, tokens=tokens, limits=limits, alarms=alarms)


def _those_of(model: type, options: Mapping[str, Any]) -> dict[str, Any]:
    return {name: options[name] for name in options_of(model) if name in options}


def _in_file(file: Path | None) -> dict[str, Any]:
    """The options of a TOML file."""
    if file is None:
        return {}
    try:
        found = tomllib.loads(file.read_text(encoding="utf-8"))
    except (OSError, UnicodeError, tomllib.TOMLDecodeError) as error:
        reason = getattr(error, "strerror", None) or " ".join(str(error).split())[:160]
        raise OptionError(f"cannot read the configuration file {str(file)!r} ({reason}); expected TOML") from None
    try:
        return checked_options(ServerOptions, found)
    except OptionError as error:
        raise OptionError(f"configuration file {str(file)!r}: {error}") from None


def is_loopback(host: str) -> bool:
    """Whether an address is reachable only from this machine.

    >>> is_loopback("127.0.0.1"), is_loopback("::1"), is_loopback("0.0.0.0"), is_loopback("localhost")
    (True, True, False, True)
    """
    if host.lower() == "localhost":
        return True
    try:
        return ipaddress.ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return False

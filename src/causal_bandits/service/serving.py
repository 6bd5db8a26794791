"""Running the application: one socket, one process or several, and an end that finishes what it began."""

import functools
import signal
import socket
import sys
from collections.abc import Callable
from typing import Any

from ..errors import OptionError, missing_extra, whole_number
from ..processes import STOPPING
from .settings import LOOPBACK_PROXIES, Limits, ServiceSettings, is_loopback
from .workers import run_workers

try:
    import uvicorn
    from fastapi import FastAPI

    from .app import create_app
    from .limits import ACCEPTED_AT_ONCE, protocol_class
except ImportError as error:
    raise missing_extra(error.name or "fastapi", "service") from None

MOST_WORKERS = 256
BACKLOG = 2048
"""Connections that the system queues."""
SWITCH_SECONDS = 0.0005
"""How long a thread keeps the interpreter while others wait; with Python's 0.005 a request waits long for an export."""
FINISH_SECONDS = 30
"""How long answers in flight may take after a signal to stop."""


class Server(uvicorn.Server):
    """A server that ends its streams of events when it is told to stop; other answers are finished."""

    def __init__(self, config: uvicorn.Config, started: Callable[[], None] | None = None) -> None:
        super().__init__(config)
        self._started = started

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Say when requests are answered."""
        sys.setswitchinterval(SWITCH_SECONDS)
        await super().startup(sockets)
        for each in sockets or ():
            each.listen(BACKLOG)  # asyncio accepts as many at once as it was told to queue
        if self._started is not None and self.started:
            self._started()

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """End the streams first: they would not end by themselves."""
        app: Any = self.config.loaded_app
        while not hasattr(app, "state"):
            app = app.app
        app.state.closing.set()
        await super().shutdown(sockets)


def serve(
    settings: ServiceSettings,
    *,
    host: str = "127.0.0.1",
    port: int = 8080,
    workers: int = 1,
    access_log: bool = False,
    started: Callable[[str], None] | None = None,
) -> None:
    """Serve until a signal says to stop.

    Args:
        settings: What is served, and to whom.
        host: Address to listen on; any but loopback needs tokens.
        port: Port to listen on; 0 for a free one.
        workers: Processes that answer.
        access_log: Whether to log every request.
        started: Called with the address once requests are answered (with several workers: once they start).
    """
    check_reach(settings, host)
    workers = whole_number("workers", workers, 1, MOST_WORKERS)
    listening = listen(host, port)
    shown = f"[{host}]" if ":" in host else host
    address = f"http://{shown}:{listening.getsockname()[1]}{settings.root_path}"
    try:
        if workers == 1:
            config = configured(create_app(settings), settings, access_log=access_log)
            for number in STOPPING:
                signal.signal(number, signal.SIG_IGN)  # what is in force after the server has stopped by a signal
            Server(config, None if started is None else functools.partial(started, address)).run(sockets=[listening])
            return
        create_app(settings).state.registry.close()  # a storage that cannot be used is said once, not by every worker
        if started is not None:
            started(address)
        run_workers(workers, functools.partial(work, settings, access_log), listening)
    finally:
        listening.close()


def check_reach(settings: ServiceSettings, host: str) -> None:
    """Refuse to let other machines in without tokens."""
    if not is_loopback(host) and not settings.tokens:
        raise OptionError(
            f"host {host!r} can be reached from other machines, and there is no token; pass --token-file FILE, "
            "or listen on 127.0.0.1"
        )


def work(settings: ServiceSettings, access_log: bool, listening: socket.socket) -> None:
    """What one of several processes does."""
    Server(configured(create_app(settings), settings, access_log=access_log)).run(sockets=[listening])


def configured(app: FastAPI, settings: ServiceSettings | None = None, *, access_log: bool = False) -> uvicorn.Config:
    """How uvicorn runs the application."""
    limits = Limits() if settings is None else settings.limits
    proxies = LOOPBACK_PROXIES if settings is None else settings.proxies
    return uvicorn.Config(
        app,
        loop="asyncio",
        http=protocol_class(limits, proxies),
        h11_max_incomplete_event_size=limits.head_bytes,
        backlog=ACCEPTED_AT_ONCE,
        log_level="info" if access_log else "error",
        access_log=access_log,
        server_header=False,
        ws="none",
        forwarded_allow_ips=[*proxies],
        timeout_keep_alive=limits.idle_seconds,
        timeout_graceful_shutdown=FINISH_SECONDS,
    )


def listen(host: str, port: int) -> socket.socket:
    """A socket that listens, or one sentence."""
    number = whole_number("port", port, 0, 65535)
    try:
        family = socket.AF_INET6 if ":" in host else socket.AF_INET
        made = socket.create_server((host.strip("[]"), number), family=family, backlog=BACKLOG)
    except OSError as error:
        reason = error.strerror or str(error)
        raise OptionError(f"cannot listen on {host}, port {number} ({reason}); pass another --host or --port") from None
    made.set_inheritable(True)
    return made

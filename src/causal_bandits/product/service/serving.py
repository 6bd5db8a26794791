"""Run the application: one socket, one process or several, and a graceful shutdown."""

import functools
import logging
import math
import multiprocessing
import signal
import socket
import sys
import threading
from collections.abc import Callable
from multiprocessing.process import BaseProcess
from typing import Any

from ...core.logs import log_to_stderr
from ...core.processes import STOPPING, begin_worker
from ...core.secrecy import without_secrets
from ...errors import EngineError, OptionError, missing_extra, whole_number
from .settings import LOOPBACK_PROXIES, Limits, Process, ServiceSettings, is_loopback

try:
    import uvicorn
    from fastapi import FastAPI

    from .app import create_app
    from .limits import ACCEPTED_AT_ONCE, protocol_class
except ImportError as error:
    raise missing_extra(error.name or "fastapi", "service") from None

log = logging.getLogger("causal_bandits.service")
DEFAULTS = Process()
BACKLOG = 2048
"""Connections that the system queues."""
SWITCH_SECONDS = 0.0005
"""How long a thread keeps the interpreter while others wait; with Python's 0.005 a request waits long for an export."""
FINISH_SECONDS = 30
"""How long answers in flight may take after a signal to stop."""


class Server(uvicorn.Server):
    """A server that ends its event streams when it stops; other responses are finished."""

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
    settings: ServiceSettings, process: Process = DEFAULTS, *, started: Callable[[str], None] | None = None
) -> None:
    """Serve until a signal says to stop.

    Args:
        settings: What is served, and to whom.
        process: Where the server listens, in how many processes, and what it logs.
        started: Called with the address once requests are answered (with several workers: once they start).
    """
    check_reach(settings, process.host)
    listening = listen(process.host, process.port)
    shown = f"[{process.host}]" if ":" in process.host else process.host
    address = f"http://{shown}:{listening.getsockname()[1]}{settings.root_path}"
    log_to_stderr(process.log_level)
    log.info("serving %s at %s, %d processes", without_secrets(settings.storage), address, process.workers)
    try:
        if process.workers == 1:
            config = configured(create_app(settings), settings, process)
            for number in STOPPING:
                signal.signal(number, signal.SIG_IGN)  # what is in force after the server has stopped by a signal
            Server(config, None if started is None else functools.partial(started, address)).run(sockets=[listening])
            return
        create_app(settings).state.registry.close()  # a storage error is reported once, not by every worker
        if started is not None:
            started(address)
        run_workers(settings, process, listening)
    finally:
        log.info("stopped")
        listening.close()


def check_reach(settings: ServiceSettings, host: str) -> None:
    """Reject to let other machines in without tokens."""
    if not is_loopback(host) and not settings.tokens:
        raise OptionError(
            f"host {host!r} can be reached from other machines, and there is no token; pass --token-file FILE, "
            "or listen on 127.0.0.1"
        )


def configured(app: FastAPI, settings: ServiceSettings | None = None, process: Process = DEFAULTS) -> uvicorn.Config:
    """How uvicorn runs the application."""
    limits = Limits() if settings is None else settings.limits
    proxies = LOOPBACK_PROXIES if settings is None else settings.proxies
    quiet = {"warning": "error"}  # it warns of every request that is not HTTP
    level = "info" if process.access_log else quiet.get(process.log_level, process.log_level)
    return uvicorn.Config(
        app,
        loop="asyncio",
        http=protocol_class(limits, proxies),
        h11_max_incomplete_event_size=limits.head_bytes,
        backlog=ACCEPTED_AT_ONCE,
        log_level=level,
        access_log=process.access_log,
        server_header=False,
        ws="none",
        forwarded_allow_ips=[*proxies],
        timeout_keep_alive=math.ceil(limits.idle_seconds),
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


# Several processes behind one socket; one that ends unexpectedly is replaced


LOOK_SECONDS = 0.2
FEWEST_SECONDS = 5.0
"""A worker that ends sooner than this after its start is a failure, and several in a row are an error."""
MOST_FAILURES = 5


def run_workers(settings: ServiceSettings, process: Process, listening: socket.socket) -> None:
    """Serve in several processes until a signal says to stop; then each finishes what it began."""
    stop = threading.Event()
    for number in STOPPING:
        signal.signal(number, lambda _number, _frame: stop.set())
    context = multiprocessing.get_context("spawn")

    def started() -> BaseProcess:
        made = context.Process(target=_run, args=(settings, process, listening))
        made.start()
        return made

    workers = [started() for _ in range(process.workers)]
    failures = 0.0
    try:
        while not stop.wait(LOOK_SECONDS):
            ended = [index for index, worker in enumerate(workers) if not worker.is_alive()]
            failures = failures + len(ended) if ended else max(failures - LOOK_SECONDS / FEWEST_SECONDS, 0.0)
            if failures > MOST_FAILURES * process.workers:
                raise EngineError("workers of the server end as soon as they start; their messages are above")
            for index in ended:
                workers[index] = started()
    finally:
        for worker in workers:
            worker.terminate()
        for worker in workers:
            worker.join()


def _run(settings: ServiceSettings, process: Process, listening: socket.socket) -> None:
    """What one of several processes does."""
    begin_worker()
    log_to_stderr(process.log_level)
    Server(configured(create_app(settings), settings, process)).run(sockets=[listening])

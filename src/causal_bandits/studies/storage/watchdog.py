"""A watchdog for servers that stop answering in the middle of a transaction.

The server ends statements that take too long by itself. One whose process is stopped, or a network that swallows what
is sent, cannot: then the connection is cut here, and whoever waits on it gets an error.
"""

import contextlib
import socket
import threading
import time
import weakref
from typing import Any, Protocol

from . import patience

EVERY = 1.0
"""Seconds between two looks."""
GRACE = 15.0
"""Seconds more than patience, so that a server that works is the first to speak."""


class Watched(Protocol):
    """A connection, and how many transactions it has begun."""

    raw: Any
    transactions: int


_links: "weakref.WeakSet[Watched]" = weakref.WeakSet()
_thread: threading.Thread | None = None
_lock = threading.Lock()


def watch(link: Watched) -> None:
    """Cut this connection when one statement on it gets no answer for too long."""
    global _thread  # noqa: PLW0603
    with _lock:
        _links.add(link)
        if _thread is None or not _thread.is_alive():
            _thread = threading.Thread(target=_look, name="causal-bandits-watchdog", daemon=True)
            _thread.start()


def start_afresh() -> None:
    """In a child process there is no watchdog yet."""
    global _thread, _lock
    _thread, _lock = None, threading.Lock()
    _links.clear()


def _look() -> None:
    since: dict[int, tuple[int, float]] = {}
    while True:
        time.sleep(EVERY)
        now = time.monotonic()
        links = list(_links)
        since = {key: seen for key, seen in since.items() if key in {id(link) for link in links}}
        for link in links:
            if not _waits(link):
                since.pop(id(link), None)
                continue
            number, start = since.get(id(link), (link.transactions, now))
            if number != link.transactions:
                number, start = link.transactions, now
            since[id(link)] = number, start
            if now - start > patience.PATIENCE + GRACE:
                _cut(link)


def _waits(link: Watched) -> bool:
    """Whether a statement was sent and not answered."""
    try:
        return not link.raw.closed and link.raw.info.transaction_status.name == "ACTIVE"
    except Exception:
        return False


def _cut(link: Watched) -> None:
    with contextlib.suppress(Exception), socket.socket(fileno=socket.dup(link.raw.fileno())) as end:
        end.shutdown(socket.SHUT_RDWR)

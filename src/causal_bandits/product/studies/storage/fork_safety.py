"""Forks: a child process must not inherit a lock that another thread held, a connection, or a half-updated state.

A fork waits until no other thread is inside a study (threads that only wait for a busy database do not count), so that
no lock of SQLite or of the compiler is held while the process is copied. Then the connections to SQLite are closed:
SQLite remembers per process which locks it holds on a file, and a child that inherited this memory would believe that
it holds locks which only its parent has. In the child every study starts afresh from its storage.
"""

import os
import threading
import time
import weakref
from collections.abc import Callable
from typing import Any, TypeVar

T = TypeVar("T")

FORK_SECONDS = 30.0
"""How long a fork waits for other threads, at most."""


_members: "weakref.WeakSet[Any]" = weakref.WeakSet()
_closed_before: "weakref.WeakSet[Any]" = weakref.WeakSet()
_gate = threading.RLock()
_inside: dict[int, int] = {}
"""The threads inside; each changes its own entry only."""


def register(member: Any) -> None:
    """From now on every child calls `member.start_afresh()`: it forgets locks, connections and states of the parent."""
    _members.add(member)


def close_before_fork(engine: Any) -> None:
    """From now on every fork calls `engine.dispose()` first: no child may inherit its connections."""
    _closed_before.add(engine)


def inside(work: Callable[[], T]) -> T:
    """Do something that no fork of another thread may cut in two."""
    me = threading.get_ident()
    depth = _inside.get(me, 0)
    try:
        if depth == 0:
            with _gate:
                _inside[me] = 1
        return work()
    finally:  # no call into Python here: an interrupt could come between
        if depth:
            _inside[me] = depth
        else:
            _inside.pop(me, None)


def pause(seconds: float) -> None:
    """Sleep; a fork may happen meanwhile."""
    me = threading.get_ident()
    depth = _inside.pop(me, 0)
    try:
        time.sleep(seconds)
    finally:
        if depth:
            with _gate:
                _inside[me] = depth


def _before() -> None:
    _gate.acquire()
    end = time.monotonic() + FORK_SECONDS
    me = threading.get_ident()
    while any(thread != me for thread in list(_inside)) and time.monotonic() < end:
        time.sleep(0.001)
    for engine in list(_closed_before):
        engine.dispose()


def _in_parent() -> None:
    _gate.release()


def _in_child() -> None:
    global _gate  # noqa: PLW0603
    _gate = threading.RLock()
    depth = _inside.get(threading.get_ident(), 0)
    _inside.clear()
    if depth:
        _inside[threading.get_ident()] = depth
    for member in list(_members):
        member.start_afresh()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_before, after_in_parent=_in_parent, after_in_child=_in_child)

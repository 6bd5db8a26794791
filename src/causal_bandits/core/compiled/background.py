"""A background process that compiles into the cache while this one runs interpreted.

One process per program, started a second after the first call that lacked compiled code, so that short programs start
none. It has the lowest priority and one thread, waits while another process compiles into the same folder, and ends
with its parent, however that ends.

The parent sends a line of JSON for each function: its module, its name and the types of its arguments. The answer is
a line, too: empty if the code is ready, else a sentence that says why not.
"""

import atexit
import contextlib
import importlib
import json
import os
import queue
import subprocess
import sys
import threading
import time
import warnings
from pathlib import Path
from typing import IO, Any

import numpy as np

from ...errors import CacheWarning, warn_once
from . import cache

PAUSE_SECONDS = 1.0
"""How long a program runs before a compiler is started for it."""
COMMAND = "from causal_bandits.core.compiled import background; background.serve()"

_requests: "queue.SimpleQueue[tuple[Any, list[Any]]]" = queue.SimpleQueue()
_started = threading.Lock()
_ending = threading.Event()


def request(function: Any, arguments: tuple[Any, ...]) -> None:
    """Compile a function for the types of these arguments; types that cannot be described stay interpreted."""
    try:
        described = [describe(each) for each in arguments]
    except TypeError:
        return
    _requests.put((function, described))
    if sys.executable and _started.acquire(blocking=False):
        threading.Thread(target=_send_all, name="compiles in the background", daemon=True).start()


def _send_all() -> None:
    """Send requests to a compiler, one after the other, and load what it has compiled."""
    time.sleep(PAUSE_SECONDS)
    with contextlib.suppress(OSError):  # no process can be started, or it was killed
        compiler = _start()
        assert compiler.stdin is not None
        assert compiler.stdout is not None
        while True:
            function, described = _requests.get()
            line = json.dumps([function.__module__, function.__name__, described])
            compiler.stdin.write(f"{line}\n")
            compiler.stdin.flush()
            answer = compiler.stdout.readline()
            if not answer:
                break
            if answer == "\n":
                function.load(tuple(map(specimen, described)), compile_now=False, again=False)
            else:
                warn_once("compiled code, background", answer.strip())
    if not _ending.is_set():
        warn_once("compiled code, background", "the background compiler has ended; the program continues interpreted")


def _start() -> "subprocess.Popen[str]":
    path = os.pathsep.join(filter(None, [str(Path(__file__).parents[3]), os.environ.get("PYTHONPATH")]))
    compiler = subprocess.Popen(
        [sys.executable, "-P", "-c", COMMAND],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        env={**os.environ, "PYTHONPATH": path, "CAUSAL_BANDITS_COMPILE": "now"},
        start_new_session=True,  # Ctrl-C in a terminal is for the parent
    )
    atexit.register(_stop, compiler)
    return compiler


def _stop(compiler: "subprocess.Popen[str]") -> None:
    _ending.set()
    compiler.kill()
    compiler.wait()


def serve() -> None:
    """The background process: compile the requests on standard input until it ends, with the parent."""
    with contextlib.suppress(AttributeError, OSError):  # Windows has no such priorities
        os.nice(19)
    lines: queue.SimpleQueue[str] = queue.SimpleQueue()
    threading.Thread(target=_listen, args=(sys.stdin, lines), daemon=True).start()
    while True:
        module, name, described = json.loads(lines.get())
        sys.stdout.write(f"{_compile(module, name, described)}\n")
        sys.stdout.flush()


def _listen(stream: IO[str], lines: "queue.SimpleQueue[str]") -> None:
    for line in stream:
        lines.put(line)
    os._exit(0)  # also in the middle of compiling


def _compile(module: str, name: str, described: list[Any]) -> str:
    """Compile one function; returns one line of output."""
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        try:
            function: Any = getattr(importlib.import_module(module), name)
            with cache.locked("background"):  # one background compiler at a time, of however many programs
                function.load(tuple(map(specimen, described)), compile_now=True)
        except Exception as error:
            reason = " ".join(str(error).split())[:200]
            return f"{module}.{name} cannot be compiled ({reason}); it runs interpreted"
    told = [str(each.message) for each in said if issubclass(each.category, CacheWarning)]
    return told[0] if told else ""


def describe(value: Any) -> Any:
    """What decides how numba compiles for an argument, as JSON; TypeError for what is not known here."""
    if isinstance(value, np.ndarray):
        layout = "C" if value.flags.c_contiguous else "F" if value.flags.f_contiguous else "A"
        return ["array", value.dtype.str, value.ndim, layout, bool(value.flags.writeable)]
    if isinstance(value, np.random.Generator):
        return ["generator"]
    if isinstance(value, tuple):
        kind = type(value)
        home = [kind.__module__, kind.__qualname__] if hasattr(kind, "_fields") else None
        return ["tuple", home, [describe(each) for each in value]]
    if isinstance(value, np.generic):
        return ["scalar", value.dtype.str]
    if value is None or type(value) in {bool, int, float}:
        return ["value", value if value is None else type(value)(0)]
    raise TypeError(f"{type(value).__name__} cannot be described")


def specimen(described: Any) -> Any:
    """A value that numba compiles for as for the one described."""
    kind, *about = described
    if kind == "array":
        dtype, dimensions, layout, writeable = about
        array = np.zeros((2,) * dimensions, dtype, order="F" if layout == "F" else "C")
        if layout == "A":
            array = np.zeros((4,) * dimensions, dtype)[(slice(None, None, 2),) * dimensions]
        array.flags.writeable = writeable
        return array
    if kind == "tuple":
        home, fields = about[0], map(specimen, about[1])
        return tuple(fields) if home is None else getattr(importlib.import_module(home[0]), home[1])(*fields)
    if kind == "scalar":
        return np.zeros((), about[0])[()]
    return np.random.default_rng(0) if kind == "generator" else about[0]

"""Functions that run interpreted immediately, and compiled as soon as their compiled code is available.

`compiled` marks a function of arrays, numbers, Generators and states (NamedTuples of these). Python calls it like any
other; what happens then is decided by CAUSAL_BANDITS_COMPILE:

    background  load compiled code from the cache; if there is none, run the Python function while a background
                process compiles (the default)
    now         load, or compile before running; so does whatever runs within `compiling_first`
    never       run the Python function

Both ways give the same results. Nothing here imports numba: `engine` does, when compiled code is first used.
"""

import contextlib
import functools
import importlib
import inspect
import os
import sys
import threading
from collections.abc import Callable, Iterator
from contextvars import ContextVar
from typing import Any, Generic, NamedTuple, ParamSpec, TypeVar, cast

import numpy as np

from ...errors import listing, missing_extra, warn_once
from ...libraries import installed
from . import background, cache

P = ParamSpec("P")
R = TypeVar("R")
F = TypeVar("F", bound=Callable[..., object])
K = TypeVar("K", bound=type)

PACKAGE = __name__.partition(".")[0]
VARIABLE = "CAUSAL_BANDITS_COMPILE"
MODES = ("background", "now", "never")


class NotCompiled(Exception):  # noqa: N818
    """There is no compiled code for these types of arguments, and it must not be compiled now."""


class _Thread(threading.local):
    interpreting = False
    """Whether this thread is inside an interpreted function; what that calls runs interpreted, too."""


_thread = _Thread()
_first: ContextVar[str | None] = ContextVar("compiling_first", default=None)
known: list[Any] = []
"""Every compiled function and operation, and every class of states, in the order in which they were made."""
listeners: list[Callable[[Any], None]] = [known.append]
"""What is called with each of them; `engine` joins when it is loaded."""


def _announce(thing: Any) -> None:
    for each in listeners:
        each(thing)


def mode() -> str:
    """How calls are run: one of `MODES`."""
    given = os.environ.get(VARIABLE, "background")
    if given in MODES:
        found = "now" if _first.get() is not None and given != "never" else given
        return found if found == "never" or installed("numba") else _without_numba(found)
    expected = listing(MODES)
    warn_once(VARIABLE, f"{VARIABLE} is {given!r}, but must be one of {expected}; it is taken as 'background'")
    return "background"


def _without_numba(wanted: str) -> str:
    if wanted == "now" and not _is_worker():
        missing = missing_extra("numba", "fast")
        warn_once("numba", f"{missing}; until then long simulations run interpreted, which is slow")
    return "never"


def _is_worker() -> bool:
    """Whether this is a worker process of another one, which says such things itself."""
    processes = sys.modules.get("multiprocessing.process")
    return processes is not None and processes.parent_process() is not None


@contextlib.contextmanager
def compiling_first(what: str = "") -> Iterator[None]:
    """Within this context, compile functions before they run, with one line of output; for long work.

    Args:
        what: What is compiled, in words; nothing is said if it is empty.
    """
    token = _first.set(what)
    try:
        mode()  # says at once if there is no compiler
        yield
    finally:
        _first.reset(token)


def say_compiling() -> None:
    """Say that `compiling_first` has something to compile, once per process; worker processes are silent."""
    what = None if os.environ.get(VARIABLE) == "now" else _first.get()
    if what and not _is_worker() and what not in _said:
        _said.add(what)
        print(f"Compiling {what} (once; later runs load it from the cache)", file=sys.stderr)  # noqa: T201


_said: set[str] = set()


class Compiled(Generic[P, R]):
    """A function that Python and compiled code can call; for compiled callers it becomes a part of them."""

    __name__: str
    __qualname__: str

    def __init__(self, function: Callable[P, R]) -> None:
        functools.update_wrapper(self, function)
        self.py_func = function
        self.dispatcher: Any = None
        """numba's, which `engine` makes when it is first needed."""
        self._ready: dict[tuple[type, ...], Callable[..., Any]] = {}
        self._waiting: set[tuple[type, ...]] = set()
        _announce(self)

    def __repr__(self) -> str:
        return f"<compiled function {self.__module__}.{self.__qualname__}>"

    def __call__(self, *arguments: P.args, **named: P.kwargs) -> R:
        """Run compiled code if available, otherwise the Python function."""
        if _thread.interpreting:
            return self.py_func(*arguments, **named)
        given = arguments if not named else self._in_order(arguments, named)
        classes = tuple(map(type, given))
        run = self._ready.get(classes)
        if run is None:
            run = self._prepare(given)
        try:
            return cast(R, run(*given))
        except NotCompiled:  # arguments of the same classes, but with arrays of other types
            self._ready.pop(classes, None)
            return cast(R, self._prepare(given)(*given))

    def _in_order(self, arguments: tuple[Any, ...], named: dict[str, Any]) -> tuple[Any, ...]:
        return inspect.signature(self.py_func).bind(*arguments, **named).args

    def _interpret(self, *arguments: Any) -> R:
        _thread.interpreting = True
        try:
            with np.errstate(all="ignore"):  # as compiled code
                return self.py_func(*arguments)  # type: ignore[call-arg]
        finally:
            _thread.interpreting = False

    def _prepare(self, arguments: tuple[Any, ...]) -> Callable[..., Any]:
        """What to run for arguments of classes that have no compiled code yet."""
        classes, how = tuple(map(type, arguments)), mode()
        if how == "never" or (how == "background" and classes in self._waiting):
            return self._interpret
        kept = self.is_kept and all(map(is_ours, classes))
        if how == "background" and not (kept and cache.has(self)):
            self._waiting.add(classes)
            if kept:
                background.request(self, arguments)
            return self._interpret
        return self.load(arguments, compile_now=how == "now", kept=kept)

    def load(
        self, arguments: tuple[Any, ...], *, compile_now: bool, kept: bool = True, again: bool = True
    ) -> Callable[..., Any]:
        """Load compiled code for arguments; else compile it, or have it compiled in the background.

        Args:
            arguments: Values of the types that it will be called with.
            compile_now: Compile what is not in the cache.
            kept: Whether the cache is used.
            again: Ask for it to be compiled in the background.
        """
        engine: Any = importlib.import_module(".engine", __package__)  # numba takes long to import
        classes = tuple(map(type, arguments))
        try:
            run: Callable[..., Any] = engine.load(self, arguments, compile_now=compile_now, kept=kept)
        except NotCompiled:
            self._waiting.add(classes)
            if again:
                background.request(self, arguments)
            return self._interpret
        self._waiting.discard(classes)
        self._ready[classes] = run
        return run

    @functools.cached_property
    def is_kept(self) -> bool:
        """Whether its compiled code can be kept on disk: a function of this package, that another process can find."""
        if not self.__module__.startswith(f"{PACKAGE}."):
            return False
        return getattr(importlib.import_module(self.__module__), self.__name__, None) is self


def compiled(function: F) -> F:
    """Mark a function to run compiled once its compiled code is available; see the module."""
    return cast(F, Compiled(function))


class Loops(NamedTuple):
    """What compiled code runs in place of a NumPy function: numba has none, or takes long to compile it."""

    function: Callable[..., Any]
    loops: Callable[..., Any]


def loops_of(function: Callable[..., Any]) -> Callable[[F], F]:
    """Register what compiled code runs in place of a vectorized function; it uses up the same random numbers."""

    def register(loops: F) -> F:
        _announce(Loops(function, loops))
        return loops

    return register


def interpreted(function: F) -> F:
    """The Python function behind a compiled one; tests compare the two."""
    return cast(F, getattr(function, "py_func", function))


def by_reference(state: K) -> K:
    """Have compiled code take NamedTuples of this class as a pointer. It cannot make or return them."""
    _announce(state)
    return state


@functools.lru_cache(maxsize=1024)
def is_ours(kind: type) -> bool:
    """Whether an argument of this class is no state, or one of this package, which other processes can find."""
    return not hasattr(kind, "_fields") or kind.__module__.partition(".")[0] == PACKAGE


class Operation(Generic[P, R]):
    """An operation on states of several types, with one implementation for each; the first argument is the state.

    Compiled code picks the implementation when it is compiled, so one rollout serves every rule.

    >>> from typing import NamedTuple
    >>> class Coin(NamedTuple):
    ...     chance: float
    >>> @Operation
    ... def mean(state: Any) -> float:
    ...     ...
    >>> @mean.of(Coin)
    ... def mean_of_coin(state: Coin) -> float:
    ...     return state.chance
    >>> mean(Coin(0.25))
    0.25
    """

    def __init__(self, stub: Callable[P, R]) -> None:
        functools.update_wrapper(self, stub)
        self._implementations: dict[type, Callable[..., Any]] = {}
        self._otherwise: Callable[..., Any] | None = None
        _announce(self)

    def of(self, *states: type) -> Callable[[F], F]:
        """Register the implementation for states of these types; registering again overrides."""

        def register(function: F) -> F:
            self._implementations.update(dict.fromkeys(states, function))
            return function

        return register

    def otherwise(self, function: F) -> F:
        """Register the implementation for states of all other types."""
        self._otherwise = function
        return function

    def implementation(self, state: type) -> Callable[..., Any]:
        """The implementation for states of a type; KeyError if there is none."""
        known = self._implementations
        return known[state] if self._otherwise is None else known.get(state, self._otherwise)

    def __call__(self, *arguments: P.args, **named: P.kwargs) -> R:
        """Call the implementation, from Python."""
        return cast(R, self.implementation(type(arguments[0]))(*arguments, **named))

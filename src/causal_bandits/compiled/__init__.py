"""The one place that says how numba compiles, and the arrays that compiled functions take."""

from collections.abc import Callable
from typing import Any, TypeVar, cast

import numba
import numpy as np
from numpy.typing import NDArray

from .cache import NotKept, cache_for
from .callees import ForCallers, serve_by_type, serve_callers
from .references import by_reference as by_reference

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]

F = TypeVar("F", bound=Callable[..., object])

OPTIONS: Any = {"nogil": True, "error_model": "numpy", "no_cfunc_wrapper": True}
"""The GIL is released; a division by zero is numpy's; no entry points for C: nobody calls them, and they take time."""


def compiled(function: F) -> F:
    """Compile a module-level function on first use; cached on disk, GIL released, numpy's division.

    What it gives is numba's dispatcher: other compiled functions can call it, and it becomes a part of them.
    """
    return _compile(function, cache_for)


def compiled_here(function: F) -> F:
    """Compile a function for this process alone."""
    return _compile(function, lambda function: NotKept())


def _compile(function: F, cache: Callable[[F], object]) -> F:
    dispatcher: Any = numba.njit(**OPTIONS)(function)
    if hasattr(dispatcher, "_cache"):  # a plain function has none (NUMBA_DISABLE_JIT)
        dispatcher._cache = cache(function)
        serve_callers(dispatcher, lambda: _callee(function))
    return cast(F, dispatcher)


def _callee(function: object) -> object:
    return numba.njit(**OPTIONS, pipeline_class=ForCallers)(function)


def by_type(operation: object, find: Callable[..., object]) -> None:
    """Have compiled code that calls `operation` call what `find` gives for the types of its arguments instead."""
    serve_by_type(operation, find, _callee)


@compiled
def put(target: NDArray[Any], values: NDArray[Any]) -> None:
    """`target[:] = values` for vectors of one length, in compiled code.

    numba words what it would say of other lengths from the numbers: such an assignment brings its code for text into
    every function that has one, which takes seconds to compile.
    """
    for place in range(len(target)):
        target[place] = values[place]


@compiled
def total(values: NDArray[Any]) -> float:
    """The sum of a vector, in compiled code, one after the other as numba's own, which knows axes and takes longer."""
    found = 0.0
    for place in range(len(values)):
        found += values[place]
    return found


def interpreted(function: F) -> F:
    """The Python function behind a compiled one; tests compare the two."""
    return cast(F, getattr(function, "py_func", function))

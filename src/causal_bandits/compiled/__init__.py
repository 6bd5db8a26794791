"""The one place that says how numba compiles, and the arrays that compiled functions take."""

from collections.abc import Callable
from typing import Any, TypeVar, cast

import numba
import numpy as np
from numpy.typing import NDArray

from .cache import cache_for

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]

F = TypeVar("F", bound=Callable[..., object])


def compiled(function: F) -> F:
    """Compile a module-level function on first use; cached on disk, GIL released, numpy's division.

    What it gives is numba's dispatcher: other compiled functions can call it.
    """
    dispatcher: Any = numba.njit(nogil=True, error_model="numpy")(function)
    if hasattr(dispatcher, "_cache"):  # a plain function has none (NUMBA_DISABLE_JIT)
        dispatcher._cache = cache_for(function)
    return cast(F, dispatcher)


def interpreted(function: F) -> F:
    """The Python function behind a compiled one; tests compare the two."""
    return cast(F, getattr(function, "py_func", function))

"""The one place that says how numba compiles, and the arrays that compiled functions take."""

import os
import stat
import tempfile
from collections.abc import Callable
from functools import lru_cache
from pathlib import Path
from typing import Any, TypeVar, cast

import numba
import numpy as np
from numpy.typing import NDArray

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]

F = TypeVar("F", bound=Callable[..., object])

OPTIONS: Any = {"nogil": True, "error_model": "numpy"}
"""The GIL is released; a division by zero is numpy's."""


def compiled(function: F) -> F:
    """Compile a module-level function on first use; cached on disk, GIL released, numpy's division."""
    try:
        return _compile(function, cache=True)
    except RuntimeError:  # neither the folder of the package nor that of the user can be written
        return _compiled_elsewhere(function)


def compiled_here(function: F) -> F:
    """Compile a function for this process alone."""
    return _compile(function, cache=False)


def _compile(function: F, *, cache: bool) -> F:
    return cast(F, numba.njit(cache=cache, **OPTIONS)(function))


def _compiled_elsewhere(function: F) -> F:
    """Cached in a temporary folder, or not at all: then every process compiles for itself."""
    folder = _private_folder()
    if folder is None:
        return _compile(function, cache=False)
    settings: Any = numba.config
    before = settings.CACHE_DIR
    settings.CACHE_DIR = folder
    try:
        return _compile(function, cache=True)
    except RuntimeError:
        return _compile(function, cache=False)
    finally:
        settings.CACHE_DIR = before


@lru_cache(maxsize=1)
def _private_folder() -> str | None:
    """A temporary folder of this user alone: what is cached is run, so nobody else may write there."""
    user = os.getuid() if hasattr(os, "getuid") else None
    try:
        folder = Path(tempfile.gettempdir()) / f"causal-bandits-{'numba' if user is None else user}"
        folder.mkdir(mode=0o700, exist_ok=True)
        about = folder.lstat()
    except OSError:
        return None
    if not stat.S_ISDIR(about.st_mode) or (user is not None and (about.st_uid != user or about.st_mode & 0o077)):
        return None
    return str(folder)


def interpreted(function: F) -> F:
    """The Python function behind a compiled one; tests compare the two."""
    return cast(F, getattr(function, "py_func", function))

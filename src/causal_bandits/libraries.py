"""Libraries that are slow to import, or that a small install lacks: they are imported on first use.

from ..libraries import pl, special

`later` makes the same of any module (the command line defers most of this package, so that help is quick).

Modules that name their classes in annotations begin with `from __future__ import annotations`.
"""

import importlib
import importlib.util
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from .errors import missing_extra


class _Later:
    """A module that is imported when one of its names is used."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._module: Any = None

    def __getattr__(self, attribute: str) -> Any:
        if attribute.startswith("__"):  # inspecting this module does not use the library
            raise AttributeError(attribute)
        if self._module is None:
            try:
                self._module = importlib.import_module(self._name)
            except ModuleNotFoundError as error:
                raise missing_extra((error.name or self._name).partition(".")[0], "") from None
        return getattr(self._module, attribute)


def later(name: str) -> Any:
    """A module, imported when one of its names is used."""
    return _Later(name)


if TYPE_CHECKING:
    import polars as pl
    from scipy import special
else:
    pl, special = later("polars"), later("scipy.special")

__all__ = ["installed", "later", "pl", "require_matplotlib", "special"]


@lru_cache
def installed(library: str) -> bool:
    """Whether a library can be imported."""
    try:
        return importlib.util.find_spec(library) is not None
    except ModuleNotFoundError:
        return False


def require_matplotlib() -> None:
    """Raise an error with the command that installs matplotlib if it is missing."""
    if not installed("matplotlib"):
        raise missing_extra("matplotlib", "plots")

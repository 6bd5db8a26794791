"""Declarations of a discovery. A class with a name is registered, and save files refer to it by name."""

import importlib
import pkgutil
from collections.abc import Iterable, Mapping
from typing import Any, ClassVar, Self

from ...errors import OptionError, listing
from ..problem import Problem
from .base import Discovery
from .tiers import Tier


class Declared:
    """What a discovery declares, with defaults that a subclass may override. A class with a name is registered."""

    name: ClassVar[str]
    """In save files."""
    tier: ClassVar[Tier] = Tier.OBSERVED
    """Its knowledge, as the tier in which policies that use it are compared."""

    def __init_subclass__(cls, **options: Any) -> None:
        """Register a class that has a name."""
        super().__init_subclass__(**options)
        if "name" in vars(cls):
            _register(cls)

    @classmethod
    def from_options(cls, options: Mapping[str, Any]) -> Self:
        """Read back what `to_dict` gave, without the name."""
        return cls(**options)

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON: the name and the options."""
        return {"name": self.name, **vars(self)}

    def hints(self, problem: Problem) -> str:
        """What it is given besides the problem, in words for a table."""
        return "nothing"


DISCOVERIES: dict[str, type[Declared]] = {}
"""All registered discoveries."""


def _register(discovery: type[Declared]) -> None:
    before = DISCOVERIES.get(discovery.name, discovery)
    if (before.__module__, before.__qualname__) != (discovery.__module__, discovery.__qualname__):
        taken = f"{before.__module__}.{before.__qualname__}"
        raise OptionError(f"the discovery name {discovery.name!r} is taken by {taken}; give this class another one")
    DISCOVERIES[discovery.name] = discovery


def find_discoveries(path: Iterable[str], package: str) -> None:
    """Import every module of a package, so that its discoveries are registered."""
    for module in pkgutil.iter_modules(path, f"{package}."):
        importlib.import_module(module.name)


def discovery_from_dict(data: Mapping[str, Any]) -> Discovery:
    """A discovery from what its `to_dict` gave.

    Args:
        data: Its name in `DISCOVERIES`, and its options.

    >>> discovery_from_dict({"name": "direct", "alpha": 0.01})
    DirectTesting(alpha=0.01, reading='conditional', require_evidence=False, calibration='asymptotic')
    """
    options = dict(data)
    name = options.pop("name", None)
    if name not in DISCOVERIES:
        raise OptionError(f"discovery {name!r} is not known; expected one of {listing(DISCOVERIES)}")
    made: Any = DISCOVERIES[name].from_options(options)
    found: Discovery = made
    return found

"""What a discovery declares; one that has a name is registered under it, and a save file names one."""

import importlib
import pkgutil
from collections.abc import Iterable, Mapping
from typing import Any, ClassVar, Self

from ..errors import OptionError, listing
from ..problem import Problem
from .base import Discovery, RealDiscovery
from .tiers import Tier


class Declared:
    """What a discovery declares, with defaults that a subclass may override. A class with a name is registered."""

    name: ClassVar[str]
    """In save files."""
    tier: ClassVar[Tier] = Tier.OBSERVED
    """What it is told, as the tier in which a policy that uses it is fairly compared."""

    def __init_subclass__(cls, **options: Any) -> None:
        """Register a class that has a name."""
        super().__init_subclass__(**options)
        if "name" in vars(cls):
            _register(cls)

    @classmethod
    def from_options(cls, options: Mapping[str, Any]) -> Self:
        """Read back what `to_dict` gave, without the name."""
        return cls(**options)

    def hints(self, problem: Problem) -> str:
        """What it is given besides the problem, in words for a table."""
        return "nothing"

    @property
    def screens(self) -> bool:
        """Whether margins are enough to accept a set, so that only those accepted need a table."""
        return False


DISCOVERIES: dict[str, type[Declared]] = {}
"""Every discovery that was named, here or elsewhere."""


def _register(discovery: type[Declared]) -> None:
    before = DISCOVERIES.get(discovery.name, discovery)
    if (before.__module__, before.__qualname__) != (discovery.__module__, discovery.__qualname__):
        taken = f"{before.__module__}.{before.__qualname__}"
        raise OptionError(f"the discovery name {discovery.name!r} is taken by {taken}; give this class another one")
    DISCOVERIES[discovery.name] = discovery


def find_discoveries(path: Iterable[str], package: str) -> None:
    """Import every file of a room, so that its discoveries are named."""
    for module in pkgutil.iter_modules(path, f"{package}."):
        importlib.import_module(module.name)


def discovery_from_dict(data: Mapping[str, Any]) -> Discovery | RealDiscovery:
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
    found: Discovery | RealDiscovery = made
    return found

"""Discoveries by name; a save file names one."""

from collections.abc import Callable, Mapping
from typing import Any

from ..errors import OptionError, listing
from .asd import ASD
from .base import Discovery
from .direct import DirectTesting
from .known import KnownSets

DISCOVERIES: dict[str, Callable[..., Discovery]] = {
    "direct": DirectTesting,
    "known": KnownSets.from_pairs,
    "asd": ASD,
}


def discovery_from_dict(data: Mapping[str, Any]) -> Discovery:
    """A discovery from what its `to_dict` gave.

    >>> discovery_from_dict(DirectTesting(alpha=0.01).to_dict())
    DirectTesting(alpha=0.01, reading='conditional', require_evidence=False)
    """
    options = dict(data)
    name = options.pop("name", None)
    if name not in DISCOVERIES:
        raise OptionError(f"discovery {name!r} is not known; expected one of {listing(DISCOVERIES)}")
    return DISCOVERIES[name](**options)

"""Discoveries by name; a save file names one."""

from collections.abc import Callable, Mapping
from typing import Any

from ..errors import OptionError, listing
from .asd import ASD
from .base import Discovery, RealDiscovery
from .bayes import BayesFactors
from .direct import DirectTesting
from .known import KnownSets
from .residual import ResidualTesting

DISCOVERIES: dict[str, Callable[..., Discovery | RealDiscovery]] = {
    "direct": DirectTesting,
    "bayes": BayesFactors,
    "known": KnownSets.from_pairs,
    "asd": ASD,
    "residual": ResidualTesting,
}


def discovery_from_dict(data: Mapping[str, Any]) -> Discovery | RealDiscovery:
    """A discovery from what its `to_dict` gave.

    >>> discovery_from_dict(DirectTesting(alpha=0.01).to_dict())
    DirectTesting(alpha=0.01, reading='conditional', require_evidence=False)
    """
    options = dict(data)
    name = options.pop("name", None)
    if name not in DISCOVERIES:
        raise OptionError(f"discovery {name!r} is not known; expected one of {listing(DISCOVERIES)}")
    return DISCOVERIES[name](**options)

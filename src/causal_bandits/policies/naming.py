"""How a policy gets its name: a class that has one registers itself here; `known_policies` reads them."""

from collections.abc import Mapping
from typing import Any, NamedTuple

from ..errors import OptionError

NAMED: dict[str, type[Any]] = {}
"""Every policy class that was named, here or elsewhere."""


class Variant(NamedTuple):
    """A policy under a name of its own in comparisons: with options that are fixed, or told more.

    Args:
        options: Options that are fixed.
        needs: What it is told of a world; by default what its class needs.
    """

    options: Mapping[str, Any] = {}
    needs: tuple[str, ...] | None = None
    """What it is told of a world; None: what its class needs."""


def register(policy: type[Any]) -> None:
    """Enter a class under its name."""
    before = NAMED.get(policy.name)
    if before is not None and (before.__module__, before.__qualname__) != (policy.__module__, policy.__qualname__):
        taken = f"{before.__module__}.{before.__qualname__}"
        raise OptionError(f"the policy name {policy.name!r} is taken by {taken}; give this class another one")
    NAMED[policy.name] = policy

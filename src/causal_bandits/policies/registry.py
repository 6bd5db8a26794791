"""Policies by name: naming a class registers it, and all that lists policies derives from that."""

import importlib
import pkgutil
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

from ..errors import OptionError

if TYPE_CHECKING:
    from .base import Policy

POLICIES: dict[str, type["Policy[Any]"]] = {}
"""Every policy that was named, here or elsewhere."""

ORDER = (
    *("thompson", "main_effects", "causal_thompson", "safe_thompson", "weighed_thompson", "graph_posterior"),
    *("ucb_normal", "gaussian_thompson", "safe_gaussian"),
    *("ucb", "kl_ucb", "epsilon_greedy", "successive_elimination"),
    *("hac_ucb", "raps", "ucb_plus", "ucb_plus_unknown", "lu_tree", "yabe", "nair"),
    *("told_set", "lattimore", "sen", "maiti", "pomis"),
)
"""The files in the order in which tables show their policies; a file that is not named comes after them."""


class Variant(NamedTuple):
    """A policy under a name of its own in comparisons: with options that are fixed, or told more."""

    options: Mapping[str, Any] = {}
    needs: tuple[str, ...] | None = None
    """What it is told of a world; None: what its class needs."""


def register(policy: type["Policy[Any]"]) -> None:
    """Enter a class under its name."""
    before = POLICIES.get(policy.name)
    if before is not None and (before.__module__, before.__qualname__) != (policy.__module__, policy.__qualname__):
        taken = f"{before.__module__}.{before.__qualname__}"
        raise OptionError(f"the policy name {policy.name!r} is taken by {taken}; give this class another one")
    POLICIES[policy.name] = policy


def find_policies(path: Iterable[str], package: str) -> None:
    """Import every file of a room, so that its policies are named."""
    for module in pkgutil.walk_packages(path, f"{package}."):
        importlib.import_module(module.name)
    place = {name: number for number, name in enumerate(ORDER)}
    ranks = {name: place.get(each.__module__.rpartition(".")[2], len(ORDER)) for name, each in POLICIES.items()}
    found = dict(POLICIES)
    POLICIES.clear()
    POLICIES.update((name, found[name]) for name in sorted(found, key=ranks.__getitem__))

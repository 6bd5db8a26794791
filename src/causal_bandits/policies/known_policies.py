"""Policies by name: naming a class registers it, and all that lists policies derives from that."""

import importlib
import os
import pkgutil
from collections.abc import Iterable
from typing import Any

from ..errors import SaveFileError, brief, listing
from ..files import file_path
from .base import POLICIES, Policy
from .saving import read, restore

ORDER = (
    *("thompson", "main_effects", "causal_thompson", "safe", "best_arm"),
    *("graph_posterior", "reward_thompson", "ucb_normal", "gaussian_thompson", "safe_gaussian", "galcb"),
    *("ucb", "kl_ucb", "epsilon_greedy", "successive_elimination"),
    *("hac_ucb", "raps", "ucb_plus", "ucb_plus_unknown", "back_door", "elahi", "lu_tree", "yabe", "nair"),
    *("told_set", "lattimore", "sen", "post_action", "maiti", "pomis"),
)
"""The files in the order in which tables show their policies; a file that is not named comes after them."""


def find_policies(path: Iterable[str], package: str) -> None:
    """Import every file of a room, so that its policies are named."""
    for module in pkgutil.walk_packages(path, f"{package}."):
        importlib.import_module(module.name)
    place = {name: number for number, name in enumerate(ORDER)}
    ranks = {name: place.get(each.__module__.rpartition(".")[2], len(ORDER)) for name, each in POLICIES.items()}
    found = dict(POLICIES)
    POLICIES.clear()
    POLICIES.update((name, found[name]) for name in sorted(found, key=ranks.__getitem__))


def load_policy(path: str | os.PathLike[str]) -> Policy[Any]:
    """Load the policy in a save file, whatever its class, ready to continue.

    Args:
        path: File written by `policy.save`.
    """
    saved = read(file_path(path))
    name = saved.header.get("policy")
    if not isinstance(name, str) or name not in POLICIES:
        raise SaveFileError(f"{str(path)!r} holds a {brief(name)} policy; this release has {listing(POLICIES)}")
    return restore(POLICIES[name], saved)

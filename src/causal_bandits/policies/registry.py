"""Policies by name: a new one is one file and one line here, and every contract test runs on it."""

import os
from pathlib import Path

from ..errors import SaveFileError, listing
from .base import DiscretePolicy
from .causal_thompson import CausalThompsonSampling
from .saving import read
from .thompson import ThompsonSampling

POLICIES: dict[str, type[DiscretePolicy]] = {
    policy.name: policy for policy in (ThompsonSampling, CausalThompsonSampling)
}


def load_policy(path: str | os.PathLike[str]) -> DiscretePolicy:
    """Whatever policy a save file holds, ready to go on."""
    saved = read(Path(path))
    name = saved.header.get("policy")
    if not isinstance(name, str) or name not in POLICIES:
        raise SaveFileError(f"{str(path)!r} holds a {name!r} policy; this release has {listing(POLICIES)}")
    return POLICIES[name].restore(saved)

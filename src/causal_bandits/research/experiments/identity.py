"""Identities of a user's policies and worlds: the same identity gives the same numbers."""

import functools
import hashlib
import inspect
import json
import pickle
from typing import Any

import numpy as np

from ...core.policies import Policy
from ...errors import OptionError
from ..simulation.one_run import World
from ..worlds import ContinuousWorld, DiscreteWorld

OURS = __name__.split(".")[0]


def policy_identity(factory: Any, policy: Any) -> str:
    """A policy's class and options; for a class of the user's, its source too."""
    parts = [type(policy).__module__, type(policy).__qualname__]
    if isinstance(policy, Policy):
        parts.append(json.dumps(policy.options(), sort_keys=True, default=str))
    elif isinstance(factory, functools.partial):
        parts.append(_pickled((factory.args, sorted(factory.keywords.items()))))
    return _digest([*parts, _source(type(policy)), "" if isinstance(factory, type) else _source(_inner(factory))])


def world_identity(world: World) -> str:
    """A world's problem, means and how it draws."""
    if isinstance(world, DiscreteWorld | ContinuousWorld):
        arrays = [np.asarray(part) for part in (world.means, *world.sampler)]
        drawn = hashlib.sha256(b"".join(f"{a.dtype}{a.shape}".encode() + a.tobytes() for a in arrays)).hexdigest()
        chances = [str(world.segment_chances.tolist())] if world.problem.segments else []
        return _digest([json.dumps(world.problem.to_dict(), default=str), drawn, _source(type(world)), *chances])
    return _digest([type(world).__qualname__, _source(type(world)), _pickled(world)])


def _inner(factory: Any) -> Any:
    return factory.func if isinstance(factory, functools.partial) else factory


def _source(thing: Any) -> str:
    """The source of a user's class or function; ours is fixed by the release."""
    if getattr(thing, "__module__", "").split(".")[0] == OURS:
        return ""
    try:
        return inspect.getsource(thing)
    except (OSError, TypeError):
        return ""


def _pickled(thing: object) -> str:
    try:
        return hashlib.sha256(pickle.dumps(thing)).hexdigest()
    except (pickle.PicklingError, AttributeError, TypeError) as error:
        raise OptionError(
            f"{thing!r} cannot be identified ({error}), so its results cannot be stored; "
            "leave out `out`, or use functools.partial(PolicyClass, option=...) instead of a lambda"
        ) from None


def _digest(parts: list[str]) -> str:
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()[:16]

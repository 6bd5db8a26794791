"""Objects of the library as JSON has them, and back: by their fields, so that a new kind of answer needs nothing here.

NaN and infinities are null. An arm is the mapping of its levers; a key that is a tuple of names is their JSON.
"""

import dataclasses
import json
import math
import types
import typing
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any, Union, get_args, get_origin, get_type_hints

import numpy as np

from ..problem import Arm, Problem


def plain(value: Any) -> Any:
    """A value of the library as JSON has it.

    >>> plain({"a": (1, math.nan), "b": datetime(2026, 1, 1)})
    {'a': [1, None], 'b': '2026-01-01T00:00:00'}
    """
    if isinstance(value, float):
        return float(value) if math.isfinite(value) else None
    if value is None or isinstance(value, bool | int | str):
        return value
    if isinstance(value, np.generic):
        return plain(value.item())
    if isinstance(value, np.ndarray):
        return plain(value.tolist())
    if isinstance(value, datetime):
        return value.isoformat()
    if dataclasses.is_dataclass(value):
        return {each.name: plain(getattr(value, each.name)) for each in dataclasses.fields(value) if each.repr}
    if isinstance(value, Mapping):
        return {key if isinstance(key, str) else json.dumps(plain(key)): plain(each) for key, each in value.items()}
    if isinstance(value, tuple) and hasattr(value, "_fields"):
        return {name: plain(each) for name, each in zip(value._fields, value, strict=True)}
    if isinstance(value, Sequence | set | frozenset):
        return [plain(each) for each in value]
    raise TypeError(f"{type(value).__name__} has no form in JSON")


def revived(kind: Any, value: Any, problem: Problem) -> Any:
    """What `plain` was given, from its annotation; `problem` has the arms."""
    origin = get_origin(kind)
    if origin in (Union, types.UnionType):
        parts = [part for part in get_args(kind) if part is not type(None)]
        return None if value is None else revived(parts[0], value, problem) if len(parts) == 1 else value
    if kind is float:
        return math.nan if value is None else float(value)
    if kind is datetime:
        return datetime.fromisoformat(value)
    if isinstance(kind, type) and issubclass(kind, Arm):
        return Arm(value, problem.idle_settings, problem.segments)
    if origin is tuple:
        each = get_args(kind)[0]
        return tuple(revived(each, one, problem) for one in value)
    if origin is not None and isinstance(origin, type) and issubclass(origin, Mapping):
        of, to = get_args(kind)
        return {_key(of, name): revived(to, one, problem) for name, one in value.items()}
    if isinstance(kind, type) and (dataclasses.is_dataclass(kind) or hasattr(kind, "_fields")):
        hints = get_type_hints(kind)
        names = [name for name in value if name in hints]
        return typing.cast(Any, kind)(**{name: revived(hints[name], value[name], problem) for name in names})
    return value


def _key(kind: Any, text: str) -> Any:
    return tuple(json.loads(text)) if get_origin(kind) is tuple else text

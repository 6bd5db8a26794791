"""Answers as JSON, back from JSON, and their JSON schema: one serializer, derived from the class of the answer.

The JSON of an object has its fields and its public properties; `cached_property` is left out, since it may take long to
compute. NaN and infinities are null, an arm is the mapping of its levers, and a key that is a tuple is its JSON text. A
new field or property of an answer needs no edit here: `--json`, HTTP, the client and the OpenAPI document all have it.
"""

import dataclasses
import json
import math
import types
import typing
from collections.abc import Mapping, Sequence
from datetime import datetime
from functools import cache
from typing import Annotated, Any, Literal, NotRequired, Union, get_args, get_origin, get_type_hints

import numpy as np

from .problem import Arm, Problem

Schema = dict[str, Any]
PLAIN: dict[Any, Schema] = {
    bool: {"type": "boolean"},
    int: {"type": "integer"},
    float: {"type": ["number", "null"]},
    str: {"type": "string"},
    datetime: {"type": "string", "format": "date-time"},
    type(None): {"type": "null"},
}
LEVELS: Schema = {"type": "object", "additionalProperties": {"type": ["string", "number", "boolean"]}}


def to_json(value: Any) -> Any:
    """An answer in the values of JSON.

    >>> to_json({"a": (1, math.nan), "b": datetime(2026, 1, 1)})
    {'a': [1, None], 'b': '2026-01-01T00:00:00'}
    """
    if isinstance(value, float):
        return float(value) if math.isfinite(value) else None
    if value is None or isinstance(value, bool | int | str):
        return value
    if isinstance(value, np.generic | np.ndarray):
        return to_json(value.tolist())
    if isinstance(value, datetime):
        return value.isoformat()
    if isinstance(value, Mapping):
        return {key if isinstance(key, str) else json.dumps(to_json(key)): to_json(each) for key, each in value.items()}
    kind: Any = type(value)
    if _is_record(kind):
        return {name: to_json(getattr(value, name)) for name in (*_fields(kind), *_properties(kind))}
    if isinstance(value, Sequence | set | frozenset):
        return [to_json(each) for each in value]
    raise TypeError(f"{type(value).__name__} has no form in JSON")


def from_json(kind: Any, value: Any, problem: Problem | None = None) -> Any:
    """What `to_json` was given, by its annotation; a value that holds arms needs their problem."""
    origin, parts = get_origin(kind), get_args(kind)
    if origin is Annotated:
        return value
    if origin in (Union, types.UnionType):
        return None if value is None else from_json(_chosen(parts, value), value, problem)
    if kind is float:
        return math.nan if value is None else float(value)
    if kind is datetime:
        return datetime.fromisoformat(value)
    if typing.is_typeddict(kind):
        return {name: from_json(_hints(kind).get(name, Any), each, problem) for name, each in value.items()}
    if isinstance(origin, type) and issubclass(origin, Mapping):
        return {_key(parts[0], name): from_json(parts[1], each, problem) for name, each in value.items()}
    if isinstance(kind, type) and issubclass(kind, Arm):
        assert problem is not None
        segments = [name for name in problem.segments if name in value]
        return Arm(value, problem.idle_settings, segments, problem.names)
    if isinstance(kind, type) and _is_record(kind):
        names, hints = [name for name in _fields(kind) if name in value], _hints(kind)
        return kind(**{name: from_json(hints[name], value[name], problem) for name in names})
    if origin is tuple and parts[-1] is not ...:
        return tuple(from_json(part, each, problem) for part, each in zip(parts, value, strict=True))
    element = _element(kind)
    if element is not None:
        made: Any = list if (origin or kind) is Sequence else (origin or kind)
        return made([from_json(element, each, problem) for each in value])
    return value


def json_schema(kind: Any, definitions: dict[str, Schema]) -> Schema:
    """The JSON schema of what `to_json` gives for an annotation; classes with fields go into `definitions`."""
    origin, parts = get_origin(kind), get_args(kind)
    if origin is Annotated:  # JSON of the class that is named beside it
        return json_schema(parts[1], definitions)
    if kind in PLAIN:
        return PLAIN[kind]
    if origin in (Union, types.UnionType):
        return {"anyOf": [json_schema(part, definitions) for part in parts]}
    if origin is Literal:
        return {"enum": list(parts)}
    if origin in (NotRequired, typing.Required):
        return json_schema(parts[0], definitions)
    if isinstance(kind, type) and issubclass(kind, Arm):
        return LEVELS
    if typing.is_typeddict(kind) or (isinstance(kind, type) and _is_record(kind)):
        if kind.__name__ not in definitions:
            definitions[kind.__name__] = {}  # so that a class may refer to itself
            definitions[kind.__name__] = _object_schema(kind, definitions)
        return {"$ref": f"#/components/schemas/{kind.__name__}"}
    if isinstance(origin, type) and issubclass(origin, Mapping):
        return {"type": "object", "additionalProperties": json_schema(parts[1], definitions)}
    if origin is tuple and parts[-1] is not ...:
        each = {"anyOf": [json_schema(part, definitions) for part in parts]}
        return {"type": "array", "items": each, "minItems": len(parts), "maxItems": len(parts)}
    element = _element(kind)
    return {} if element is None else {"type": "array", "items": json_schema(element, definitions)}


def _object_schema(kind: Any, definitions: dict[str, Schema]) -> Schema:
    hints = _hints(kind)
    names = [*hints] if typing.is_typeddict(kind) else [*_fields(kind), *_properties(kind)]
    needed = [name for name in names if not typing.is_typeddict(kind) or name in kind.__required_keys__]
    return {
        "title": kind.__name__,
        "description": (kind.__doc__ or "").partition("\n")[0],
        "type": "object",
        "properties": {name: json_schema(hints[name], definitions) for name in names},
        "required": needed,
    }


def _is_record(kind: type) -> bool:
    return dataclasses.is_dataclass(kind) or hasattr(kind, "_fields")


@cache
def _fields(kind: Any) -> tuple[str, ...]:
    if dataclasses.is_dataclass(kind):
        return tuple(each.name for each in dataclasses.fields(kind) if each.repr)
    names: tuple[str, ...] = kind._fields
    return names


@cache
def _properties(kind: Any) -> tuple[str, ...]:
    found = {name: each for base in reversed(kind.__mro__) for name, each in vars(base).items()}
    public = (name for name, each in found.items() if isinstance(each, property) and name[0] != "_")
    return tuple(name for name in public if name not in _fields(kind))


@cache
def _hints(kind: Any) -> dict[str, Any]:
    """The annotations of fields and of public properties."""
    if typing.is_typeddict(kind):
        return get_type_hints(kind, include_extras=True)
    getters = {name: getattr(kind, name).fget for name in _properties(kind)}
    return {**get_type_hints(kind), **{name: get_type_hints(getter)["return"] for name, getter in getters.items()}}


def _element(kind: Any) -> Any:
    """What a sequence has, by its annotation or by a base of its class; None for anything else."""
    for each in (kind, *getattr(kind, "__orig_bases__", ())):
        origin = get_origin(each)
        if isinstance(origin, type) and issubclass(origin, Sequence) and get_args(each):
            return get_args(each)[0]
    return None


def _chosen(parts: tuple[Any, ...], value: Any) -> Any:
    """The part of a union that a value is of: the one with elements for a list, the first one for an object."""
    some = [part for part in parts if part is not type(None)]
    if len(some) == 1:
        return some[0]
    if isinstance(value, list | dict):
        is_list = isinstance(value, list)
        return next((part for part in some if (_element(part) is not None) == is_list), Any)
    return Any


def _key(kind: Any, text: str) -> Any:
    return tuple(json.loads(text)) if get_origin(kind) is tuple else text

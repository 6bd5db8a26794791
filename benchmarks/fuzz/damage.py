"""How bytes and JSON values go bad."""

import json
from typing import Any

import numpy as np

JSON_VALUES: list[Any] = [None, True, 0, 1, -1, 10**30, 1e308, float("nan"), "", "x", "\x1b", [], [[]], {}, {"a": 1}]


def damaged_bytes(content: bytes, rng: np.random.Generator) -> bytes:
    """A file with one kind of damage: flipped bits, other bytes, zeros, a piece moved, cut short, or gone on."""
    data = bytearray(content)
    size = max(len(data), 1)
    start = int(rng.integers(size))
    length = min(int(rng.integers(1, 4096)), size - start)
    how = rng.integers(7)
    if how == 0:
        for place in rng.integers(size, size=int(rng.integers(1, 9))):
            data[place] ^= 1 << int(rng.integers(8))
    elif how == 1:
        data[start : start + length] = rng.bytes(length)
    elif how == 2:
        data[start : start + length] = bytes(length)
    elif how == 3:
        other = int(rng.integers(size))
        data[start : start + length] = data[other : other + length]
    elif how == 4:
        del data[start:]
    elif how == 5:
        del data[start : start + length]
    else:
        data += rng.bytes(length)
    return bytes(data)


def damaged_json(text: str, rng: np.random.Generator) -> str:
    """A JSON text that is broken, or says something else somewhere inside."""
    if rng.random() < 0.25:
        return damaged_bytes(text.encode(), rng).decode("utf-8", "replace")
    return json.dumps(_changed(json.loads(text), rng))


def _changed(value: Any, rng: np.random.Generator) -> Any:
    if isinstance(value, dict) and value and rng.random() < 0.9:
        name = list(value)[int(rng.integers(len(value)))]
        how = rng.random()
        if how < 0.15:
            return {key: each for key, each in value.items() if key != name}
        if how < 0.25:
            return {**value, "more": value[name]}
        return {**value, name: _changed(value[name], rng)}
    if isinstance(value, list) and value and rng.random() < 0.8:
        place = int(rng.integers(len(value)))
        if rng.random() < 0.2:
            return value[:place] + value[place + 1 :]
        return [*value[:place], _changed(value[place], rng), *value[place + 1 :]]
    if isinstance(value, int) and not isinstance(value, bool) and rng.random() < 0.6:
        return value + int(rng.choice([-1, 1, 2, 1000]))
    return JSON_VALUES[int(rng.integers(len(JSON_VALUES)))]

"""Values that nobody should give, and how valid arguments are spoilt with them."""

import datetime
import decimal
import fractions
import functools
import math
import pathlib
import re
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import polars as pl

import causal_bandits as cb

SMALL = cb.Problem("y", {"m": 2}, {"x": ["n", "a"]})


def deep(levels: int) -> list[Any]:
    """A list in a list in a list."""
    found: list[Any] = []
    for _ in range(levels):
        found = [found]
    return found


def _pandas() -> list[Any]:
    try:
        import pandas as pd
    except ImportError:
        return []
    return [
        pd.DataFrame(),
        pd.DataFrame([[1, 2]], columns=["m", "m"]),
        pd.DataFrame({"x": ["n", None], "m": [0, 1], "y": [object(), 1]}),
        pd.DataFrame({"x": [pd.NA, "a"], "m": [0.5, math.nan], "y": [pd.NaT, 1]}),
        pd.DataFrame({0: [1], 1: [2]}),
        pd.NA,
        pd.NaT,
        pd.Series([1, 2]),
    ]


@functools.cache
def values() -> list[Any]:
    """One of each kind; an iterator among them is empty after its first use."""
    numbers = [0, 1, -1, 2, 3, 10**12, 2**63, 2**64, -(2**63) - 1, 10**30, 10**400, 10**5000, True, False]
    reals = [0.5, -0.5, 1.0, math.nan, math.inf, -math.inf, 1e308, -1e308, 5e-324, 1e-320, -0.0]
    texts = [
        "",
        "a",
        "x",
        "y",
        "m",
        "n",
        "id",
        "\ud800",
        "\0",
        "a\nb",
        "\x1b[31m",
        "x" * 100_000,
        "=1",
        "é",
        "nan",
        "1e999",
    ]
    others: list[Any] = [
        None,
        b"a",
        bytearray(b"x"),
        memoryview(b"x"),
        object(),
        int,
        float,
        str,
        lambda: 1,
        print,
        ...,
        1j,
    ]
    holders: list[Any] = [
        (),
        [],
        {},
        set(),
        frozenset("x"),
        [1],
        ["x"],
        ["x", "x"],
        [None],
        [[1]],
        [[]],
        [math.nan],
        [10**30],
    ]
    holders += [
        deep(200),
        deep(100_000),
        range(3),
        range(10**12),
        iter([1]),
        (n for n in "x"),
        [{}],
        [{"x": "n"}],
        [b"a"],
    ]
    mappings: list[Any] = [
        {"x": "n"},
        {"x": 1},
        {"x": math.nan},
        {"x": []},
        {1: 2},
        {None: None},
        {"m": 0, "y": 1},
        {"m": [0]},
    ]
    mappings += [
        {"x": ["n"], "m": [0], "y": [1]},
        {"x": ["n"], "m": [0, 1], "y": [1]},
        {"x": "n", "q": "z"},
        {"\ud800": 1},
    ]
    arrays: list[Any] = [
        np.int64(1),
        np.uint8(255),
        np.float64("nan"),
        np.float32(0.5),
        np.bool_(True),
        np.str_("x"),
        np.array(1),
    ]
    arrays += [
        np.array([1, 2]),
        np.array([[math.nan]]),
        np.array(["a", 1, None], dtype=object),
        np.empty((0, 3)),
        np.ones((2, 2)),
    ]
    arrays += [
        np.datetime64("NaT"),
        np.timedelta64(1, "s"),
        np.ones((1, 2, 2, 2)),
        np.array([2**63], dtype=np.uint64),
        np.bytes_(b"x"),
    ]
    exact = [
        decimal.Decimal("0.5"),
        decimal.Decimal("NaN"),
        decimal.Decimal("sNaN"),
        decimal.Decimal("1e999"),
        fractions.Fraction(1, 3),
    ]
    times = [datetime.datetime(2020, 1, 1), datetime.date(1, 1, 1), datetime.timedelta(days=1), datetime.datetime.max]
    ours: list[Any] = [
        SMALL,
        SMALL.arms[0],
        cb.ThompsonSampling(SMALL, seed=0),
        cb.DirectTesting(),
        cb.MixedGraph("ab"),
        cb.ASD,
    ]
    paths = [
        pathlib.Path("/nowhere/x"),
        pathlib.Path("/dev/null"),
        pathlib.Path("/"),
        "/dev/full",
        re.compile("x"),
        ValueError("x"),
    ]
    return [
        *numbers,
        *reals,
        *texts,
        *others,
        *holders,
        *mappings,
        *arrays,
        *exact,
        *times,
        *ours,
        *paths,
        *frames(),
        *_pandas(),
    ]


def frames() -> list[Any]:
    """Tables of every bad kind."""
    return [
        pl.DataFrame(),
        pl.DataFrame({"x": [], "m": [], "y": []}),
        pl.DataFrame({"x": ["n"], "m": [[0]], "y": [{"a": 1}]}),
        pl.DataFrame({"x": [None, "a"], "m": [None, 1], "y": [1, None]}),
        pl.DataFrame({"x": ["n", "a"], "m": [0, 1], "y": [0.5, math.nan]}),
        pl.DataFrame({"x": ["n", "a"], "m": [2**40, -1], "y": ["1", "0"]}),
        pl.DataFrame({"x": [b"n", b"a"], "m": [0, 1], "y": [True, False]}),
        pl.DataFrame({"id": [1, 2], "y": [0, 1], "m": [0, 1]}),
        pl.DataFrame({"id": [math.nan, 1e300], "y": [0, 1]}),
        pl.DataFrame({"x": [object()], "m": [object()], "y": [1]}),
        pl.DataFrame({"x": [datetime.date(2020, 1, 1)], "m": [datetime.timedelta(1)], "y": [decimal.Decimal(1)]}),
        pl.DataFrame({"x": ["n"], "m": [0], "y": [1]}).lazy(),
        pl.Series("y", [1, 2]),
    ]


def spoil(arguments: Mapping[str, Any], rng: np.random.Generator) -> dict[str, Any]:
    """Valid arguments with one or two of them replaced, or with something inside one of them replaced."""
    hostile = values()

    def one() -> Any:
        return hostile[int(rng.integers(len(hostile)))]

    spoilt = dict(arguments)
    for _ in range(1 + int(rng.random() < 0.25)):
        name = list(spoilt)[int(rng.integers(len(spoilt)))]
        spoilt[name] = _inside(spoilt[name], one, rng) if rng.random() < 0.4 else one()
    return spoilt


def _inside(value: Any, one: Callable[[], Any], rng: np.random.Generator) -> Any:
    """The same value with one entry replaced, one more, or one less."""
    if isinstance(value, dict) and value:
        key = list(value)[int(rng.integers(len(value)))]
        how = rng.integers(4)
        if how == 0:
            return {name: entry for name, entry in value.items() if name != key}
        if how == 1:
            return {**value, _key(one()): value[key]}
        return {**value, key: _inside(value[key], one, rng) if how == 2 else one()}
    if isinstance(value, list) and value:
        place = int(rng.integers(len(value)))
        return [*value[:place], _inside(value[place], one, rng) if rng.random() < 0.4 else one(), *value[place + 1 :]]
    return one()


def _key(value: Any) -> Any:
    try:
        hash(value)
    except TypeError:
        return "key"
    return value


def shown(arguments: Mapping[str, Any]) -> str:
    """Arguments for a story."""
    parts = []
    for name, value in arguments.items():
        try:
            text = repr(value)
        except Exception:
            text = f"<{type(value).__name__}>"
        parts.append(f"{name}={' '.join(text.split())[:80]}")
    return ", ".join(parts)

"""Kinds of reward: 0 or 1, a number, a count, revenue, or one of ordered levels with a value each."""

import itertools
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Literal

from ...errors import ProblemError, brief, listing
from .variables import MOST_LEVELS, Level, Variable, declare

RewardKind = Literal["binary", "real", "count", "revenue", "levels"]

EXPECTED = (
    "expected bool or 'binary' (0 or 1), float or 'real' (a number), 'count' (0, 1, 2, ...), 'revenue' (0 or more) or "
    "{'levels': [...], 'values': [...]}"
)
WORDS: dict[str, RewardKind] = {
    "binary": "binary",
    "bool": "binary",
    "real": "real",
    "float": "real",
    "count": "count",
    "revenue": "revenue",
}


@dataclass(frozen=True)
class Reward:
    """The kind of a reward, and the levels of an ordered one with their values."""

    kind: RewardKind
    levels: tuple[Level, ...] = ()
    values: tuple[float, ...] = ()
    cap: tuple[float, float] | None = None
    """The declared ends of a count, of revenue or of a number."""

    @property
    def ends(self) -> tuple[float | None, float | None]:
        """The lowest and the highest value that a reward can have; None if it has no end."""
        if self.cap is not None:
            return self.cap
        if self.kind == "levels":
            return min(self.values), max(self.values)
        return (None if self.kind == "real" else 0.0), (1.0 if self.kind == "binary" else None)

    @property
    def is_real(self) -> bool:
        """Whether its mean is not a probability."""
        return self.kind != "binary"

    @property
    def words(self) -> str:
        """What one reward is, in words."""
        if self.kind == "levels":
            return f"one of {listing(self.levels)}"
        return {
            "binary": "0 or 1",
            "real": "a number",
            "count": "a whole number of at least 0",
            "revenue": "a number of at least 0",
        }[self.kind]

    @property
    def shown(self) -> str:
        """For a table of variables."""
        if self.kind == "levels":
            return ", ".join(f"{level}: {value:g}" for level, value in zip(self.levels, self.values, strict=True))
        return {"binary": "0, 1", "real": "real"}.get(self.kind, self.kind)

    def value(self, level: object) -> float:
        """The value of one of its levels."""
        return self.values[self.variable.code(level)]

    @cached_property
    def variable(self) -> Variable:
        """Its levels, as those of a variable."""
        return declare("reward", self.levels)

    def number(self, told: Any) -> Any:
        """The numeric value of a reported reward, which was checked."""
        return self.value(told) if self.kind == "levels" else told

    def told(self, number: Any) -> Any:
        """The reported form of a numeric reward: the first level that has the value."""
        return self.levels[self.values.index(number)] if self.kind == "levels" else number

    def plain(self) -> str | dict[str, Any]:
        """The reward in a JSON description."""
        return {"levels": list(self.levels), "values": list(self.values)} if self.kind == "levels" else self.kind


def read_reward(given: object) -> Reward:
    """A reward from an argument or a description."""
    if given is bool or given is float:
        return Reward("binary" if given is bool else "real")
    if isinstance(given, Mapping):
        return _ordered(given)
    if isinstance(given, str) and given in WORDS:
        return Reward(WORDS[given])
    shown = given.__name__ if isinstance(given, type) else brief(given)
    raise ProblemError(f"reward={shown}; {EXPECTED}")


def read_cap(reward: Reward, cap: object) -> Reward:
    """The reward with the ends that a caller declares: the highest value, or the lowest and the highest."""
    if cap is None:
        return reward
    if reward.kind in ("binary", "levels"):
        raise ProblemError(f"cap={brief(cap)}: the reward is {reward.words} and has its ends; leave cap out")
    pair = isinstance(cap, Sequence) and not isinstance(cap, str) and len(cap) == 2
    given = list(cap) if pair else [None, cap]  # type: ignore[call-overload]
    high = _finite(given[1])
    low = (-high if reward.kind == "real" else 0.0) if given[0] is None else _finite(given[0])
    if not low < high or (low < 0 and reward.kind != "real"):
        least = "" if reward.kind == "real" else " of at least 0"
        raise ProblemError(
            f"cap={brief(cap)}; expected a number above 0, the highest reward, or (lowest, highest), two numbers{least}"
        )
    return replace(reward, cap=(low, high))


def _finite(value: object) -> float:
    try:
        number = math.nan if isinstance(value, str | bool) else float(value)  # type: ignore[arg-type]
    except (ArithmeticError, TypeError, ValueError):
        number = math.nan
    return number if abs(number) <= 1e100 else math.nan


def _ordered(given: Mapping[Any, Any]) -> Reward:
    unknown = [key for key in given if key not in ("levels", "values")]
    if unknown or "levels" not in given or "values" not in given:
        raise ProblemError(f"reward={brief(dict(given))}; expected {{'levels': [...], 'values': [...]}}")
    levels = declare("reward", given["levels"]).levels
    if not isinstance(given["values"], Iterable) or isinstance(given["values"], str | Mapping):
        raise ProblemError(f"the values of the reward are {brief(given['values'])}; expected a number per level")
    values = tuple(itertools.islice(given["values"], MOST_LEVELS + 1))
    if len(values) != len(levels):
        missing = f"; {brief(levels[len(values)])} has none" if len(values) < len(levels) else ""
        raise ProblemError(f"the reward has {len(levels)} levels and {len(values)} values{missing}; give one per level")
    numbers = tuple(_number(level, value) for level, value in zip(levels, values, strict=True))
    if min(numbers) == max(numbers):
        raise ProblemError(f"every level of the reward has the value {numbers[0]:g}; values must differ")
    return Reward("levels", levels, numbers)


def _number(level: Level, value: object) -> float:
    number = _finite(value)
    if math.isnan(number):
        raise ProblemError(f"the value of level {brief(level)} is {brief(value)}; expected a finite number")
    return number

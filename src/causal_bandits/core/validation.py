"""Validate arguments against their annotations.

`@validated` checks flags, names, literals, classes and collections of names of a public function. Numbers in a range,
and whatever needs knowledge of the problem, are checked where they are used.
"""

import functools
import inspect
import math
import re
import types
from collections.abc import Callable, Iterable, Iterator, Mapping, Sized
from typing import Any, Literal, ParamSpec, TypeVar, Union, get_args, get_origin, get_type_hints

from ..errors import OptionError, brief

DURATION = re.compile(r"\s*([0-9]{1,15}(?:\.[0-9]{0,15})?)\s*([smhd]?)\s*")
UNITS = {"": 1.0, "s": 1.0, "m": 60.0, "h": 3600.0, "d": 86_400.0}
P = ParamSpec("P")
R = TypeVar("R")
Check = Callable[[Any], bool]


def validated(function: Callable[P, R]) -> Callable[P, R]:
    """Check the arguments of a public function by its annotations."""
    names = list(inspect.signature(function).parameters)

    @functools.wraps(function)
    def checked(*args: P.args, **kwargs: P.kwargs) -> R:
        checks = _checks(function)
        given: dict[str, Any] = dict(kwargs)
        for name, value in (*zip(names, args, strict=False), *given.items()):
            if name in checks:
                refuse_other(name, value, *checks[name])
        return function(*args, **kwargs)

    return checked


def check_fields(options: object) -> None:
    """The same for the fields of a dataclass, from its `__post_init__`."""
    kind: Any = type(options)
    for name, check in _checks(kind).items():
        refuse_other(name, getattr(options, name), *check)


def refuse_other(name: str, value: object, check: Check, expected: str) -> None:
    """Raise an error if a value has another type."""
    if not check(value):
        raise OptionError(f"{name}={brief(value)}; expected {expected}")


def is_flag(value: object) -> bool:
    """Whether this is True or False (also of numpy)."""
    return isinstance(value, bool) or type(value).__name__ == "bool"


def is_number(value: object) -> bool:
    """Whether this is one real number; NaN is one."""
    if isinstance(value, bool | str | bytes | bytearray) or getattr(value, "ndim", 0) != 0:
        return False
    try:
        _ = float(value), value < 0  # type: ignore[arg-type, operator]  # a Decimal that is NaN has no order
    except (ArithmeticError, TypeError, ValueError):
        return False
    return True


def duration(name: str, value: object, *, zero: bool = False) -> float:
    """Seconds from a number, or from a text such as "14d", "36h", "90m" or "45s"; above 0, or also 0.

    >>> duration("reward_window", "14d"), duration("reward_window", "1.5h"), duration("reward_window", 45)
    (1209600.0, 5400.0, 45.0)
    """
    found = DURATION.fullmatch(value) if isinstance(value, str) else None
    if found is not None:
        seconds = float(found[1]) * UNITS[found[2]]
    else:
        seconds = float(value) if is_number(value) else math.nan  # type: ignore[arg-type]
    if not (0 < seconds < math.inf or (zero and seconds == 0)):
        from_ = "from" if zero else "above"
        raise OptionError(
            f"{name}={brief(value)}; expected seconds {from_} 0, or a duration such as 14d, 36h, 90m or 45s"
        )
    return seconds


def duration_words(seconds: float) -> str:
    """A duration to read, in the largest unit that it is a whole number of.

    >>> duration_words(2592000), duration_words(5400), duration_words(1)
    ('30 days', '90 minutes', '1 second')
    """
    units = {86_400: "day", 3600: "hour", 60: "minute"}
    size = next((size for size in units if seconds % size == 0), 1)
    count, unit = seconds / size, units.get(size, "second")
    return f"{count:g} {unit}{'' if count == 1 else 's'}"


def are_names(value: object) -> bool:
    """Whether this is a collection of names."""
    if isinstance(value, str | bytes) or not isinstance(value, Iterable):
        return False
    if isinstance(value, Iterator):  # iterating would consume it
        return True
    try:
        few = not isinstance(value, Sized) or len(value) <= 10**6
        return few and all(isinstance(name, str) for name in value)
    except (OverflowError, TypeError):  # an array without an axis, a range without an end
        return False


_SIMPLE: dict[Any, tuple[Check, str]] = {
    bool: (is_flag, "True or False"),
    str: (lambda value: isinstance(value, str), "a string"),
    float: (is_number, "a number"),
    type(None): (lambda value: value is None, "None"),
}


@functools.cache
def _checks(function: Any) -> dict[str, tuple[Check, str]]:
    try:
        hints = get_type_hints(function)
    except NameError:  # an optional library is named for the type checker alone
        return {}
    found = {name: _check_of(hint) for name, hint in hints.items() if name != "return"}
    return {name: check for name, check in found.items() if check is not None}


def _check_of(hint: Any) -> tuple[Check, str] | None:
    """How a value is checked against an annotation; None if it is not checked here."""
    if hint in _SIMPLE:
        return _SIMPLE[hint]
    origin = get_origin(hint)
    if origin is Literal:
        allowed = get_args(hint)
        return lambda value: isinstance(value, str) and value in allowed, f"one of {', '.join(map(str, allowed))}"
    if origin in (Union, types.UnionType):
        parts = [_check_of(part) for part in get_args(hint)]
        if any(part is None for part in parts):
            return None
        known = [part for part in parts if part is not None]
        return lambda value: any(check(value) for check, _ in known), " or ".join(text for _, text in known)
    if isinstance(origin, type) and issubclass(origin, Mapping):
        return lambda value: isinstance(value, Mapping), "a mapping"
    if isinstance(origin, type) and issubclass(origin, Iterable) and get_args(hint)[:1] == (str,):
        return lambda value: isinstance(value, str) or are_names(value), "a list of names"
    if (
        inspect.isclass(hint)
        and hint.__module__.split(".")[0] in ("causal_bandits", "numpy")
        and not _is_protocol(hint)
    ):
        return lambda value: isinstance(value, hint), getattr(hint, "expected", f"a {hint.__name__}")
    return None


def _is_protocol(hint: type) -> bool:
    return bool(getattr(hint, "_is_protocol", False))

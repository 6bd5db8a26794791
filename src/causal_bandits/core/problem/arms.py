"""Arms: settings of all levers."""

import csv
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, NoReturn

from ...errors import ObservationError, brief
from ..markup import printable
from .variables import Level

CONTEXT_PREFIX = "I_"
"""The paper's name for the variable that intervenes on A is I_A; arms print and accept it as A."""


class Arm(Mapping[str, Level]):
    """One setting of every lever: immutable, hashable, and equal to the same mapping.

    Args:
        settings: Value of every lever.
        idle: Idle value of every lever.
        segments: Which of them are segments, known before the decision.
        names: Display names of levers and levels, for `label`: "banner" or "banner=red" -> name.

    >>> Arm({"banner": "red", "discount": "none"}, idle={"banner": "none", "discount": "none"})
    do(banner=red)
    >>> Arm({"banner": "red", "device": "mobile"}, idle={"banner": "none"}, segments=["device"])
    do(banner=red | device=mobile)
    >>> Arm({"I_A": 1, "I_B": "idle"}, idle={"I_A": "idle", "I_B": "idle"})
    do(A=1)
    """

    __slots__ = ("_hash", "_idle", "_names", "_segments", "_settings")
    _settings: dict[str, Level]
    _idle: dict[str, Level]
    _segments: tuple[str, ...]
    _names: Mapping[str, str]
    _hash: int

    def __init__(
        self,
        settings: Mapping[str, Level],
        idle: Mapping[str, Level],
        segments: Iterable[str] = (),
        names: Mapping[str, str] | None = None,
    ) -> None:
        object.__setattr__(self, "_settings", dict(settings))
        object.__setattr__(self, "_idle", dict(idle))
        object.__setattr__(self, "_segments", tuple(segments))
        object.__setattr__(self, "_names", names or {})
        object.__setattr__(self, "_hash", hash(frozenset(settings.items())))

    def __getitem__(self, name: str) -> Level:
        return self._settings[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._settings)

    def __len__(self) -> int:
        return len(self._settings)

    def __eq__(self, other: object) -> bool:
        if isinstance(other, Arm):
            return self._settings == other._settings
        return super().__eq__(other)

    def __hash__(self) -> int:
        return self._hash

    def __setattr__(self, name: str, value: object) -> NoReturn:
        raise AttributeError("arms are immutable; make another with problem.arm(...)")

    def __reduce__(self) -> tuple[type["Arm"], tuple[Any, ...]]:
        return Arm, (self._settings, self._idle, self._segments, dict(self._names))

    @property
    def segment(self) -> dict[str, Level]:
        """The segment of the arm; empty if the problem has none."""
        return {name: self._settings[name] for name in self._segments}

    @property
    def lever_arm(self) -> "Arm":
        """The arm without its segment: its levers."""
        if not self._segments:
            return self
        levers = {name: self._settings[name] for name in self if name not in self._segments}
        return Arm(levers, self._idle, names=self._names)

    @property
    def active(self) -> dict[str, Level]:
        """The levers that differ from the control, with their values."""
        return {
            name: level
            for name, level in self._settings.items()
            if name not in self._segments and level != self._idle[name]
        }

    @property
    def label(self) -> str:
        """Every lever with its level, as in "headline=social, shipping=paid | device=mobile"."""
        shown = {name: setting_words(name, level, self._names) for name, level in self._settings.items()}
        levers = ", ".join(words for name, words in shown.items() if name not in self._segments)
        return printable(" | ".join(filter(None, [levers, ", ".join(shown[name] for name in self._segments)])))

    def __repr__(self) -> str:
        settings = ", ".join(f"{name.removeprefix(CONTEXT_PREFIX)}={level}" for name, level in self.active.items())
        if not self._segments:
            return printable(f"do({settings})")
        segments = ", ".join(f"{name}={self[name]}" for name in self._segments)
        return printable(f"do({settings}{' ' if settings else ''}| {segments})")


def setting_words(name: str, level: object, names: Mapping[str, str]) -> str:
    """A lever with its level, by the names that people gave them.

    >>> setting_words("ship", "free", {}), setting_words("ship", "free", {"ship": "Shipping", "ship=free": "Free"})
    ('ship=free', 'Shipping=Free')
    """
    return f"{names.get(name, name.removeprefix(CONTEXT_PREFIX))}={names.get(f'{name}={level}', level)}"


def parse_arm(text: str) -> dict[str, str]:
    """An arm from a text such as banner=red,discount=10%; empty for the control. A pair with a comma is quoted.

    >>> parse_arm('banner=red,"headline=Yes, please"')
    {'banner': 'red', 'headline': 'Yes, please'}
    """
    if not isinstance(text, str):
        raise ObservationError(f"{brief(text)} is not of the form lever=value,...")
    arm = {}
    try:
        pairs = next(csv.reader([text.replace("\n", " ")], skipinitialspace=True), [])
    except csv.Error:
        raise ObservationError(f"{brief(text)} is not of the form lever=value,...") from None
    for pair in filter(None, (part.strip() for part in pairs)):
        name, sign, value = pair.partition("=")
        if not sign:
            raise ObservationError(f"{brief(pair)} is not of the form lever=value")
        arm[name.strip()] = value.strip()
    return arm

"""Discrete variables and their levels, and how a real number becomes one."""

import itertools
import math
from collections.abc import Iterable, Mapping, Sequence, Sized
from dataclasses import dataclass, field

import numpy as np

from ...errors import OptionError, ProblemError, UnknownLevelError, brief, listing, whole_number

Level = str | int | float | bool
"""One value of a discrete variable."""

MOST_LEVELS = 10_000
CONTROL_WORDS = (
    *("control", "current", "none", "idle", "off", "default", "baseline", "placebo", "status quo"),
    *("no", "false", "0", "0.0"),
)
"""Names that mark the control's level of a lever, most certain first."""


@dataclass(frozen=True)
class Bins:
    """How a real-valued variable becomes a discrete one; made by `bins`."""

    cuts: tuple[float, ...] | None = None
    quantiles: int | None = None
    after: int = 100

    @property
    def count(self) -> int:
        """The number of levels."""
        return len(self.cuts) + 1 if self.cuts is not None else self.quantiles or 0


def bins(cuts: Iterable[float] | None = None, *, quantiles: int | None = None, after: int = 100) -> Bins:
    """Cut a real-valued mediator into levels, at declared cut points or at quantiles learned from data.

    Until cut points are learned, the variable is treated as a constant. Then they are fixed, and every row is coded
    with them.

    Args:
        cuts: Increasing cut points; or
        quantiles: Number of levels, cut at quantiles of the data.
        after: Number of rows from which quantiles are learned.

    >>> bins([0.5, 1.5]).count
    3
    >>> bins(quantiles=4).count
    4
    """
    if (cuts is None) == (quantiles is None):
        raise OptionError("bins takes either cut points or quantiles=..., for example bins([0.5]) or bins(quantiles=4)")
    if quantiles is not None:
        count = whole_number("quantiles", quantiles, 2, MOST_LEVELS)
        return Bins(quantiles=count, after=whole_number("after", after, count, 1_000_000_000))
    try:
        points = tuple(float(cut) for cut in itertools.islice(() if cuts is None else cuts, MOST_LEVELS))
    except (TypeError, ValueError, OverflowError):
        raise OptionError(f"bins({brief(cuts)}): expected a list of numbers, such as bins([0.5, 1.5])") from None
    if len(points) == MOST_LEVELS:
        raise OptionError(f"bins({brief(cuts)}) has {MOST_LEVELS} cut points or more; use fewer")
    if not points or not all(map(math.isfinite, points)) or any(a >= b for a, b in itertools.pairwise(points)):
        raise OptionError(f"bins({brief(list(points))}): cut points must be finite and increasing, and at least one")
    return Bins(cuts=points)


@dataclass(frozen=True)
class Variable:
    """A variable: discrete with levels (possibly cut from a real number), or real-valued."""

    name: str
    levels: tuple[Level, ...]
    bins: Bins | None = None
    is_real: bool = False
    codes: dict[Level, int] = field(init=False, repr=False, compare=False, default_factory=dict)

    def __post_init__(self) -> None:
        # A column has one type: a table that holds 'idle' beside 1 says '1', so levels are known by their text too.
        self.codes.update((str(level), code) for code, level in enumerate(self.levels))
        self.codes.update((level, code) for code, level in enumerate(self.levels))

    @property
    def size(self) -> int:
        """The number of levels."""
        return len(self.levels)

    @property
    def shown(self) -> str:
        """Its levels in words."""
        if self.is_real:
            return "real"
        if self.bins is None:
            return listing(self.levels)
        return f"cut at {listing(self.bins.cuts)}" if self.bins.cuts else f"{self.bins.quantiles} quantiles"

    @property
    def is_number(self) -> bool:
        """Whether its values are real numbers, cut or not."""
        return self.is_real or self.bins is not None

    def has(self, level: object) -> bool:
        """Whether this is one of its levels."""
        try:
            return level in self.codes
        except TypeError:  # a list is no level
            return False

    def code(self, level: object) -> int:
        """The number of a level."""
        try:
            return self.codes[level]  # type: ignore[index]
        except (KeyError, TypeError):
            raise UnknownLevelError(
                f"{brief(level)} is not a level of {self.name!r}; expected one of {listing(self.levels)}"
            ) from None


def control_level(levels: Sequence[Level]) -> Level | None:
    """The level that is called like a control; None if none is.

    >>> control_level(["social", "Control"]), control_level(["red", "blue"])
    ('Control', None)
    """
    return next((level for word in CONTROL_WORDS for level in levels if str(level).strip().lower() == word), None)


Levels = int | Sequence[Level] | Bins | type[float]
"""How a caller declares a variable: the number of its levels, their names, `bins(...)`, or `float` for a real one."""


def declare(name: object, levels: Levels) -> Variable:
    """A variable from what a caller declared, checked."""
    if not isinstance(name, str) or not name:
        raise ProblemError(f"variable name {name!r} is not a non-empty string; name variables with strings")
    if levels is float:
        return Variable(name, (), is_real=True)
    if isinstance(levels, Bins):
        return Variable(name, tuple(range(levels.count)), levels)
    if isinstance(levels, int | np.integer) and not isinstance(levels, bool):
        levels = range(min(int(levels), MOST_LEVELS + 1))
    if isinstance(levels, str | set | frozenset | Mapping) or not isinstance(levels, Iterable):
        raise ProblemError(f"levels of {name!r} are {brief(levels)}; give their number or a list of their names")
    if isinstance(levels, Sized) and len(levels) > MOST_LEVELS:
        raise ProblemError(f"{name!r} has more than {MOST_LEVELS} levels; group them, or cut a number with bins(...)")
    found = tuple(level.item() if isinstance(level, np.generic) else level for level in levels)
    for level in found:
        if not isinstance(level, str | int | float | bool) or (isinstance(level, float) and not math.isfinite(level)):
            raise ProblemError(f"level {brief(level)} of {name!r} is not a string, a finite number or a boolean")
    if len(found) < 2:
        raise ProblemError(f"{name!r} has {len(found)} level(s); a variable needs at least 2")
    if min(len(set(found)), len(set(map(str, found)))) < len(found):
        raise ProblemError(f"{name!r} names a level twice in {brief(list(found))}; levels must differ, also as text")
    return Variable(name, found)

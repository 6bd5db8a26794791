"""Axes: round ticks, and numbers with units."""

import math
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any, NamedTuple

from ..core.markup import decimals_for, number

Interval = tuple[float, float, float]
"""Mean, low, high."""


def interval_of(row: Mapping[str, Any], of: str = "") -> Interval | None:
    """The interval of an arm, or with "own_" the interval from its own rows; None if an end is not known."""
    mean, low, high = (row[f"{of}{name}"] for name in ("mean", "low", "high"))
    return None if mean is None or low is None or high is None else (mean, low, high)


class Unit(NamedTuple):
    """How values are written: rates in percent, anything else as it is."""

    percent: bool
    decimals: int | None = None
    """Of all values; by default each has about three digits."""

    def column(self, values: Iterable[float | None]) -> "Unit":
        """The unit of a column of a table: three digits of the largest of these values, and its decimals for all.

        >>> revenue = Unit(percent=False).column([3.2456, 12.9, None])
        >>> [revenue.show(value) for value in (3.2456, 12.9, 0.017)], revenue.change(-0.26)
        (['3.2', '12.9', '0.0'], '-0.3')
        """
        known = [abs(value) for value in values if value is not None and math.isfinite(value)]
        return self if self.percent or not any(known) else self._replace(decimals=decimals_for(max(known)))

    def changes(self, values: Iterable[float | None]) -> "Unit":
        """The unit of a column of differences: the decimals of the largest of them for all, and for their intervals.

        >>> rates = Unit(percent=True).changes([0.0148, 0.00003, None])
        >>> rates.change(0.0148), rates.change(0.00003), rates.change(-0.00021), rates.change(0.123)
        ('+1.48 pp', '0.00 pp', '-0.02 pp', '+12.30 pp')
        """
        known = [abs(value) for value in values if value is not None and math.isfinite(value)]
        if not self.percent or not any(known):
            return self.column(known)
        shown = 100 * max(known)
        return self._replace(decimals=1 if shown >= 10 else 2 if shown >= 0.1 else decimals_for(shown, 2))

    def show(self, value: float | None) -> str:
        """A value with two or three digits.

        >>> rate = Unit(percent=True)
        >>> [rate.show(value) for value in (0.0312, 0.09998, 0.456, 0.004, 0.000123, 3e-146, 1.0, None)]
        ['3.12%', '10.0%', '45.6%', '0.40%', '0.012%', '0%', '100%', '–']
        """
        if value is not None and self.decimals is not None and math.isfinite(value):
            return f"{100 * value:.{self.decimals}f}%" if self.percent else f"{value:,.{self.decimals}f}"
        if value is None or not self.percent:
            return number(value)
        shown = 100 * value
        if shown == 100 or abs(shown) < 1e-4:
            return f"{shown:.0f}%".removeprefix("-")
        if abs(shown) < 0.1:
            return f"{shown:.2g}%"
        return f"{shown:.{1 if abs(shown) >= 9.995 else 2}f}%"

    def change(self, value: float | None) -> str:
        """A difference with its sign; of rates in percentage points.

        >>> Unit(percent=True).change(0.0123), Unit(percent=False).change(-2.5)
        ('+1.23 pp', '-2.500')
        """
        if value is None:
            return "–"
        shown = self.show(abs(value)).replace("%", " pp")
        if self.decimals is not None and not any(digit in shown for digit in "123456789"):
            return shown
        return f"{'-' if value < 0 else '+'}{shown}"


RATE = Unit(percent=True)
PLAIN = Unit(percent=False)


def ticks(low: float, high: float, most: int = 6) -> list[float]:
    """Round numbers inside an interval, at most `most` of them.

    >>> ticks(0.0, 0.043), ticks(3, 3)
    ([0.0, 0.01, 0.02, 0.03, 0.04], [3.0])
    """
    if not high > low:
        return [float(low)]
    rough = (high - low) / max(most - 1, 1)
    base = 10.0 ** math.floor(math.log10(rough))
    step = next(base * factor for factor in (1, 2, 2.5, 5, 10, 20) if base * factor >= rough * (1 - 1e-9))
    first, last = math.ceil(low / step - 1e-9), math.floor(high / step + 1e-9)
    return [float(f"{place * step:.12g}") for place in range(first, last + 1)]


class Axis(NamedTuple):
    """From values to shares of the axis."""

    low: float
    high: float
    marks: tuple[float, ...]
    words: tuple[str, ...]
    is_log: bool = False
    name: str = ""
    """What is written under it."""

    def at(self, value: float) -> float:
        """The share of the axis up to a value, from 0 to 1."""
        low, high = self.low, self.high
        if self.is_log:
            value, low, high = (math.log(max(each, 1e-300)) for each in (value, low, high))
        return min(max((value - low) / ((high - low) or 1.0), 0.0), 1.0)


def axis_for(values: Iterable[float | None], unit: Unit, *, most: int = 6) -> Axis:
    """An axis that includes all values, with a margin at both ends."""
    known = [value for value in values if value is not None]
    low, high = (min(known), max(known)) if known else (0.0, 1.0)
    room = 0.04 * (high - low) or abs(high) * 0.1 or 1.0
    low, high = low - room, high + room
    if known and min(known) >= 0:
        low = max(low, 0.0)
    marks = ticks(low, high, most)
    return Axis(low, high, tuple(marks), tuple(tick_words(marks, unit)))


def intervals_axis(rows: Sequence[Mapping[str, Any]], unit: Unit, level: float | None = None, most: int = 6) -> Axis:
    """An axis for the intervals of arms, and for the mean of the control.

    It includes all intervals with sharing. Those of own rows alone may run out of it: an arm with three rows has an
    interval that would leave no room for the others.
    """
    shared = [end for row in rows for end in interval_of(row) or ()] + ([] if level is None else [level])
    alone = [end for row in rows for end in interval_of(row, "own_") or ()]
    if not shared:
        return axis_for(alone, unit, most=most)
    room = max(shared) - min(shared)
    low, high = min(shared) - room / 2, max(shared) + room / 2
    return axis_for([*shared, *(min(max(end, low), high) for end in alone)], unit, most=most)


def tick_words(marks: Sequence[float], unit: Unit) -> list[str]:
    """Ticks with enough digits to distinguish them.

    >>> tick_words([0.0, 0.005, 0.01], Unit(percent=True)), tick_words([0, 5000], Unit(percent=False))
    (['0%', '0.5%', '1%'], ['0', '5,000'])
    """
    factor, end = (100.0, "%") if unit.percent else (1.0, "")
    return [f"{float(f'{mark * factor:.6g}'):,.6g}{end}" for mark in marks]


def counts_axis(first: float, last: float) -> Axis:
    """A logarithmic axis of rows."""
    powers = [10.0**power for power in range(12) if first <= 10.0**power <= last] or [first]
    words, name = tuple(f"{mark:,.0f}" for mark in powers), "rows (logarithmic scale)"
    return Axis(first, last, tuple(powers), words, is_log=last > first > 0, name=name)


MINUTE, HOUR, DAY = 60, 3600, 86_400
MOST_TIMES = 5
"""Ticks of a time axis."""
STEPS = (
    *(1, 2, 5, 10, 15, 30),
    *(MINUTE * step for step in (1, 2, 5, 10, 15, 30)),
    *(HOUR * step for step in (1, 2, 3, 6, 12)),
    *(DAY * step for step in (1, 2, 7, 14)),
)
"""Seconds between two ticks of a time axis, up to two weeks; then any number of days."""


def seconds_of(text: str) -> float:
    """Seconds since 1970 of a time in ISO 8601."""
    return datetime.fromisoformat(text).timestamp()


def time_words(seconds: float) -> str:
    """A moment to read, in UTC.

    >>> time_words(1794960000 + 14 * 3600)
    'Nov 18, 2026, 14:00 UTC'
    """
    return f"{datetime.fromtimestamp(seconds, UTC):%b %-d, %Y, %H:%M} UTC"


def time_axis(first: float, last: float) -> Axis:
    """A calendar axis with round ticks, in UTC.

    >>> time_axis(1794960000, 1794960000 + 5 * 86400).words
    ('Nov 19', 'Nov 21', 'Nov 23')
    >>> day = time_axis(1794960000, 1794960000 + 7200)
    >>> day.words, day.name
    (('00:00', '00:30', '01:00', '01:30', '02:00'), 'Nov 18, 2026 (UTC)')
    >>> night = time_axis(1794960000 + 20 * 3600, 1794960000 + 28 * 3600)
    >>> night.words, night.name
    (('20:00', '22:00', 'Nov 19', '02:00', '04:00'), 'Nov 18 to Nov 19, 2026 (UTC)')
    """
    if last - first < 1:
        first, last = first - 0.5, last + 0.5
    step = next((step for step in STEPS if (last - first) / step <= MOST_TIMES - 1), None)
    if step is None:
        step = DAY * math.ceil((last - first) / DAY / (MOST_TIMES - 1))
    marks = [float(place * step) for place in range(math.ceil(first / step - 1e-9), math.floor(last / step + 1e-9) + 1)]
    start, end = (datetime.fromtimestamp(each, UTC) for each in (first, last))
    shape = "%b %-d" if step >= DAY else "%H:%M" if step >= MINUTE else "%H:%M:%S"
    moments = [datetime.fromtimestamp(mark, UTC) for mark in marks]
    is_one_day = start.date() == end.date()
    words = [
        f"{each:%b %-d}" if step < DAY and not is_one_day and each.hour == each.minute == each.second == 0
        else f"{each:{shape}}"
        for each in moments
    ]  # fmt: skip
    until = f"{end:%b %-d, %Y} (UTC)"
    name = until if is_one_day else f"{start:%b %-d}{f', {start:%Y}' if start.year != end.year else ''} to {until}"
    return Axis(first, last, tuple(marks), tuple(words), name=name)


def duration(seconds: float | None) -> str:
    """How long something took.

    >>> [duration(value) for value in (0.002, 0.25, 42, 600, 9000, 200000, None)]
    ['0.1 s', '0.2 s', '42 s', '10 min', '2.5 h', '2.3 days', '–']
    """
    if seconds is None:
        return "–"
    for size, name in ((86_400, "days"), (3600, "h"), (60, "min")):
        if seconds >= 2 * size:
            return f"{seconds / size:.1f}".removesuffix(".0") + f" {name}"
    return f"{seconds:.0f} s" if seconds >= 10 else f"{max(seconds, 0.1):.1f} s"

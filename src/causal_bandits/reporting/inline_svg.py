"""Drawings inside a page, in the colours of the page: intervals, lines over rows, shares over time."""

from collections.abc import Sequence
from unicodedata import east_asian_width

from ..markup import Markup, number, tag
from .html import scrolling, soft
from .palette import GREY, PALETTE

Interval = tuple[float, float, float]
"""Mean, low, high."""

LETTER = 7.2
"""The width of most letters of a drawing; few are wider."""
LONGEST_LABEL = 44


def _drawing(height: int, label: str, parts: Sequence[Markup]) -> Markup:
    about = {"viewBox": f"0 0 720 {height}", "role": "img", "aria-label": label}
    return scrolling(tag("svg", *parts, at=about))


def _scale(low: float, high: float, start: float, end: float) -> tuple[float, float]:
    """Slope and offset from values to coordinates."""
    slope = (end - start) / ((high - low) or 1.0)
    return slope, start - low * slope


def _size(name: str) -> int:
    """The width of a text in letters; those of East Asia take two."""
    return sum(2 if east_asian_width(letter) in "WF" else 1 for letter in name)


def shortened(name: str, most: int) -> str:
    """A name that is no wider than so many letters, its middle left out: arms differ at either end.

    It is cut between words; only a name whose first or last word is too long for its half is cut within.

    >>> shortened("do(banner=red, discount=10%)", 20)
    'do(banner=…=10%)'
    """
    if _size(name) <= most:
        return name
    start, end = len(name) // 2, len(name) - len(name) // 2
    while start and _size(name[:start]) > most // 2:
        start -= 1
    while end < len(name) and _size(name[end:]) > most - most // 2 - 1:
        end += 1
    first, last = start, end
    while first and name[first - 1 : first + 1].isalnum():
        first -= 1
    while last < len(name) and name[last - 1 : last + 1].isalnum():
        last += 1
    return f"{name[: first or start]}…{name[last if last < len(name) else end :]}"


def _label(x: float, y: float, name: str, most: int) -> Markup:
    """A name in a drawing; where it is cut the whole name shows under the pointer."""
    shown = shortened(name, most)
    whole = [tag("title", name)] if shown != name else []
    return tag("text", shown, *whole, at={"x": f"{x:g}", "y": f"{y:g}"})


def _note(x: float, y: float, text: str, anchor: str) -> Markup:
    """A word at an axis."""
    return tag("text", text, at={"class": "soft", "x": f"{x:.0f}", "y": f"{y:.0f}", "text-anchor": anchor})


def _block(x: float, y: float, width: float, height: float, colour: str) -> Markup:
    place = {"x": f"{x:.1f}", "y": f"{y:.1f}", "width": f"{width:.1f}", "height": f"{height:.1f}"}
    return tag("rect", at={**place, "fill": colour})


def _level(x1: float, x2: float, y: float) -> dict[str, str]:
    """The ends of a line from left to right."""
    return {"x1": f"{x1:.1f}", "x2": f"{x2:.1f}", "y1": f"{y:.1f}", "y2": f"{y:.1f}"}


def _bar(mean: float, low: float, high: float, y: float, colour: str, wide: float) -> tuple[Markup, Markup]:
    """An interval and the mean in it."""
    look = {"style": f"stroke:{colour};stroke-width:{wide}", "stroke-linecap": "round"}
    dot = {"cx": f"{mean:.1f}", "cy": f"{y:.1f}", "r": "4", "style": f"fill:{colour}"}
    return tag("line", at={**_level(low, high, y), **look}), tag("circle", at=dot)


def intervals(
    names: Sequence[str],
    shared: Sequence[Interval | None],
    alone: Sequence[Interval | None],
    *,
    mark: float | None = None,
) -> Markup:
    """One line per name: the interval with sharing, and under it the one without; `mark` draws a value across."""
    known = [value for each in (*shared, *alone) if each is not None for value in each]
    if not known:
        return soft("No arm has enough rows for an interval yet.")
    letters = min(max(map(_size, names)), LONGEST_LABEL)
    slope, offset = _scale(min(known), max(known), max(LETTER * letters + 20, 120), 690)
    height = 34 * len(names) + 40
    parts = []
    if mark is not None:
        x = f"{mark * slope + offset:.1f}"
        ends = {"x1": x, "x2": x, "y1": "6", "y2": f"{height - 26}"}
        parts.append(tag("line", at={**ends, "style": "stroke:var(--soft)", "stroke-dasharray": "4 3"}))
    for place, name in enumerate(names):
        y = 24 + 34 * place
        parts.append(_label(4, y + 4, name, LONGEST_LABEL))
        for each, at, shade, wide in ((shared[place], y - 4, "one", 5), (alone[place], y + 7, "two", 2.5)):
            if each is not None:
                mean, low, high = (value * slope + offset for value in each)
                parts += _bar(mean, low, high, at, f"var(--{shade})", wide)
    for value, anchor in ((min(known), "start"), (max(known), "end")):
        parts.append(_note(value * slope + offset, height - 8, number(value), anchor))
    return _drawing(height, "Means and intervals of the arms", parts)


def _legend(x: int, first: int, entries: Sequence[tuple[str, str]]) -> list[Markup]:
    """Colours and what they stand for, one under the other."""
    parts = []
    for place, (colour, name) in enumerate(entries):
        y = first + 18 * place
        parts += [_block(x, y - 9, 12, 10, colour), _label(x + 18, y, name, int((700 - x) / LETTER))]
    return parts


def lines(
    xs: Sequence[float],
    series: Sequence[tuple[str, Sequence[float | None]]],
    *,
    low: float,
    high: float,
    ends: tuple[str, str],
    mark: float | None = None,
    label: str = "",
) -> Markup:
    """Lines over a common axis whose `ends` are named, with a legend; `mark` draws a level across."""
    slope_y, offset_y = _scale(low, high, 210, 20)
    slope_x, offset_x = _scale(min(xs), max(xs), 50, 700)
    parts = [tag("line", at={"class": "axis", **_level(50, 700, 210)})]
    parts += [_note(44, v * slope_y + offset_y + 4, end, "end") for v, end in zip((low, high), ends, strict=True)]
    parts += [_note(v * slope_x + offset_x, 226, f"{v:,.0f}", "middle") for v in (min(xs), max(xs))]
    if mark is not None:
        look = {"style": "stroke:var(--fails)", "stroke-dasharray": "4 3"}
        parts.append(tag("line", at={**_level(50, 700, mark * slope_y + offset_y), **look}))
    legend = [(PALETTE[place % len(PALETTE)], name) for place, (name, _) in enumerate(series)]
    for (colour, _), (_, values) in zip(legend, series, strict=True):
        points = " ".join(
            f"{x * slope_x + offset_x:.1f},{min(max(v, low), high) * slope_y + offset_y:.1f}"
            for x, v in zip(xs, values, strict=True)
            if v is not None
        )
        parts.append(tag("polyline", at={"points": points, "fill": "none", "stroke": colour, "stroke-width": "2"}))
    return _drawing(250 + 18 * len(series), label, [*parts, *_legend(52, 246, legend)])


def stacked(until: Sequence[int], names: Sequence[str], shares: Sequence[Sequence[float]]) -> Markup:
    """How the shares of several names change, as columns that add up to one; small ones are one grey block."""
    if not until:
        return soft("No decision yet.")
    total = [sum(row[place] for row in shares) for place in range(len(names))]
    order = sorted(range(len(names)), key=lambda place: -total[place])
    shown, rest = order[: len(PALETTE) - 1], order[len(PALETTE) - 1 :]
    legend = [(PALETTE[rank], names[place]) for rank, place in enumerate(shown)]
    if rest:
        legend.append((GREY, f"{len(rest)} others"))
    parts = []
    for start, end, row in zip((0, *until), until, shares, strict=False):
        x, width = 10 + 700 * start / until[-1], max(700 * (end - start) / until[-1] - 1, 0.5)
        y = 210.0
        heights = [*(190 * row[place] for place in shown), *([190 * sum(row[place] for place in rest)] if rest else [])]
        for (colour, _), height in zip(legend, heights, strict=True):
            y -= height
            parts.append(_block(x, y, width, height, colour))
    parts += [_note(10, 226, "decision 1", "start"), _note(710, 226, f"{until[-1]:,}", "end")]
    return _drawing(240 + 18 * len(legend), "Share of each arm over time", [*parts, *_legend(12, 246, legend)])

"""Charts that fit any width: text keeps its size, only the drawing is stretched.

Their colors are classes (c0 to c7, gray), which a style sheet gives a shade for light and for dark paper. There is no
style attribute anywhere, so a strict Content-Security-Policy may forbid them.
"""

from collections.abc import Iterable, Sequence
from itertools import pairwise
from typing import NamedTuple

from ..core.markup import Markup, breaks, table, tag
from .axes import Axis, Interval, Unit

HEIGHT = 200
LETTER, SIGN = 7.4, 12.0
"""The width of a digit and of a percent sign at an axis, at most."""
SHARES = Axis(0.0, 1.0, (0.0, 0.25, 0.5, 0.75, 1.0), ("0%", "25%", "50%", "75%", "100%"))
GREY, LEVEL = "grey", "level-key"


class Series(NamedTuple):
    """Values over a common axis, by the class of their color."""

    name: str
    color: str
    values: Sequence[float | None]

    @property
    def last(self) -> float | None:
        """The newest value that is known."""
        return next((value for value in reversed(self.values) if value is not None), None)


def _percent(share: float) -> str:
    return f"{100 * share:.2f}%"


def _frame(x: Axis, y: Axis, drawn: Iterable[Markup], label: str, x_label: str) -> Markup:
    """Axes with ticks and a grid around what is drawn."""
    wide = [LETTER * len(word) + (SIGN - LETTER) * word.count("%") for word in y.words]
    width = f"{max(wide, default=LETTER) + 8:.0f}"
    heights = [HEIGHT * (1 - y.at(mark)) + 10 for mark in y.marks]
    beside = [
        tag("text", word, at={"x": str(int(width) - 6), "y": f"{at + 4:.1f}", "text-anchor": "end"})
        for word, at in zip(y.words, heights, strict=True)
    ]
    grid = [tag("line", at={"class": "grid", "x2": "100%", "y1": f"{at:.1f}", "y2": f"{at:.1f}"}) for at in heights]
    for mark, word in zip(x.marks, x.words, strict=True):
        at = x.at(mark)
        anchor = "start" if at < 0.06 else "end" if at > 0.94 else "middle"
        place = {"x1": _percent(at), "x2": _percent(at), "y1": "10", "y2": f"{HEIGHT + 14}"}
        grid.append(tag("line", at={"class": "grid", **place}))
        grid.append(tag("text", word, at={"x": _percent(at), "y": f"{HEIGHT + 28}", "text-anchor": anchor}))
    named = tag("text", x_label, at={"class": "name", "x": "50%", "y": f"{HEIGHT + 48}", "text-anchor": "middle"})
    about = {"role": "img", "aria-label": label, "class": "plot", "width": "100%", "height": f"{HEIGHT + 54}"}
    left = tag(
        "svg", *beside, at={"class": "beside", "width": width, "height": f"{HEIGHT + 54}", "aria-hidden": "true"}
    )
    return tag("div", left, tag("svg", *grid, *drawn, named, at=about), at={"class": "chart"})


def _stretched(*parts: Markup) -> Markup:
    """Draw over the whole width, in thousandths of it."""
    box = {"y": "10", "width": "100%", "height": str(HEIGHT), "viewBox": f"0 0 1000 {HEIGHT}"}
    return tag("svg", *parts, at={"class": "drawn", "preserveAspectRatio": "none", **box})


def _hovers(x: Axis, xs: Sequence[float], words: Sequence[str]) -> list[Markup]:
    """Columns with tooltips."""
    places = [x.at(value) for value in xs]
    edges = [0.0, *((a + b) / 2 for a, b in pairwise(places)), 1.0]
    return [
        tag("rect", tag("title", said), at={"class": "hover", **_box(start, end, 10, HEIGHT)})
        for start, end, said in zip(edges, edges[1:], words, strict=False)
    ]


def _box(start: float, end: float, top: float, height: float) -> dict[str, str]:
    across = {"x": _percent(start), "width": _percent(max(end - start, 0.0))}
    return {**across, "y": f"{top:.1f}", "height": f"{height:.1f}"}


def said_at(series: Sequence[Series], place: int, unit: Unit) -> str:
    """The values of all series at a point."""
    return "".join(f"\n{each.name}: {unit.show(each.values[place])}" for each in series)


class Note(NamedTuple):
    """An annotation of a place on the x axis: a letter in the chart, and what it stands for."""

    at: float
    letter: str
    text: str


def note_lines(x: Axis, notes: Sequence[Note]) -> list[Markup]:
    """Annotations: a line from top to bottom with a letter above it."""
    drawn = []
    for note in notes:
        at = _percent(x.at(note.at))
        line = tag("line", at={"class": "noted", "x1": at, "x2": at, "y1": "10", "y2": f"{HEIGHT + 10}"})
        letter = tag("text", note.letter, at={"class": "noted", "x": at, "y": "8", "text-anchor": "middle"})
        drawn.append(tag("g", tag("title", f"{note.letter}: {note.text}"), line, letter))
    return drawn


def lines(
    x: Axis, y: Axis, xs: Sequence[float], series: Sequence[Series], *, unit: Unit, names: Sequence[str], label: str,
    level: tuple[float, str] | None = None, notes: Sequence[Note] = (),
) -> Markup:  # fmt: skip
    """Lines over a common axis; `level` draws a value across, `notes` lines from top to bottom.

    `names` are the label of the axis, then the name of each x.
    """
    drawn = []
    if level is not None:
        at = f"{HEIGHT * (1 - y.at(level[0])) + 10:.1f}"
        drawn.append(tag("line", tag("title", level[1]), at={"class": "level", "x2": "100%", "y1": at, "y2": at}))
    places = [x.at(value) for value in xs]
    shapes = []
    for each in series:
        known = [(at, y.at(value)) for at, value in zip(places, each.values, strict=True) if value is not None]
        points = " ".join(f"{1000 * at:.1f},{HEIGHT * (1 - up):.1f}" for at, up in known)
        shapes.append(tag("polyline", at={"class": f"line {each.color}", "points": points}))
        if len(known) < 2:
            dots = [{"cx": _percent(at), "cy": f"{HEIGHT * (1 - up) + 10:.1f}", "r": "4"} for at, up in known]
            drawn += [tag("circle", at={"class": f"fill {each.color}", **dot}) for dot in dots]
    words = [f"{name}{said_at(series, place, unit)}" for place, name in enumerate(names[1:])]
    return _frame(x, y, [*drawn, _stretched(*shapes), *note_lines(x, notes), *_hovers(x, xs, words)], label, names[0])


def shares(
    x: Axis, y: Axis, edges: Sequence[float], series: Sequence[Series], *, unit: Unit, names: Sequence[str],
    label: str, notes: Sequence[Note] = (),
) -> Markup:  # fmt: skip
    """Columns that add up to one, between the edges; `names` as for `lines`."""
    drawn = []
    for place, (start, end) in enumerate(pairwise(edges)):
        bottom = float(HEIGHT + 10)
        said = f"{names[place + 1]}{said_at(series, place, unit)}"
        parts = []
        for each in series:
            height = HEIGHT * (each.values[place] or 0.0)
            bottom -= height
            if height > 0:
                box = _box(x.at(start), x.at(end), bottom, height)
                parts.append(tag("rect", at={"class": f"column {each.color}", **box}))
        drawn.append(tag("g", tag("title", said), *parts))
    return _frame(x, y, [*drawn, *note_lines(x, notes)], label, names[0])


def legend(series: Iterable[tuple[str, str, str]]) -> Markup:
    """Colors, names, and a value each."""
    return tag(
        "ul",
        *(
            tag("li", key(color), tag("bdi", breaks(name)), *([tag("b", value)] if value else []))
            for color, name, value in series
        ),
        at={"class": "legend"},
    )


def key(color: str) -> Markup:
    """A spot of color, or for a level a broken line."""
    dot = tag("circle", at={"cx": "6", "cy": "6", "r": "5", "class": f"fill {color}"})
    broken = tag("line", at={"class": "level", "x2": "100%", "y1": "6", "y2": "6"})
    return tag(
        "svg",
        broken if color == LEVEL else dot,
        at={"class": "key", "width": "12", "height": "12", "aria-hidden": "true"},
    )


def strip(axis: Axis, shared: Interval | None, alone: Interval | None, level: float | None, said: str) -> Markup:
    """One line of a table: an interval with sharing, under it the one of own rows, and the control across."""
    parts = []
    for mark in axis.marks:
        at = _percent(axis.at(mark))
        parts.append(tag("line", at={"class": "grid", "x1": at, "x2": at, "y2": "100%"}))
    if level is not None:
        at = _percent(axis.at(level))
        parts.append(tag("line", at={"class": "level", "x1": at, "x2": at, "y2": "100%"}))
    for each, y, look in ((alone, "24", "alone"), (shared, "13", "shared")):
        if each is not None:
            mean, low, high = (_percent(axis.at(value)) for value in each)
            parts.append(tag("line", at={"class": f"bar {look}", "x1": low, "x2": high, "y1": y, "y2": y}))
            size = "5" if look == "shared" else "3"
            if axis.low <= each[0] <= axis.high:
                parts.append(tag("circle", at={"class": f"dot {look}", "cx": mean, "cy": y, "r": size}))
    about = {"role": "img", "aria-label": said, "class": "strip", "width": "100%", "height": "34"}
    return tag("svg", tag("title", said), *parts, at=about)


def strip_axis(axis: Axis) -> Markup:
    """The ticks above such lines."""
    words = []
    for mark, word in zip(axis.marks, axis.words, strict=True):
        at = axis.at(mark)
        anchor = "start" if at < 0.08 else "end" if at > 0.92 else "middle"
        words.append(tag("text", word, at={"x": _percent(at), "y": "14", "text-anchor": anchor}))
    return tag("svg", *words, at={"class": "strip", "width": "100%", "height": "20", "aria-hidden": "true"})


def bars(parts: Iterable[tuple[float, str]], said: str) -> Markup:
    """One bar of several parts, in shares of the whole width, with the class of each."""
    drawn, start = [], 0.0
    for share, look in parts:
        box = _box(start, start + share, 2, 10)
        drawn.append(tag("rect", at={"class": look, **box}))
        start += share
    about = {"role": "img", "aria-label": said, "class": "bars", "width": "100%", "height": "14"}
    return tag("svg", tag("title", said), *drawn, at=about)


def numbers(columns: Sequence[str], rows: Iterable[Sequence[str]]) -> Markup:
    """The values behind a chart, folded away."""
    return tag("details", tag("summary", "Numbers"), table(columns, rows))

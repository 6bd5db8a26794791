"""Pages that need nothing but themselves: one HTML file, drawings inside, light and dark, readable on a phone."""

from collections.abc import Iterable, Sequence
from html import escape
from unicodedata import east_asian_width

from ..markup import number, printable

STYLE = """
:root { color-scheme: light dark; --ink: #1d2125; --soft: #5b646e; --line: #d6dbe0; --page: #ffffff; --box: #f5f7f9;
  --one: #0072b2; --two: #999999; --good: #007a5a; --bad: #c2410c; }
@media (prefers-color-scheme: dark) { :root { --ink: #e8eaed; --soft: #a3abb4; --line: #3a4149; --page: #16191d;
  --box: #1f2429; --one: #56b4e9; --two: #8b939c; --good: #4cc9a0; --bad: #ff8a5c; } }
* { box-sizing: border-box; }
body { margin: 0 auto; max-width: 62rem; padding: 1rem; background: var(--page); color: var(--ink);
  font: 1rem/1.5 system-ui, sans-serif; }
h1 { font-size: 1.5rem; margin: .5rem 0; } h2 { font-size: 1.15rem; margin: 2rem 0 .5rem; }
p.lead { font-size: 1.1rem; } .soft { color: var(--soft); } .alarm { color: var(--bad); font-weight: 600; }
.box { background: var(--box); border-left: .25rem solid var(--one); padding: .75rem 1rem; }
.box.bad { border-color: var(--bad); }
.scroll { overflow-x: auto; }
table { border-collapse: collapse; width: 100%; font-size: .92rem; }
th, td { padding: .3rem .6rem; border-bottom: 1px solid var(--line); text-align: left; vertical-align: top; }
th { font-weight: 600; } td.n, th.n { text-align: right; font-variant-numeric: tabular-nums; white-space: nowrap; }
svg { width: 100%; min-width: 36rem; height: auto; display: block; }
svg text { fill: var(--ink); font: 12px system-ui, sans-serif; }
svg .soft { fill: var(--soft); } svg .axis { stroke: var(--line); } ul { padding-left: 1.2rem; }
"""

COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#8c6d31", "#7f7f7f")
"""Okabe and Ito's, told apart with any kind of colour vision, and seen on light and dark."""


def page(title: str, parts: Iterable[str]) -> str:
    """A whole page."""
    whole = (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>{escape(title)}</title>\n<style>{STYLE}</style>\n</head>\n<body>\n"
        + "\n".join(part for part in parts if part)
        + "\n</body>\n</html>\n"
    )
    return printable(whole, keep="\n\t")


def _figure(parts: list[str]) -> str:
    """A drawing that scrolls sideways where the screen is narrow, rather than shrink until it cannot be read."""
    return f'<div class="scroll">{"".join(parts)}</svg></div>'


def _scale(low: float, high: float, start: float, end: float) -> tuple[float, float]:
    """Slope and offset from values to coordinates."""
    slope = (end - start) / ((high - low) or 1.0)
    return slope, start - low * slope


Interval = tuple[float, float, float]
"""Mean, low, high."""


LETTER = 7.2
"""The width of most letters of a drawing; few are wider."""
LONGEST_LABEL = 44


def _size(name: str) -> int:
    """The width of a text in letters; those of East Asia take two."""
    return sum(2 if east_asian_width(letter) in "WF" else 1 for letter in name)


def shortened(name: str, most: int) -> str:
    """A name that is no wider than so many letters, its middle left out: arms differ at either end.

    >>> shortened("do(banner=red, discount=10%)", 16)
    'do(banne…nt=10%)'
    """
    if _size(name) <= most:
        return name
    start, end = len(name) // 2, len(name) - len(name) // 2
    while start and _size(name[:start]) > most // 2:
        start -= 1
    while end < len(name) and _size(name[end:]) > most - most // 2 - 1:
        end += 1
    return f"{name[:start]}…{name[end:]}"


def _label(x: float, y: float, name: str, most: int) -> str:
    """A name in a drawing; where it is cut the whole name shows under the pointer."""
    shown = shortened(name, most)
    whole = f"<title>{escape(name)}</title>" if shown != name else ""
    return f'<text x="{x:g}" y="{y:g}">{escape(shown)}{whole}</text>'


def intervals(names: Sequence[str], shared: Sequence[Interval | None], alone: Sequence[Interval | None]) -> str:
    """One line per name: the interval with sharing, and under it the one without."""
    known = [value for each in (*shared, *alone) if each is not None for value in each]
    if not known:
        return '<p class="soft">No arm has enough rows for an interval yet.</p>'
    letters = min(max(map(_size, names)), LONGEST_LABEL)
    slope, offset = _scale(min(known), max(known), max(LETTER * letters + 20, 120), 690)
    height = 34 * len(names) + 40
    parts = [f'<svg viewBox="0 0 720 {height}" role="img" aria-label="Means and intervals of the arms">']
    for place, name in enumerate(names):
        y = 24 + 34 * place
        parts.append(_label(4, y + 4, name, LONGEST_LABEL))
        for each, shift, colour, wide in ((shared[place], -4, "var(--one)", 5), (alone[place], 7, "var(--two)", 2.5)):
            if each is not None:
                mean, low, high = (value * slope + offset for value in each)
                line = f'x1="{low:.1f}" x2="{high:.1f}" y1="{y + shift}" y2="{y + shift}"'
                parts.append(f'<line {line} style="stroke:{colour};stroke-width:{wide}" stroke-linecap="round"/>')
                parts.append(f'<circle cx="{mean:.1f}" cy="{y + shift}" r="4" style="fill:{colour}"/>')
    for at, anchor in ((min(known), "start"), (max(known), "end")):
        x = at * slope + offset
        parts.append(f'<text class="soft" x="{x:.0f}" y="{height - 8}" text-anchor="{anchor}">{number(at)}</text>')
    return _figure(parts)


def _legend(x: int, y: int, colour: str, name: str) -> str:
    mark = f'<rect x="{x}" y="{y - 9}" width="12" height="10" fill="{colour}"/>'
    return mark + _label(x + 18, y, name, int((700 - x) / LETTER))


def lines(
    xs: Sequence[float],
    series: Sequence[tuple[str, Sequence[float | None]]],
    *,
    low: float,
    high: float,
    ends: tuple[str, str],
    mark: float | None = None,
    label: str = "",
) -> str:
    """Lines over a common axis whose `ends` are named, with a legend; `mark` draws a level across."""
    slope_y, offset_y = _scale(low, high, 210, 20)
    slope_x, offset_x = _scale(min(xs), max(xs), 50, 700)
    parts = [f'<svg viewBox="0 0 720 {250 + 18 * len(series)}" role="img" aria-label="{escape(label)}">']
    parts.append('<line class="axis" x1="50" x2="700" y1="210" y2="210"/>')
    parts += [
        f'<text class="soft" x="44" y="{v * slope_y + offset_y + 4:.0f}" text-anchor="end">{end}</text>'
        for v, end in zip((low, high), ends, strict=True)
    ]
    parts += [
        f'<text class="soft" x="{v * slope_x + offset_x:.0f}" y="226" text-anchor="middle">{v:,.0f}</text>'
        for v in (min(xs), max(xs))
    ]
    if mark is not None:
        y = mark * slope_y + offset_y
        parts.append(
            f'<line x1="50" x2="700" y1="{y:.1f}" y2="{y:.1f}" style="stroke:var(--bad)" stroke-dasharray="4 3"/>'
        )
    for place, (name, values) in enumerate(series):
        colour = COLOURS[place % len(COLOURS)]
        points = [
            (x * slope_x + offset_x, min(max(v, low), high) * slope_y + offset_y)
            for x, v in zip(xs, values, strict=True)
            if v is not None
        ]
        path = " ".join(f"{x:.1f},{y:.1f}" for x, y in points)
        parts.append(f'<polyline points="{path}" fill="none" stroke="{colour}" stroke-width="2"/>')
        parts.append(_legend(52, 246 + 18 * place, colour, name))
    return _figure(parts)


def stacked(until: Sequence[int], names: Sequence[str], shares: Sequence[Sequence[float]]) -> str:
    """How the shares of several names change, as columns that add up to one; small ones are one grey block."""
    if not until:
        return '<p class="soft">No decision yet.</p>'
    total = [sum(row[place] for row in shares) for place in range(len(names))]
    order = sorted(range(len(names)), key=lambda place: -total[place])
    shown = order[: len(COLOURS) - 1]
    parts = [
        f'<svg viewBox="0 0 720 {240 + 18 * (len(shown) + 1)}" role="img" aria-label="Share of each arm over time">'
    ]
    start = 0
    for end, row in zip(until, shares, strict=True):
        x, width = 10 + 700 * start / until[-1], max(700 * (end - start) / until[-1] - 1, 0.5)
        start, y = end, 210.0
        heights = [(COLOURS[rank], 190 * row[place]) for rank, place in enumerate(shown)]
        heights.append(("#9aa3ab", 190 * sum(row[place] for place in order[len(shown) :])))
        for colour, height in heights:
            y -= height
            parts.append(f'<rect x="{x:.1f}" y="{y:.1f}" width="{width:.1f}" height="{height:.1f}" fill="{colour}"/>')
    parts.append('<text class="soft" x="10" y="226">decision 1</text>')
    parts.append(f'<text class="soft" x="710" y="226" text-anchor="end">{until[-1]:,}</text>')
    legend = [(COLOURS[rank], names[place]) for rank, place in enumerate(shown)]
    if len(order) > len(shown):
        legend.append(("#9aa3ab", f"{len(order) - len(shown)} others"))
    for place, (colour, name) in enumerate(legend):
        parts.append(_legend(12, 246 + 18 * place, colour, name))
    return _figure(parts)

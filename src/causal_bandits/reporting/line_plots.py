"""Lines over rounds, made from summaries alone."""

from __future__ import annotations

import math
from collections import Counter
from typing import TYPE_CHECKING

from .palette import BLUE, GREEN, GREY, ORANGE, PALETTE, PLAIN, PURPLE, SKY, SOFT, VERMILION
from .summaries import Series, Summary
from .text import label

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

COLOURS = {
    "ts": PLAIN.light,
    "causal-ts-direct": BLUE,
    "causal-ts-direct-marginal": VERMILION,
    "causal-ts-asd": GREEN,
    "causal-ts-perfect": PURPLE,
    "safe": GREEN,
    "main-effects-ts": ORANGE,
    "graph-posterior": ORANGE,
    "direct": BLUE,
    "asd": GREEN,
    "ucb-normal": PLAIN.light,
    "causal-ucb-normal": BLUE,
    "gaussian-ts": GREY,
    "causal-gaussian-ts": SKY,
}
Found = dict[str, Series]
"""Series by key."""
COLUMNS = 3
DASHES = ("-", "--", ":", "-.")
"""Lines of one plot that have the same colour differ in these."""
LONGEST, LONGEST_TITLE = 44, 88
"""Characters of a name, and of a title, that are drawn; tables have all of them."""
CUT = 2.0
"""Where methods are compared by tier, lines that end above so many times the baseline are cut."""
LABELLED = 2
"""With more panels than this the names are in a legend, not at the ends of the lines."""


def paint_curves(figure: Figure, summary: Summary, narrow: bool) -> None:
    """Mean over rounds with a band of two standard errors, a plot per panel."""
    panels = _panels(summary)
    colours = _colours(summary)
    by_tier = summary.get("by_tier", False)
    labelled = (len(panels) <= LABELLED or by_tier) and not narrow
    columns = 1 if narrow else 2 if len(panels) == 4 or by_tier else min(len(panels), COLUMNS)
    rows = math.ceil(len(panels) / columns)
    width = 4.6 if narrow else 7.2 if labelled else 4.2
    figure.set_size_inches(width * columns, (3.4 if narrow else 4.6 if labelled else 3.4) * rows + 0.4)
    for place, (title, found) in enumerate(panels.items()):
        axes = figure.add_subplot(rows, columns, place + 1)
        _draw_lines(axes, found, colours)
        _frame(axes, summary, title)
        if by_tier:
            _cut_above(axes, found)
        if labelled:
            _label_lines(axes, found, colours, summary["horizon"], short=by_tier)
    if not labelled:
        _add_legends(figure.axes, panels)
        _make_room(figure, list(panels.values()))
    if not narrow:
        figure.suptitle(label(summary["title"], LONGEST_TITLE), x=0.01, ha="left", fontsize=11, fontweight="bold")
        figure.supxlabel(caption(summary), x=0.01, ha="left", fontsize=8, color=SOFT.light)


def _add_legends(plots: list[Axes], panels: dict[str, Found]) -> None:
    """In the first plot, or in each where they show different methods."""
    differ = len({tuple(series["method"] for series in found.values()) for found in panels.values()}) > 1
    for axes, found in zip(plots, panels.values(), strict=True):
        lines = list(zip(axes.lines, found.values(), strict=True))
        if differ:  # many lines: from top to bottom as they end
            lines.sort(key=lambda line: line[1]["mean"][-1], reverse=True)
        names = [label(series["label"], LONGEST) if differ else _name(series) for _, series in lines]
        legend = axes.legend([line for line, _ in lines], [""] * len(lines), loc="best", fontsize=8)
        for text, name in zip(legend.get_texts(), names, strict=True):
            text.set_text(name)  # so that a name may begin with an underscore, which hides a label
        legend.set_in_layout(False)
        if not differ:
            return


def _make_room(figure: Figure, panels: list[Found]) -> None:
    """Where lines run through a legend, it is put above them: the axis goes on until they pass below."""
    figure.draw_without_rendering()  # only then is it known where legends are
    for axes, found in zip(figure.axes, panels, strict=True):
        legend = axes.get_legend()
        if legend is None or axes.get_xscale() == "log":
            continue
        box = legend.get_window_extent().transformed(axes.transAxes.inverted())
        (_, end), (_, top) = axes.get_xlim(), axes.get_ylim()
        bands = [
            (t / end, (mean - 2 * se) / top, (mean + 2 * se) / top)
            for series in found.values()
            for t, mean, se in zip(series["t"], series["mean"], series["se"], strict=True)
        ]
        if any(box.x0 <= x <= box.x1 and low <= box.y1 and high >= box.y0 for x, low, high in bands):
            legend.set_loc("upper left")
            highest = max((high for x, _, high in bands if x <= box.width + 0.05), default=0.0)
            axes.set_ylim(top=top * max(1.0, highest / (1 - min(box.height, 0.6) - 0.06)))


def _panels(summary: Summary) -> dict[str, Found]:
    """The lines of each plot; where methods are ordered by tier, a plot per tier with the baseline in all of them."""
    lines = {key: series for key, series in summary["series"].items() if len(series["t"]) > 1}
    panels: dict[str, Found] = {}
    for key, series in lines.items():
        title = f"{series['tier']}: {series['tier_label']}" if summary.get("by_tier") else series["panel"]
        if summary.get("by_tier"):
            panels.setdefault(title, {})[series["baseline"]] = lines[series["baseline"]]
        panels.setdefault(title, {})[key] = series
    return panels


def _frame(axes: Axes, summary: Summary, title: str) -> None:
    if summary.get("rounds_axis") == "log":
        axes.set_xscale("log")
        axes.xaxis.set_major_formatter("{x:,.0f}")
        axes.set_xlim(1, summary["horizon"])
        axes.set_ylim(0, 1)
    else:
        axes.set_xlim(0, summary["horizon"])
        axes.set_ylim(bottom=0)
    axes.set_xlabel("round")
    axes.set_ylabel(summary["measure"])
    axes.set_title(label(title, LONGEST), loc="left", fontsize=10)


def _cut_above(axes: Axes, found: Found) -> None:
    """No line squeezes the rest: those that end far above the baseline leave the plot, and their names say where to."""
    base = next(iter(found.values()))["mean"][-1]
    highest = max(series["mean"][-1] for series in found.values())
    axes.set_ylim(top=1.05 * min(highest, CUT * base))


def _colours(summary: Summary) -> dict[str, str]:
    """A colour per method: ours are fixed, others take what is left of the palette in turn."""
    methods = list(dict.fromkeys(series["method"] for series in summary["series"].values()))
    taken = {COLOURS[method] for method in methods if method in COLOURS}
    free = [colour for colour in PALETTE if colour not in taken] or list(PALETTE)
    others = [method for method in methods if method not in COLOURS]
    return {**COLOURS, **{method: free[place % len(free)] for place, method in enumerate(others)}}


def _draw_lines(axes: Axes, found: Found, colours: dict[str, str]) -> None:
    used = Counter[str]()
    for series in found.values():
        start = [] if series["t"][0] == 1 else [0]
        t, mean, se = [*start, *series["t"]], [*start, *series["mean"]], [*start, *series["se"]]
        colour = colours[series["method"]]
        axes.plot(t, mean, DASHES[used[colour] % len(DASHES)], color=colour, linewidth=1.8)
        used[colour] += 1
        low = [m - 2 * s for m, s in zip(mean, se, strict=True)]
        high = [m + 2 * s for m, s in zip(mean, se, strict=True)]
        axes.fill_between(t, low, high, color=colour, alpha=0.18, linewidth=0)


def _name(series: Series) -> str:
    told = "" if series["knows"] == "nothing" else f" (told {series['knows']})"
    return f"{label(series['label'], LONGEST)}{label(told, LONGEST_TITLE)}"


def _label_lines(axes: Axes, found: Found, colours: dict[str, str], horizon: int, *, short: bool) -> None:
    """Names at the ends of the lines, from top to bottom as the lines end, kept apart."""
    ends = sorted(((series["mean"][-1], key) for key, series in found.items()), reverse=True)
    bottom, top = axes.get_ylim()
    heights = spread_out([min(mean, top) for mean, _ in ends], (0.085 if len(ends) < 12 else 0.07) * (top - bottom))
    for (mean, key), height in zip(ends, heights, strict=True):
        name = label(found[key]["label"], LONGEST) if short else _name(found[key]).replace(" (told", "\n(told")
        axes.annotate(
            name if mean <= top else f"{name} ↑ {mean:,.0f}",
            (horizon, min(mean, top)),
            (1.015, height),
            textcoords=axes.get_yaxis_transform(),
            color=colours[found[key]["method"]],
            fontsize=9,
            va="center",
        )


def spread_out(heights: list[float], gap: float) -> list[float]:
    """Heights from top to bottom moved as little as keeps them `gap` apart, and the lowest above 0.

    >>> spread_out([5.0, 4.9, 0.1, 0.0], 1.0)
    [5.0, 4.0, 1.0, 0.0]
    """
    placed: list[float] = []
    for height in heights:
        placed.append(min(height, placed[-1] - gap) if placed else height)
    lowest = 0.0
    for place in range(len(placed) - 1, -1, -1):
        placed[place] = max(placed[place], lowest)
        lowest = placed[place] + gap
    return placed


def counted(summary: Summary) -> str:
    """Over what the means are taken, in words.

    >>> counted({"series": {"a": {"worlds": 64, "runs": 50}, "b": {"worlds": 64, "runs": 20}}})
    '64 worlds x 20 to 50 runs'
    """
    series = summary["series"].values()
    worlds = _range({found["worlds"] for found in series}, "world")
    runs = _range({found["runs"] for found in series}, "run")
    return runs if worlds == "1 world" else f"{worlds} x {runs}"


def _range(numbers: set[int], what: str) -> str:
    low, high = min(numbers), max(numbers)
    text = f"{low}" if low == high else f"{low} to {high}"
    return f"{text} {what}" + ("" if high == 1 else "s")


def caption(summary: Summary) -> str:
    """The caption of a figure."""
    seed, version = summary["seed"], summary["version"]
    return f"Mean over {counted(summary)}; band: two standard errors; seed {seed}, version {version}"

"""The lines behind claims by reading: relative regret and rates of acceptance over rounds, from summaries alone."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from .line_plots import COLOURS, LONGEST, LONGEST_TITLE, caption
from .palette import BLUE, BROWN, GREEN, ORANGE, PLAIN, PURPLE, SKY, SOFT, VERMILION
from .summaries import Series, Summary
from .text import label

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from matplotlib.lines import Line2D

BOOTSTRAP = "-bootstrap"
"""A method with it has the colour of the one without; the plot's title tells them apart."""
READ_COLOURS = {
    **COLOURS,
    "causal-ts-direct-joint": ORANGE,
    "causal-ts-direct-permuted": SKY,
    **{
        f"causal-ucb-normal{reading}{variance}": colour
        for reading, colour in {"": BLUE, "-joint": GREEN, "-printed": VERMILION, "-printed-joint": PURPLE}.items()
        for variance in ("", BOOTSTRAP)
    },
}
COLUMNS, LONGEST_NAME = 4, 48
FIRST = 10
"""The round from which on lines are drawn; before it their ratios are those of a few draws."""
HIGHEST = 4.0
"""Relative regret above this leaves the plot, so that it does not squeeze the rest."""


def paint_readings(figure: Figure, summary: Summary, narrow: bool) -> None:
    """A plot per kind of world: regret relative to the baseline, or the share accepted, with two standard errors."""
    panels: dict[str, list[Series]] = {}
    for key, series in summary["series"].items():
        accepts = "ratio" not in series and "," in series["panel"] and series.get("tier") == 1
        if key != series["baseline"] and ("ratio" in series or accepts):
            panels.setdefault(series["panel"], []).append(series)
    columns = 1 if narrow else min(COLUMNS, max(len(panels), 1))
    rows = math.ceil(len(panels) / columns)
    figure.set_size_inches(4.6 if narrow else 3.9 * columns, 3.2 * rows + 0.5)
    explained: dict[str, tuple[Line2D, str]] = {}
    for place, (title, found) in enumerate(panels.items()):
        axes = figure.add_subplot(rows, columns, place + 1)
        for series in found:
            drawn = _line(axes, series)
            explained.setdefault(series["method"].removesuffix(BOOTSTRAP), (drawn, series["label"]))
        _frame(axes, summary, title, relative="ratio" in found[0])
    names = [label(name, LONGEST_NAME) for _, name in explained.values()]
    lines = [line for line, _ in explained.values()]
    legend = figure.legend(lines, names, loc="outside lower left", ncols=columns, fontsize=9, title_fontsize=8)
    legend.set_alignment("left")
    if not narrow:
        figure.suptitle(label(summary["title"], LONGEST_TITLE), x=0.01, ha="left", fontsize=11, fontweight="bold")
        legend.set_title(caption(summary))
        legend.get_title().set_color(SOFT.light)


def _line(axes: Axes, series: Series) -> Line2D:
    means, errors = (series["ratio"], series["ratio_se"]) if "ratio" in series else (series["mean"], series["se"])
    shown = [(t, m, s) for t, m, s in zip(series["t"], means, errors, strict=True) if t >= FIRST]
    t, mean, se = ([each[place] for each in shown] for place in range(3))
    colour = READ_COLOURS.get(series["method"], BROWN)
    (drawn,) = axes.plot(t, mean, color=colour, linewidth=1.6)
    low, high = ([m + side * 2 * s for m, s in zip(mean, se, strict=True)] for side in (-1, 1))
    axes.fill_between(t, low, high, color=colour, alpha=0.15, linewidth=0)
    return drawn


def _frame(axes: Axes, summary: Summary, title: str, *, relative: bool) -> None:
    axes.set_xscale("log")
    axes.xaxis.set_major_formatter("{x:,.0f}")
    axes.set_xlim(FIRST, summary["horizon"])
    axes.set_ylim(bottom=0)
    if relative:
        axes.set_ylim(top=min(axes.get_ylim()[1], HIGHEST))
        axes.axhline(1.0, color=PLAIN.light, linewidth=1, linestyle="--")
    else:
        axes.set_ylim(0, 1)
    axes.set_xlabel("round")
    axes.set_ylabel("regret, relative" if relative else "share accepted")
    axes.set_title(label(title, LONGEST), loc="left", fontsize=10)

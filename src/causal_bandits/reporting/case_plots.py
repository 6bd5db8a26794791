"""Drawings of Theorem 3.1 and of the example of sec. 3.2, made from summaries alone."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

from .palette import PALETTE, PLAIN, SOFT
from .summaries import ExampleRow, Summary, TheoremRow

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


def paint_theorem(figure: Figure, summary: Summary, narrow: bool) -> None:
    """Measured variance against the decomposition, and against the sample mean's: one point per world."""
    figure.set_size_inches(*((4.6, 8.4) if narrow else (9.6, 4.6)))
    rows = cast("list[TheoremRow]", summary["rows"])
    others = {
        "decomposition of appendix A": [row["decomposition"] for row in rows],
        "sample mean": [row["own_variance"] for row in rows],
    }
    for place, (label, variances) in zip((211, 212) if narrow else (121, 122), others.items(), strict=True):
        axes = figure.add_subplot(place)
        _scatter(axes, variances, rows)
        axes.set_xlabel(f"variance, {label}")
        axes.set_ylabel("variance of eq. 2, measured")
    if not narrow:
        _captions(figure, summary, f"One point per world, {rows[0]['data_sets']} data sets each, mean over arms")


def _scatter(axes: Axes, x: list[float], rows: list[TheoremRow]) -> None:
    y = [row["variance"] for row in rows]
    axes.errorbar(x, y, [2 * row["variance_se"] for row in rows], fmt="o", ms=3.5, color=PALETTE[0], lw=0.8, alpha=0.8)
    ends = (0.0, 1.05 * max(*x, *y))
    axes.plot(ends, ends, color=PLAIN.light, linewidth=1, linestyle="--")
    axes.set_xlim(*ends)
    axes.set_ylim(*ends)


def paint_example(figure: Figure, summary: Summary, narrow: bool) -> None:
    """Variance through each set, world by world."""
    rows = cast("list[ExampleRow]", summary["rows"])
    worlds = list(dict.fromkeys(row["world"] for row in rows))
    sets = list(dict.fromkeys(row["set"] for row in rows))
    figure.set_size_inches(*((4.6, 4.2) if narrow else (7.6, 4.4)))
    axes = figure.add_subplot()
    wide = 0.8 / len(sets)
    for number, name in enumerate(sets):
        found = {row["world"]: row for row in rows if row["set"] == name}
        x = [place + (number - (len(sets) - 1) / 2) * wide for place, world in enumerate(worlds) if world in found]
        shown = [found[world] for world in worlds if world in found]
        axes.bar(x, [row["variance"] for row in shown], 0.9 * wide, color=PALETTE[number], label=name)
        axes.errorbar(
            x,
            [row["variance"] for row in shown],
            [2 * row["variance_se"] for row in shown],
            fmt="none",
            ecolor=PLAIN.light,
            elinewidth=1,
        )
        axes.plot(x, [row["decomposition"] for row in shown], "_", color=PLAIN.light, ms=12)
    axes.set_xticks(range(len(worlds)), worlds)
    axes.set_ylabel("variance of eq. 2")
    axes.grid(visible=False, axis="x")
    axes.legend(title="shared through", fontsize=9, ncols=2)
    if not narrow:
        data_sets = rows[0]["data_sets"]
        _captions(figure, summary, f"{data_sets} data sets of 6 and 10 rows; dash: the decomposition of appendix A")


def _captions(figure: Figure, summary: Summary, what: str) -> None:
    figure.suptitle(summary["title"], x=0.01, ha="left", fontsize=11, fontweight="bold")
    ends = f"bars: two standard errors; seed {summary['seed']}, version {summary['version']}"
    figure.supxlabel(f"{what}; {ends}", x=0.01, ha="left", fontsize=8, color=SOFT.light)

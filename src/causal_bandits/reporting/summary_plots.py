"""Figures of summaries: lines over rounds, claims by reading, Theorem 3.1 and the example of sec. 3.2."""

from __future__ import annotations

import math
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .summaries import Series, Summary
from .text import label, wrapped
from .theme import (
    BLUE,
    BROWN,
    GREEN,
    GREY,
    ORANGE,
    PALETTE,
    PLAIN,
    PURPLE,
    SKY,
    SOFT,
    VERMILION,
    Painter,
    save,
    themed_svg,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from matplotlib.lines import Line2D


# Lines over rounds


COLORS = {
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
"""Lines of one plot that have the same color differ in these."""
LONGEST, LONGEST_TITLE = 44, 88
"""Characters of a name, and of a title, that are drawn; tables have all of them."""
CUT = 2.0
"""Where methods are compared by tier, lines that end above this multiple of the baseline are cut."""
LABELLED = 2
"""With more panels than this the names are in a legend, not at the ends of the lines."""


def paint_curves(figure: Figure, summary: Summary, narrow: bool) -> None:
    """Mean over rounds with a band of two standard errors, a plot per panel."""
    panels = _panels(summary)
    colors = _colors(summary)
    by_tier = summary.get("by_tier", False)
    labelled = (len(panels) <= LABELLED or by_tier) and not narrow
    columns = 1 if narrow else 2 if len(panels) == 4 or by_tier else min(len(panels), COLUMNS)
    rows = math.ceil(len(panels) / columns)
    width = 4.6 if narrow else 7.2 if labelled else 4.2
    figure.set_size_inches(width * columns, (3.4 if narrow else 4.6 if labelled else 3.4) * rows + 0.4)
    for index, (title, found) in enumerate(panels.items()):
        axes = figure.add_subplot(rows, columns, index + 1)
        _draw_lines(axes, found, colors)
        _frame(axes, summary, title)
        if by_tier:
            _cut_above(axes, found)
        if labelled:
            _label_lines(axes, found, colors, summary["horizon"], short=by_tier)
    if not labelled:
        _add_legends(figure.axes, panels)
        _make_room(figure, list(panels.values()))
    if not narrow:
        _write_titles(figure, summary, caption(summary))


def _add_legends(plots: list[Axes], panels: dict[str, Found]) -> None:
    """In the first plot, or in each where they show different methods."""
    differ = len({tuple(series["method"] for series in found.values()) for found in panels.values()}) > 1
    for axes, found in zip(plots, panels.values(), strict=True):
        lines = list(zip(axes.lines, found.values(), strict=True))
        if differ:  # many lines: from top to bottom as they end
            lines.sort(key=lambda line: line[1]["mean"][-1], reverse=True)
        names = [label(series["label"], LONGEST) if differ else wrapped(_name(series), LONGEST) for _, series in lines]
        legend = axes.legend([line for line, _ in lines], [""] * len(lines), loc="best", fontsize=8)
        for text, name in zip(legend.get_texts(), names, strict=True):
            text.set_text(name)  # so that a name may begin with an underscore, which hides a label
        legend.set_in_layout(False)
        if not differ:
            return


def _make_room(figure: Figure, panels: list[Found]) -> None:
    """Extend the axis until no line crosses the legend."""
    figure.draw_without_rendering()  # computes the positions of legends
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
    axes.set_title(wrapped(title, LONGEST), loc="left", fontsize=10)


def _cut_above(axes: Axes, found: Found) -> None:
    """Limit the axis: lines that end far above the baseline leave the plot, and their labels show the value."""
    base = next(iter(found.values()))["mean"][-1]
    highest = max(series["mean"][-1] for series in found.values())
    axes.set_ylim(top=1.05 * min(highest, CUT * base))


def _colors(summary: Summary) -> dict[str, str]:
    """A color per method: ours are fixed, others take what is left of the palette in turn."""
    methods = list(dict.fromkeys(series["method"] for series in summary["series"].values()))
    taken = {COLORS[method] for method in methods if method in COLORS}
    free = [color for color in PALETTE if color not in taken] or list(PALETTE)
    others = [method for method in methods if method not in COLORS]
    return {**COLORS, **{method: free[index % len(free)] for index, method in enumerate(others)}}


def _draw_lines(axes: Axes, found: Found, colors: dict[str, str]) -> None:
    used = Counter[str]()
    for series in found.values():
        start = [] if series["t"][0] == 1 else [0]
        t, mean, se = [*start, *series["t"]], [*start, *series["mean"]], [*start, *series["se"]]
        color = colors[series["method"]]
        axes.plot(t, mean, DASHES[used[color] % len(DASHES)], color=color, linewidth=1.8)
        used[color] += 1
        low = [m - 2 * s for m, s in zip(mean, se, strict=True)]
        high = [m + 2 * s for m, s in zip(mean, se, strict=True)]
        axes.fill_between(t, low, high, color=color, alpha=0.18, linewidth=0)


def _name(series: Series) -> str:
    given = "" if series["knows"] == "nothing" else f" (given {series['knows']})"
    return f"{label(series['label'], LONGEST)}{label(given, LONGEST_TITLE)}"


def _label_lines(axes: Axes, found: Found, colors: dict[str, str], horizon: int, *, short: bool) -> None:
    """Names at the ends of the lines, without overlap."""
    ends = sorted(((series["mean"][-1], key) for key, series in found.items()), reverse=True)
    bottom, top = axes.get_ylim()
    heights = spread_out([min(mean, top) for mean, _ in ends], (0.085 if len(ends) < 12 else 0.07) * (top - bottom))
    for (mean, key), height in zip(ends, heights, strict=True):
        name = label(found[key]["label"], LONGEST) if short else _name(found[key]).replace(" (given", "\n(given")
        axes.annotate(
            name if mean <= top else f"{name} ↑ {mean:,.0f}",
            (horizon, min(mean, top)),
            (1.015, height),
            textcoords=axes.get_yaxis_transform(),
            color=colors[found[key]["method"]],
            fontsize=9,
            va="center",
        )


def spread_out(heights: list[float], gap: float) -> list[float]:
    """Heights from top to bottom, moved so that they are `gap` apart and the lowest is above 0.

    >>> spread_out([5.0, 4.9, 0.1, 0.0], 1.0)
    [5.0, 4.0, 1.0, 0.0]
    """
    placed: list[float] = []
    for height in heights:
        placed.append(min(height, placed[-1] - gap) if placed else height)
    lowest = 0.0
    for index in range(len(placed) - 1, -1, -1):
        placed[index] = max(placed[index], lowest)
        lowest = placed[index] + gap
    return placed


def counted(summary: Summary) -> str:
    """The number of worlds and runs, in words.

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


def _write_titles(figure: Figure, summary: Summary, note: str) -> None:
    """The finding above the figure; below it what the figure shows, and how it was measured."""
    found, about = label(finding(summary), LONGEST_TITLE), label(summary["title"], LONGEST_TITLE)
    figure.suptitle(found, x=0.01, ha="left", fontsize=11, fontweight="bold")
    below = note if about == found else f"{about}\n{note}"
    figure.supxlabel(below, x=0.01, ha="left", fontsize=8, color=SOFT.light)


# The finding of a figure, in one line


def finding(summary: Summary) -> str:
    """What a figure shows, from its numbers; its title if there is nothing to compare.

    >>> line = {"baseline": "ts", "panel": "", "tier": 0, "label": "TS", "ratio": [1.0], "mean": [8.0]}
    >>> causal = line | {"label": "Causal TS", "tier": 1, "ratio": [0.42], "mean": [3.4]}
    >>> finding({"figure": "a", "title": "A figure", "series": {"ts": line, "causal": causal}})
    'Causal TS has 0.42 times the regret of TS'
    """
    by_figure = {"theorem": _theorem_finding, "example": _example_finding, "limits": _limits_finding}
    if summary["figure"] in by_figure:
        return by_figure[summary["figure"]](summary)
    if "matrix" in summary:
        return _readings_finding(summary) or summary["title"]
    tails = _tails_finding(summary) if summary["figure"] == "tails" else ""
    return tails or _regret_finding(summary) or _shares_finding(summary) or summary["title"]


def _tails_finding(summary: Summary) -> str:
    """The policy with the lowest 99% quantiles, relative to those of the baseline; empty where runs are too few."""
    ratios: dict[tuple[str, str], list[float]] = {}
    for key, series in summary["series"].items():
        base = summary["series"][series["baseline"]]
        if key != series["baseline"]:
            ends: list[Any] = [each.get("tails", {}).get("q99") for each in (series, base)]
            if None in ends:
                return ""
            ratios.setdefault((series["label"], base["label"]), []).append(ends[0] / ends[1])
    (name, base_name), found = min(ratios.items(), key=lambda item: math.prod(item[1]))
    return f"The 99% quantile of regret of {name} is {min(found):.2f} to {max(found):.2f} times that of {base_name}"


def _regret_finding(summary: Summary) -> str:
    """The policy with the least relative regret among those that are given neither graph nor sets."""
    ratios: dict[tuple[str, str], list[float]] = {}
    for key, series in summary["series"].items():
        if key.endswith("-simple"):  # the regret of the arm that is recommended, not the cumulative one
            continue
        if key != series["baseline"] and "ratio" in series and series.get("tier", 0) <= 1:
            base = summary["series"][series["baseline"]]["label"]
            ratios.setdefault((series["label"], base), []).append(series["ratio"][-1])
    if not ratios:
        return ""
    (name, base), found = min(ratios.items(), key=lambda item: math.prod(item[1]) ** (1 / len(item[1])))
    low, high = f"{min(found):.2f}", f"{max(found):.2f}"
    return f"{name} has {low if low == high else f'{low} to {high}'} times the regret of {base}"


def _readings_finding(summary: Summary) -> str:
    """In how many kinds of worlds regret is below the baseline's under every reading, by two standard errors."""
    below: dict[str, list[bool]] = {}
    for key, series in summary["series"].items():
        if key != series["baseline"] and "ratio" in series:
            below.setdefault(series["panel"], []).append(series["ratio"][-1] + 2 * series["ratio_se"][-1] < 1)
    if not below:
        return ""
    always = sum(all(found) for found in below.values())
    return f"Sharing saves regret under every reading in {always} of {len(below)} kinds of worlds"


def _shares_finding(summary: Summary) -> str:
    """The panel in which shares differ most at the end."""
    panels: dict[str, list[tuple[float, str]]] = {}
    for series in summary["series"].values():
        if "ratio" not in series:
            panels.setdefault(series["panel"], []).append((series["mean"][-1], series["label"]))
    if not any(len(found) > 1 for found in panels.values()):
        return ""
    panel, found = max(panels.items(), key=lambda item: max(item[1])[0] - min(item[1])[0])
    shares = ", ".join(f"{name} {share:.0%}" for share, name in sorted(found, reverse=True))
    return f"{panel[:1].upper()}{panel[1:]} after {summary['horizon']:,} rounds: {shares}"


def _theorem_finding(summary: Summary) -> str:
    rows = summary["rows"]
    close = sum(abs(row["variance"] - row["decomposition"]) <= 2 * row["variance_se"] for row in rows)
    return f"Variance agrees with appendix A within two standard errors in {close} of {len(rows)} worlds"


def _example_finding(summary: Summary) -> str:
    least: dict[str, dict[str, Any]] = {}
    for row in summary["rows"]:
        least[row["world"]] = min(row, least.get(row["world"], row), key=lambda each: each["variance"])
    sets = ", ".join(dict.fromkeys(row["set"] for row in least.values()))
    return f"Which set has the least variance depends on the world: {sets}"


def _limits_finding(summary: Summary) -> str:
    rows = [row for row in summary["rows"] if row["separates"] and row["c0"] > 0]
    if not rows:
        return summary["title"]
    off = max(abs(row["cs"] / row["c0"] - row["eta2"]) for row in rows)
    return f"If a set separates, C_S / C_0 is within {off:.2f} of eta^2"


# Claims by reading: relative regret and rates of acceptance over rounds


BOOTSTRAP = "-bootstrap"
"""A method with it has the color of the one without; the plot's title tells them apart."""
READ_COLORS = {
    **COLORS,
    "causal-ts-direct-joint": ORANGE,
    "causal-ts-direct-permuted": SKY,
    **{
        f"causal-ucb-normal{reading}{variance}": color
        for reading, color in {"": BLUE, "-joint": GREEN, "-printed": VERMILION, "-printed-joint": PURPLE}.items()
        for variance in ("", BOOTSTRAP)
    },
}
READING_COLUMNS, LONGEST_NAME = 4, 48
FIRST = 10
"""The round from which on lines are drawn; before it their ratios are those of a few draws."""
HIGHEST = 4.0
"""Upper limit of the axis of relative regret."""


def paint_readings(figure: Figure, summary: Summary, narrow: bool) -> None:
    """A plot per kind of world: regret relative to the baseline, or the share accepted, with two standard errors."""
    panels: dict[str, list[Series]] = {}
    for key, series in summary["series"].items():
        accepts = "ratio" not in series and "," in series["panel"] and series.get("tier") == 1
        if key != series["baseline"] and ("ratio" in series or accepts):
            panels.setdefault(series["panel"], []).append(series)
    columns = 1 if narrow else min(READING_COLUMNS, max(len(panels), 1))
    rows = math.ceil(len(panels) / columns)
    figure.set_size_inches(4.6 if narrow else 3.9 * columns, 3.2 * rows + 0.5)
    explained: dict[str, tuple[Line2D, str]] = {}
    for index, (title, found) in enumerate(panels.items()):
        axes = figure.add_subplot(rows, columns, index + 1)
        for series in found:
            drawn = _draw_reading(axes, series)
            explained.setdefault(series["method"].removesuffix(BOOTSTRAP), (drawn, series["label"]))
        _frame_reading(axes, summary, title, relative="ratio" in found[0])
    names = [label(name, LONGEST_NAME) for _, name in explained.values()]
    lines = [line for line, _ in explained.values()]
    legend = figure.legend(lines, names, loc="outside lower left", ncols=columns, fontsize=9, title_fontsize=8)
    legend.set_alignment("left")
    if not narrow:
        figure.suptitle(label(finding(summary), LONGEST_TITLE), x=0.01, ha="left", fontsize=11, fontweight="bold")
        legend.set_title(f"{summary['title']}\n{caption(summary)}")
        legend.get_title().set_color(SOFT.light)


def _draw_reading(axes: Axes, series: Series) -> Line2D:
    means, errors = (series["ratio"], series["ratio_se"]) if "ratio" in series else (series["mean"], series["se"])
    shown = [(t, m, s) for t, m, s in zip(series["t"], means, errors, strict=True) if t >= FIRST]
    t, mean, se = ([each[index] for each in shown] for index in range(3))
    color = READ_COLORS.get(series["method"], BROWN)
    (drawn,) = axes.plot(t, mean, color=color, linewidth=1.6)
    low, high = ([m + side * 2 * s for m, s in zip(mean, se, strict=True)] for side in (-1, 1))
    axes.fill_between(t, low, high, color=color, alpha=0.15, linewidth=0)
    return drawn


def _frame_reading(axes: Axes, summary: Summary, title: str, *, relative: bool) -> None:
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
    axes.set_title(wrapped(title, LONGEST), loc="left", fontsize=10)


# Theorem 3.1 and the example of sec. 3.2


def paint_theorem(figure: Figure, summary: Summary, narrow: bool) -> None:
    """Measured variance against the decomposition, and against the sample mean's: one point per world."""
    figure.set_size_inches(*((4.6, 8.4) if narrow else (9.6, 4.6)))
    rows = summary["rows"]
    others = {
        "decomposition of appendix A": [row["decomposition"] for row in rows],
        "sample mean": [row["own_variance"] for row in rows],
    }
    for index, (name, variances) in zip((211, 212) if narrow else (121, 122), others.items(), strict=True):
        axes = figure.add_subplot(index)
        _scatter(axes, variances, rows)
        axes.set_xlabel(f"variance, {name}")
        axes.set_ylabel("variance of eq. 2, measured")
    if not narrow:
        _case_caption(figure, summary, f"One point per world, {rows[0]['data_sets']:,} data sets each, mean over arms")


def _scatter(axes: Axes, x: list[float], rows: list[dict[str, Any]]) -> None:
    y = [row["variance"] for row in rows]
    axes.errorbar(x, y, [2 * row["variance_se"] for row in rows], fmt="o", ms=3.5, color=PALETTE[0], lw=0.8, alpha=0.8)
    ends = (0.0, 1.05 * max(*x, *y))
    axes.plot(ends, ends, color=PLAIN.light, linewidth=1, linestyle="--")
    axes.set_xlim(*ends)
    axes.set_ylim(*ends)


def paint_example(figure: Figure, summary: Summary, narrow: bool) -> None:
    """Variance through each set, world by world."""
    rows = summary["rows"]
    worlds = list(dict.fromkeys(row["world"] for row in rows))
    sets = list(dict.fromkeys(row["set"] for row in rows))
    figure.set_size_inches(*((4.6, 4.2) if narrow else (7.6, 4.4)))
    axes = figure.add_subplot()
    wide = 0.8 / len(sets)
    for number, name in enumerate(sets):
        found = {row["world"]: row for row in rows if row["set"] == name}
        x = [index + (number - (len(sets) - 1) / 2) * wide for index, world in enumerate(worlds) if world in found]
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
    axes.set_ylim(top=1.25 * axes.get_ylim()[1])  # above the bars
    axes.legend(title="shared through", loc="upper center", fontsize=9, ncols=len(sets))
    if not narrow:
        data_sets = rows[0]["data_sets"]
        _case_caption(
            figure, summary, f"{data_sets:,} data sets of 6 and 10 rows; dash: the decomposition of appendix A"
        )


def _case_caption(figure: Figure, summary: Summary, what: str) -> None:
    ends = f"bars: two standard errors; seed {summary['seed']}, version {summary['version']}"
    _write_titles(figure, summary, f"{what}; {ends}")


def paint_limits(figure: Figure, summary: Summary, narrow: bool) -> None:
    """C_S / C_0 against eta^2, one point per world, by family."""
    rows = [row for row in summary["rows"] if row["policy"] == "ts" and row["c0"] > 0]
    figure.set_size_inches(*((4.6, 4.4) if narrow else (7.6, 5.2)))
    axes = figure.add_subplot()
    axes.plot((0, 1), (0, 1), color=PLAIN.light, linewidth=1, linestyle="--")
    for number, family in enumerate(dict.fromkeys(row["family"] for row in rows)):
        found = [row for row in rows if row["family"] == family]
        shown = [row for row in found if row["separates"]] or found
        style = "o" if shown[0]["separates"] else "x"
        x, y = [row["eta2"] for row in shown], [row["cs"] / row["c0"] for row in shown]
        axes.plot(x, y, style, ms=5, color=PALETTE[number % len(PALETTE)], label=family)
    axes.set_xlabel("share of the reward's variance that the mediators explain, eta^2")
    axes.set_ylabel("C_S / C_0")
    axes.legend(fontsize=8)
    if not narrow:
        _case_caption(figure, summary, "One point per world; crosses: no set separates")


def paint_tails(figure: Figure, summary: Summary, narrow: bool) -> None:
    """P(regret > x) on logarithmic axes, with the fitted exponent."""
    from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

    series = [found for found in summary["series"].values() if "survival" in found.get("tails", {})]
    panels = list(dict.fromkeys(found["panel"] for found in series))
    figure.set_size_inches(*((4.6, 3.2 * len(panels)) if narrow else (4.2 * len(panels), 4.2)))
    for index, panel in enumerate(panels, 1):
        axes = figure.add_subplot(*((len(panels), 1, index) if narrow else (1, len(panels), index)))
        for number, found in enumerate(each for each in series if each["panel"] == panel):
            tails = found["tails"]
            x, y = zip(*tails["survival"], strict=True)
            color = PALETTE[number % len(PALETTE)]
            label = found["label"]
            if "exponent" in tails:
                label += f", exponent {tails['exponent']:.1f} ± {tails['exponent_se']:.1f}"
                fitted = [0.05 * (each / tails["q95"]) ** -tails["exponent"] for each in x if each >= tails["q95"]]
                axes.plot([each for each in x if each >= tails["q95"]], fitted, "--", color=color, linewidth=1)
            axes.plot(x, y, "o-", ms=3, color=color, label=label)
        axes.set_xscale("log")
        axes.set_yscale("log")
        axes.xaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
        axes.xaxis.set_major_formatter("{x:g}")
        axes.yaxis.set_major_formatter(FuncFormatter(lambda chance, _: f"{100 * chance:g}%"))
        axes.xaxis.set_minor_formatter(NullFormatter())
        axes.yaxis.set_minor_formatter(NullFormatter())
        axes.set_ylim(bottom=axes.get_ylim()[0] / 8)  # room for the legend
        axes.set_title(wrapped(panel, LONGEST), fontsize=9, loc="left")
        axes.set_xlabel("regret x")
        axes.set_ylabel("P(regret > x)")
        axes.legend(fontsize=7, loc="lower left")
    if not narrow:
        what = f"{summary['runs']:,} runs per world, T = {summary['horizon']:,}; dashed: fitted tail"
        _write_titles(figure, summary, f"{what}; seed {summary['seed']}, version {summary['version']}")


PAINTERS: dict[str, Painter] = {
    "theorem": paint_theorem,
    "example": paint_example,
    "limits": paint_limits,
    "tails": paint_tails,
}
"""Of figures that are not curves."""


def _painter(summary: Summary) -> Painter:
    return paint_readings if "matrix" in summary else PAINTERS.get(summary["figure"], paint_curves)


def draw(summary: Summary, path: Path) -> None:
    """Draw a summary into a PNG or SVG file."""
    save(_painter(summary), summary, path)


def page_svg(summary: Summary, *, narrow: bool) -> str:
    """A summary's figure for a page, wide or for a phone."""
    return themed_svg(_painter(summary), summary, narrow=narrow)

"""Figures of summaries: lines over rounds, claims by reading, Theorem 3.1 and the example of sec. 3.2."""

from __future__ import annotations

import contextlib
import io
import itertools
import math
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .summaries import Series, Summary
from .text import short, wrapped
from .theme import (
    BLUE,
    GREEN,
    GREY,
    ORANGE,
    PALETTE,
    PLAIN,
    PURPLE,
    SKY,
    SOFT,
    THEMED,
    VERMILION,
    new_figure,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from matplotlib.legend import Legend
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
    "causal-ts-direct-joint": ORANGE,
    "causal-ts-direct-permuted": SKY,
    "causal-ucb-normal-joint": GREEN,
    "causal-ucb-normal-printed": VERMILION,
    "causal-ucb-normal-printed-joint": PURPLE,
}
Found = dict[str, Series]
"""Series by key."""
COLUMNS = 3
DASHES = ("-", "--", ":", "-.")
"""Lines of one plot that have the same color differ in these."""
BOOTSTRAP = "-bootstrap"
"""A method with it has the color of the one without; the plot's title tells them apart."""
LONGEST, LONGEST_TITLE = 44, 88
"""Characters of a name, and of a title, that are drawn; tables have all of them."""
CUT = 2.0
"""Where methods are compared by tier, lines that end above this multiple of the baseline are cut."""
LABELLED = 2
"""With more panels than this they have one legend for all."""
FIRST = 10
"""The round from which on relative regret is drawn; before it the ratios are those of a few draws."""
HIGHEST = 4.0
"""Upper limit of the axis of relative regret."""


def paint_curves(figure: Figure, summary: Summary) -> None:
    """Mean over rounds with a band of two standard errors, a plot per panel; of claims by reading relative regret."""
    panels = _panels(summary)
    colors = _colors(summary)
    by_tier = summary.get("by_tier", False)
    labelled = by_tier or (len(panels) <= LABELLED and "matrix" not in summary)
    columns = 2 if len(panels) == 4 or by_tier else min(max(len(panels), 1), COLUMNS)
    rows = math.ceil(len(panels) / columns)
    figure.set_size_inches((7.2 if labelled else 4.2) * columns, (4.6 if labelled else 3.4) * rows + 0.4)
    drawn: dict[str, tuple[Line2D, str]] = {}
    for index, (title, found) in enumerate(panels.items()):
        axes = figure.add_subplot(rows, columns, index + 1)
        lines = _draw_lines(axes, found, colors, is_relative="matrix" in summary)
        named = [(line, _name(series, by_tier=by_tier)) for line, series in zip(lines, found.values(), strict=True)]
        for entry, series in zip(named, found.values(), strict=True):
            drawn.setdefault(series["method"].removesuffix(BOOTSTRAP), entry)
        _frame(axes, summary, title, found)
        if by_tier:
            _cut_above(axes, found)
        if labelled:
            ends = [-series["mean"][-1] for series in found.values()]
            ordered = [named[place] for place in sorted(range(len(named)), key=ends.__getitem__)]
            _add_legend(axes, ordered, loc="upper left", bbox_to_anchor=(1, 1))
    legend = None
    if drawn and not labelled:
        place: dict[str, Any] = {"loc": "outside lower left", "ncols": columns, "alignment": "left"}
        legend = _add_legend(figure, [*drawn.values()], title_fontsize=8, **place)
    _write_titles(figure, summary, caption(summary), legend)


def _add_legend(owner: Any, entries: Sequence[tuple[Line2D, str]], **place: Any) -> Legend:
    """A legend of axes or of a figure."""
    legend: Legend = owner.legend([line for line, _ in entries], [""] * len(entries), fontsize=9, **place)
    for text, (_, name) in zip(legend.get_texts(), entries, strict=True):
        text.set_text(name)  # so that a name may begin with an underscore, which hides a label
    return legend


def _panels(summary: Summary) -> dict[str, Found]:
    """The lines of each plot; where methods are ordered by tier, a plot per tier with the baseline in all of them."""
    lines = {key: series for key, series in summary["series"].items() if len(series["t"]) > 1}
    if "matrix" in summary:
        lines = {key: series for key, series in lines.items() if _is_read(key, series)}
    panels: dict[str, Found] = {}
    for key, series in lines.items():
        title = f"{series['tier']}: {series['tier_label']}" if summary.get("by_tier") else series["panel"]
        if summary.get("by_tier"):
            panels.setdefault(title, {})[series["baseline"]] = lines[series["baseline"]]
        panels.setdefault(title, {})[key] = series
    return panels


def _is_read(key: str, series: Series) -> bool:
    """Whether a line of claims by reading is drawn: relative regret, and the shares that policies accept."""
    accepts = "ratio" not in series and "," in series["panel"] and series.get("tier") == 1
    return key != series["baseline"] and ("ratio" in series or accepts)


def _frame(axes: Axes, summary: Summary, title: str, found: Found) -> None:
    is_relative = "matrix" in summary and "ratio" in next(iter(found.values()))
    if summary.get("rounds_axis") == "log":
        axes.set_xscale("log")
        axes.xaxis.set_major_formatter("{x:,.0f}")
        axes.set_xlim(FIRST if "matrix" in summary else 1, summary["horizon"])
        axes.set_ylim(0, min(axes.get_ylim()[1], HIGHEST) if is_relative else 1)
    else:
        axes.set_xlim(0, summary["horizon"])
        axes.set_ylim(bottom=0)
    if is_relative:
        axes.axhline(1.0, color=PLAIN.light, linewidth=1, linestyle="--")
    shown = "regret, relative" if is_relative else "share accepted" if "matrix" in summary else summary["measure"]
    axes.set_xlabel("round")
    axes.set_ylabel(shown)
    axes.set_title(wrapped(title, LONGEST), loc="left", fontsize=10)


def _cut_above(axes: Axes, found: Found) -> None:
    """Limit the axis: lines that end far above the baseline leave the plot; the table has their values."""
    base = next(iter(found.values()))["mean"][-1]
    highest = max(series["mean"][-1] for series in found.values())
    axes.set_ylim(top=1.05 * min(highest, CUT * base))


def _colors(summary: Summary) -> dict[str, str]:
    """A color per method: ours are fixed, others take what is left of the palette in turn."""
    methods = list(dict.fromkeys(series["method"] for series in summary["series"].values()))
    known = {method: COLORS.get(method, COLORS.get(method.removesuffix(BOOTSTRAP))) for method in methods}
    free = [color for color in PALETTE if color not in known.values()] or list(PALETTE)
    others = itertools.cycle(free)
    return {method: color or next(others) for method, color in known.items()}


def _draw_lines(axes: Axes, found: Found, colors: dict[str, str], *, is_relative: bool) -> list[Line2D]:
    used, drawn = Counter[str](), []
    for series in found.values():
        means, errors = series["mean"], series["se"]
        if is_relative and "ratio" in series:
            means, errors = series["ratio"], series["ratio_se"]
        points = [each for each in zip(series["t"], means, errors, strict=True) if each[0] >= FIRST or not is_relative]
        if not is_relative and series["t"][0] != 1:
            points.insert(0, (0, 0, 0))
        t, mean, se = zip(*points, strict=True)
        color = colors[series["method"]]
        drawn += axes.plot(t, mean, DASHES[used[color] % len(DASHES)], color=color, linewidth=1.8)
        used[color] += 1
        low = [m - 2 * s for m, s in zip(mean, se, strict=True)]
        high = [m + 2 * s for m, s in zip(mean, se, strict=True)]
        axes.fill_between(t, low, high, color=color, alpha=0.18, linewidth=0)
    return drawn


def _name(series: Series, *, by_tier: bool) -> str:
    given = "" if by_tier or series["knows"] == "nothing" else f" (given {series['knows']})"
    return wrapped(f"{short(series['label'], LONGEST)}{short(given, LONGEST_TITLE)}", LONGEST)


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


def _write_titles(figure: Figure, summary: Summary, note: str, legend: Legend | None = None) -> None:
    """The finding above the figure; below it, above the legend, what the figure shows and how it was measured."""
    found, about = short(finding(summary), LONGEST_TITLE), short(summary["title"], LONGEST_TITLE)
    figure.suptitle(found, x=0.01, ha="left", fontsize=11, fontweight="bold")
    below = note if about == found else f"{about}\n{note}"
    if legend is None:
        figure.supxlabel(below, x=0.01, ha="left", fontsize=8, color=SOFT.light)
    else:
        legend.set_title(below)
        legend.get_title().set_color(SOFT.light)


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


# Theorem 3.1 and the example of sec. 3.2


def paint_theorem(figure: Figure, summary: Summary) -> None:
    """Measured variance against the decomposition: one point per world."""
    rows = summary["rows"]
    x, y, error = ([row[key] for row in rows] for key in ("decomposition", "variance", "variance_se"))
    axes = _square(figure, 1.05 * max(*x, *y), "variance, decomposition of appendix A", "variance of eq. 2, measured")
    axes.errorbar(x, y, [2 * each for each in error], fmt="o", ms=3.5, color=PALETTE[0], lw=0.8, alpha=0.8)
    _case_caption(figure, summary, f"One point per world, {rows[0]['data_sets']:,} data sets each, mean over arms")


def _square(figure: Figure, end: float, x_label: str, y_label: str) -> Axes:
    """Axes from 0 to the same end, with a broken line where both values are equal."""
    figure.set_size_inches(7.6, 5.2)
    axes = figure.add_subplot(xlim=(0, end), ylim=(0, end), xlabel=x_label, ylabel=y_label)
    axes.plot((0, end), (0, end), color=PLAIN.light, linewidth=1, linestyle="--")
    return axes


def paint_example(figure: Figure, summary: Summary) -> None:
    """Variance through each set, world by world."""
    rows = summary["rows"]
    worlds = list(dict.fromkeys(row["world"] for row in rows))
    sets = list(dict.fromkeys(row["set"] for row in rows))
    figure.set_size_inches(7.6, 4.4)
    axes = figure.add_subplot()
    wide = 0.8 / len(sets)
    for number, name in enumerate(sets):
        found = {row["world"]: row for row in rows if row["set"] == name}
        x = [index + (number - (len(sets) - 1) / 2) * wide for index, world in enumerate(worlds) if world in found]
        shown = [found[world] for world in worlds if world in found]
        means, errors = [row["variance"] for row in shown], [2 * row["variance_se"] for row in shown]
        axes.bar(x, means, 0.9 * wide, yerr=errors, color=PALETTE[number], ecolor=PLAIN.light, label=name)
        axes.plot(x, [row["decomposition"] for row in shown], "_", color=PLAIN.light, ms=12)
    axes.set_xticks(range(len(worlds)), worlds)
    axes.set_ylabel("variance of eq. 2")
    axes.grid(visible=False, axis="x")
    axes.set_ylim(top=1.25 * axes.get_ylim()[1])  # above the bars
    axes.legend(title="shared through", loc="upper center", fontsize=9, ncols=len(sets))
    data_sets = rows[0]["data_sets"]
    _case_caption(figure, summary, f"{data_sets:,} data sets of 6 and 10 rows; dash: the decomposition of appendix A")


def _case_caption(figure: Figure, summary: Summary, what: str) -> None:
    ends = f"bars: two standard errors; seed {summary['seed']}, version {summary['version']}"
    _write_titles(figure, summary, f"{what}; {ends}")


def paint_limits(figure: Figure, summary: Summary) -> None:
    """C_S / C_0 against eta^2, one point per world, by family."""
    rows = [row for row in summary["rows"] if row["policy"] == "ts" and row["c0"] > 0]
    highest = max([1.0, *(row["cs"] / row["c0"] for row in rows)])
    explained = "share of the reward's variance that the mediators explain, eta^2"
    axes = _square(figure, 1.05 * highest, explained, "C_S / C_0")
    for number, family in enumerate(dict.fromkeys(row["family"] for row in rows)):
        found = [row for row in rows if row["family"] == family]
        shown = [row for row in found if row["separates"]] or found
        style = "o" if shown[0]["separates"] else "x"
        x, y = [row["eta2"] for row in shown], [row["cs"] / row["c0"] for row in shown]
        axes.plot(x, y, style, ms=5, color=PALETTE[number % len(PALETTE)], label=family)
    axes.legend(fontsize=8)
    _case_caption(figure, summary, "One point per world; crosses: no set separates")


def paint_tails(figure: Figure, summary: Summary) -> None:
    """P(regret > x) on logarithmic axes, with the fitted exponent."""
    from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

    series = [found for found in summary["series"].values() if "survival" in found.get("tails", {})]
    panels = list(dict.fromkeys(found["panel"] for found in series))
    figure.set_size_inches(4.2 * len(panels), 4.2)
    for index, panel in enumerate(panels, 1):
        axes = figure.add_subplot(1, len(panels), index)
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
    what = f"{summary['runs']:,} runs per world, T = {summary['horizon']:,}; dashed: fitted tail"
    _write_titles(figure, summary, f"{what}; seed {summary['seed']}, version {summary['version']}")


PAINTERS = {"theorem": paint_theorem, "example": paint_example, "limits": paint_limits, "tails": paint_tails}
"""Of figures that are not curves."""


@contextlib.contextmanager
def _painted(summary: Summary) -> Iterator[Figure]:
    with new_figure() as figure:
        PAINTERS.get(summary["figure"], paint_curves)(figure, summary)
        yield figure


def draw(summary: Summary, path: Path) -> None:
    """Write a PNG or SVG file, by the suffix of the path. It has no date or creator: equal figures are equal files."""
    with _painted(summary) as figure:
        figure.savefig(path, dpi=160, metadata={"Date": None} if path.suffix == ".svg" else {"Software": None})


def page_svg(summary: Summary) -> str:
    """The figure for a page: no background, and ink in the colors of the reader's page, light or dark."""
    buffer = io.StringIO()
    with _painted(summary) as figure:
        figure.savefig(buffer, format="svg", transparent=True, metadata={"Date": None})
    svg = buffer.getvalue()
    svg = svg[svg.index("<svg") :]
    names = {shade: f"--c{index}" for index, shade in enumerate(THEMED)}
    for shade, name in names.items():
        svg = svg.replace(shade.light, f"var({name})")
    light = ";".join(f"{name}:{shade.light}" for shade, name in names.items())
    dark = ";".join(f"{name}:{shade.dark}" for shade, name in names.items())
    style = f"<style>svg{{{light}}}@media (prefers-color-scheme:dark){{svg{{{dark}}}}}</style>"
    end = svg.index(">") + 1
    return svg[:end] + style + svg[end:]

"""Drawings, made from summaries alone."""

from pathlib import Path
from typing import Any

import matplotlib as mpl
from matplotlib.axes import Axes
from matplotlib.figure import Figure

# Okabe and Ito's colours, told apart by people with any kind of colour vision.
COLOURS = {
    "ts": "#444444",
    "causal-ts-direct": "#0072B2",
    "causal-ts-direct-marginal": "#D55E00",
    "causal-ts-asd": "#009E73",
    "causal-ts-perfect": "#CC79A7",
    "ucb-normal": "#444444",
    "causal-ucb-normal": "#0072B2",
    "gaussian-ts": "#999999",
    "causal-gaussian-ts": "#56B4E9",
}
STYLE: dict[Any, Any] = {
    "font.size": 10,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "grid.alpha": 0.25,
    "svg.fonttype": "path",
    "svg.hashsalt": "causal-bandits",
}
Found = dict[str, dict[str, Any]]
"""Series by key."""


def draw_regret(summary: dict[str, Any], path: Path) -> None:
    """Mean cumulative regret over rounds, with a band of two standard errors; PNG or SVG by the path's ending."""
    panels: dict[str, Found] = {}
    for key, series in summary["series"].items():
        panels.setdefault(series["panel"], {})[key] = series
    with mpl.rc_context(STYLE):
        figure = Figure(figsize=(7.2 * len(panels), 4.6), layout="constrained")
        for place, (title, found) in enumerate(panels.items()):
            axes = figure.add_subplot(1, len(panels), place + 1)
            _draw_lines(axes, found)
            _label_lines(axes, found, summary["horizon"])
            axes.set_xlim(0, summary["horizon"])
            axes.set_ylim(bottom=0)
            axes.set_xlabel("round")
            axes.set_ylabel(f"cumulative regret{title and ', ' + title}")
        figure.axes[0].set_title(summary["title"], loc="left", fontsize=11, fontweight="bold")
        first = figure.axes[0]
        first.text(0, -0.17, _caption(summary), transform=first.transAxes, fontsize=8, color="#555555", va="top")
        figure.savefig(path, dpi=160, metadata={"Date": None} if path.suffix == ".svg" else {"Software": None})


def _colour(key: str) -> str:
    return COLOURS.get(key.removesuffix("-raw"), "#333333")


def _draw_lines(axes: Axes, found: Found) -> None:
    for key, series in found.items():
        t, mean, se = [0, *series["t"]], [0.0, *series["mean"]], [0.0, *series["se"]]
        axes.plot(t, mean, color=_colour(key), linewidth=1.8)
        low = [m - 2 * s for m, s in zip(mean, se, strict=True)]
        high = [m + 2 * s for m, s in zip(mean, se, strict=True)]
        axes.fill_between(t, low, high, color=_colour(key), alpha=0.18, linewidth=0)


def _label_lines(axes: Axes, found: Found, horizon: int) -> None:
    """Names at the ends of the lines, from top to bottom as the lines end, kept apart."""
    ends = sorted(((series["mean"][-1], key) for key, series in found.items()), reverse=True)
    gap = 0.085 * max(ends[0][0], 1e-9)
    place = float("inf")
    for mean, key in ends:
        place = min(mean, place - gap)
        series = found[key]
        told = "" if series["knows"] == "nothing" else f"\n({series['knows']})"
        axes.annotate(
            series["label"] + told,
            (horizon, mean),
            (1.015, place),
            textcoords=axes.get_yaxis_transform(),
            color=_colour(key),
            fontsize=9,
            va="center",
        )


def _caption(summary: dict[str, Any]) -> str:
    runs = "1 run" if summary["runs"] == 1 else f"{summary['runs']} runs"
    worlds = f"{summary['worlds']} classes of worlds, {runs} each" if summary["worlds"] > 1 else runs
    seed, version = summary["seed"], summary["version"]
    return f"Mean over {worlds}; band: two standard errors; seed {seed}, version {version}"

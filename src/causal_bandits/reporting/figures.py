"""Drawings, made from summaries alone."""

from pathlib import Path
from typing import Any

import matplotlib as mpl
from matplotlib.figure import Figure

# Okabe and Ito's colours, told apart by people with any kind of colour vision.
COLOURS = {
    "ts": "#444444",
    "causal-ts-direct": "#0072B2",
    "causal-ts-direct-marginal": "#D55E00",
    "causal-ts-asd": "#009E73",
    "causal-ts-perfect": "#CC79A7",
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


def draw_regret(summary: dict[str, Any], path: Path) -> None:
    """Mean cumulative regret over rounds, with a band of two standard errors; PNG or SVG by the path's ending."""
    with mpl.rc_context(STYLE):
        figure = Figure(figsize=(7.2, 4.6), layout="constrained")
        axes = figure.add_subplot()
        for key, series in summary["series"].items():
            t, mean, se = [0, *series["t"]], [0.0, *series["mean"]], [0.0, *series["se"]]
            colour = COLOURS.get(key)
            axes.plot(t, mean, color=colour, linewidth=1.8)
            low = [m - 2 * s for m, s in zip(mean, se, strict=True)]
            high = [m + 2 * s for m, s in zip(mean, se, strict=True)]
            axes.fill_between(t, low, high, color=colour, alpha=0.18, linewidth=0)
        _label_lines(axes, summary)
        axes.set_xlim(0, summary["horizon"])
        axes.set_ylim(bottom=0)
        axes.set_xlabel("round")
        axes.set_ylabel("cumulative regret")
        axes.set_title(summary["title"], loc="left", fontsize=11, fontweight="bold")
        axes.text(0, -0.17, _caption(summary), transform=axes.transAxes, fontsize=8, color="#555555", va="top")
        metadata = {"Date": None} if path.suffix == ".svg" else {}
        figure.savefig(path, dpi=160, metadata=metadata)


def _label_lines(axes: Any, summary: dict[str, Any]) -> None:
    """Names at the ends of the lines, from top to bottom as the lines end, kept apart."""
    ends = sorted(((s["mean"][-1], key, s) for key, s in summary["series"].items()), reverse=True)
    gap = 0.085 * max(ends[0][0], 1e-9)
    place = float("inf")
    for mean, key, series in ends:
        place = min(mean, place - gap)
        told = "" if series["knows"] == "nothing" else f"\n({series['knows']})"
        axes.annotate(
            series["label"] + told,
            (summary["horizon"], mean),
            (1.015, place),
            textcoords=axes.get_yaxis_transform(),
            color=COLOURS.get(key),
            fontsize=9,
            va="center",
        )


def _caption(summary: dict[str, Any]) -> str:
    runs = "1 run" if summary["runs"] == 1 else f"{summary['runs']} runs"
    return (
        f"Mean over {summary['worlds']} classes of worlds, {runs} each; band: two standard errors; "
        f"seed {summary['seed']}, version {summary['version']}"
    )

"""Drawings of discovered graphs."""

from __future__ import annotations

import math
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..discovery import DiscoveredGraphs
from ..graphs import MixedGraph
from .palette import BLUE, DIM, PLAIN, VERMILION
from .text import label
from .theme import drawing

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.patches import FancyArrowPatch

SYSTEM, CONTEXT, HIDDEN = BLUE, DIM, VERMILION
PANELS = 3
LONGEST = 20
"""Characters of a name that is drawn."""

Place = tuple[float, float]


def draw_graphs(found: DiscoveredGraphs, path: str | Path) -> None:
    """The best graphs side by side with their losses; numbers on edges are confidences in nats.

    Circles are observed variables and the reward, squares levers (the bidirected edges among these,
    which JCI takes for granted, are left out); dashed arcs with two heads stand for hidden common causes.
    """
    from matplotlib.figure import Figure

    shown = found.graphs[:PANELS]
    with drawing({"axes.grid": False}):
        figure = Figure(figsize=(4.2 * len(shown), 4.6), layout="constrained")
        for place, (graph, loss) in enumerate(shown):
            axes = figure.add_subplot(1, len(shown), place + 1)
            _draw(axes, graph, found.interventions, found.edges if place == 0 else {})
            rank = "best graph" if place == 0 else f"number {place + 1}"
            axes.set_title(f"{rank}: loss {loss:.1f}", loc="left", fontsize=11)
        told = "" if found.proven else " The search hit its time limit: better graphs may exist."
        rows = found.sets[0].evidence.rows
        figure.suptitle(f"Causal graphs from {rows} rows.{told}", x=0.01, ha="left", fontsize=11, fontweight="bold")
        figure.savefig(path, dpi=160)


def _draw(axes: Axes, graph: MixedGraph, contexts: tuple[str, ...], confidence: dict[str, float]) -> None:
    system = [node for node in graph.nodes if node not in contexts]
    places = _places(graph, system, contexts)
    for node, (x, y) in places.items():
        colour, shape = (CONTEXT, "square") if node in contexts else (SYSTEM, "circle")
        box = {"boxstyle": f"{shape},pad=0.35", "facecolor": "white", "edgecolor": colour, "linewidth": 1.6}
        axes.text(x, y, label(node, LONGEST), ha="center", va="center", bbox=box, color=colour, fontsize=10, zorder=3)
    for tail, head in graph.directed:
        arrow = _arrow(axes, places[tail], places[head], CONTEXT if tail in contexts else SYSTEM)
        arrow.set_arrowstyle("-|>", head_length=5, head_width=3)
        _label(axes, places[tail], places[head], confidence.get(f"{tail} -> {head}"), 0.0)
    for one, other in graph.bidirected:
        if one in contexts:
            continue
        arrow = _arrow(axes, places[one], places[other], HIDDEN, bend=0.35)
        arrow.set_arrowstyle("<|-|>", head_length=5, head_width=3)
        arrow.set_linestyle((0, (4, 2)))
        value = confidence.get(f"{one} <-> {other}", confidence.get(f"{other} <-> {one}"))
        _label(axes, places[one], places[other], value, 0.35)
    axes.set_xlim(-2.1, 2.1)
    axes.set_ylim(-2.1, 2.1)
    axes.set_aspect("equal")
    axes.axis("off")


def _places(graph: MixedGraph, system: list[str], contexts: tuple[str, ...]) -> dict[str, Place]:
    """System nodes on a circle; a context outside of it, near what it acts on."""
    angles = {node: math.pi / 2 - 2 * math.pi * k / len(system) for k, node in enumerate(system)}
    places = {node: (math.cos(angle), math.sin(angle)) for node, angle in angles.items()}
    for number, context in enumerate(contexts):
        children = [angles[child] for child in graph.children(context)]
        fallback = 2 * math.pi * number / max(len(contexts), 1)
        x = sum(map(math.cos, children)) if children else math.cos(fallback)
        y = sum(map(math.sin, children)) if children else math.sin(fallback)
        length = math.hypot(x, y) or 1.0
        places[context] = (1.75 * x / length, 1.75 * y / length)
    return places


def _arrow(axes: Axes, start: Place, end: Place, colour: str, bend: float = 0.0) -> FancyArrowPatch:
    from matplotlib.patches import FancyArrowPatch

    arrow = FancyArrowPatch(
        start, end, connectionstyle=f"arc3,rad={bend}", shrinkA=17, shrinkB=17, color=colour, linewidth=1.4, zorder=2
    )
    axes.add_patch(arrow)
    return arrow


def _label(axes: Axes, start: Place, end: Place, value: float | None, bend: float) -> None:
    if value is None:
        return
    x, y = (start[0] + end[0]) / 2, (start[1] + end[1]) / 2
    x, y = x + bend / 2 * (end[1] - start[1]), y - bend / 2 * (end[0] - start[0])
    box: dict[str, Any] = {"boxstyle": "round,pad=0.1", "facecolor": "white", "edgecolor": "none"}
    axes.text(x, y, f"{value:.0f}", fontsize=8, ha="center", va="center", color=PLAIN.light, bbox=box, zorder=4)

"""Plots on given or new matplotlib axes: arms, simulations, plans, and discovered graphs."""

from __future__ import annotations

import contextlib
import math
import os
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from ..core.files import file_path, replacing
from ..core.markup import printable
from ..errors import OptionError, OutputError, brief, whole_number
from ..libraries import require_matplotlib
from .text import short, wrapped
from .theme import ALONE, BLUE, DIM, INK, PALETTE, PLAIN, SHARED, SOFT, VERMILION, drawing, new_figure

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from ..core.discovery import DiscoveredGraphs
    from ..core.graphs import MixedGraph
    from ..core.policies import ArmEstimate


# Arms and simulations


MOST_ARMS = 12
SMALL = 0.2
"""Rates up to this are shown in percent."""


@contextlib.contextmanager
def styled_axes(given: Axes | None, width: float, height: float) -> Iterator[Axes]:
    """The axes that were given, or new ones of this size in inches, to draw on in our style.

    The figure is made outside of the style. A notebook configures pyplot when the first figure is made, and a style
    that ends later would undo that.
    """
    if given is not None and not hasattr(given, "errorbar"):
        raise OptionError(f"axes={brief(given)}; expected axes of matplotlib, or None for new ones")
    figure: Any = None
    if given is None:
        require_matplotlib()
        import matplotlib.pyplot as plt

        figure = plt.figure(figsize=(width, height), layout="constrained")
    with drawing():
        yield figure.add_subplot() if given is None else given


def plot_estimates(
    rows: Sequence[ArmEstimate], axes: Axes | None = None, *, most: int | None = MOST_ARMS, title: str = ""
) -> Axes:
    """The arms, the best first: thick with sharing, thin by own rows alone, a line at the mean of the control.

    The control is the arm with every lever at its control level, unless the estimates name another. At most `most`
    arms are drawn, all with None.
    """
    count = len(rows) if most is None else whole_number("most", most, 1)
    require_matplotlib()
    from matplotlib.ticker import PercentFormatter

    best = sorted(rows, key=lambda row: (math.isnan(row.mean), -row.mean))
    controls = _controls(best)
    shown = _with_controls(best, count, controls)
    segments = list(dict.fromkeys(_segment(row) for row in rows))
    shown.sort(key=lambda row: segments.index(_segment(row)))
    with styled_axes(axes, 7.2, 1.4 + 0.45 * len(shown)) as found:
        for index, row in enumerate(shown):
            _interval(
                found, index + 0.16, (row.own_mean, row.own_low, row.own_high), ALONE.light, 1.2, "own rows alone"
            )
            _interval(found, index - 0.16, (row.mean, row.low, row.high), SHARED.light, 3.5, "with sharing")
        _draw_controls(found, shown, controls)
        _name_arms(found, shown)
        means = [row.mean for row in shown if math.isfinite(row.mean)]
        if means and min(means) >= 0 and max(means) <= SMALL:
            found.xaxis.set_major_formatter(PercentFormatter(1.0))
        more = f"{len(shown)} of {len(rows)} arms" if len(shown) < len(rows) else f"{len(rows)} arms"
        found.set_title(wrapped(f"{title}: {more}" if title else more), loc="left", fontsize=11)
        _add_legend(found)
    return found


def _segment(row: ArmEstimate) -> tuple[Any, ...]:
    return tuple(sorted(row.arm.segment.items()))


def _controls(rows: Sequence[ArmEstimate]) -> dict[tuple[Any, ...], ArmEstimate]:
    """The control of each segment, or the only one; its levers are at their control levels unless another is named."""
    found: dict[tuple[Any, ...], ArmEstimate] = {}
    for row in sorted(rows, key=lambda row: not row.is_control):
        if row.is_control or not row.arm.active:
            found.setdefault(_segment(row), row)
    return found


def _with_controls(
    best: Sequence[ArmEstimate], count: int, controls: Mapping[tuple[Any, ...], ArmEstimate]
) -> list[ArmEstimate]:
    """The best arms and the controls of their segments, `count` in all if that leaves room for an arm."""
    top = best[:count]
    others = [row for row in top if row is not controls.get(_segment(row))]
    wanted = {_segment(row): controls[_segment(row)] for row in top if _segment(row) in controls}
    kept = others[: max(count - len(wanted), 1)]
    among = {id(row) for row in (*kept, *(wanted[_segment(row)] for row in kept if _segment(row) in wanted))}
    return [row for row in best if id(row) in among] if kept else list(top)


def _draw_controls(axes: Axes, shown: Sequence[ArmEstimate], controls: Mapping[tuple[Any, ...], ArmEstimate]) -> None:
    """A broken line at the mean of the control; if there are segments, beside the arms of each."""
    for segment, control in controls.items():
        places = [index for index, row in enumerate(shown) if _segment(row) == segment]
        if places and math.isfinite(control.mean):
            look: dict[str, Any] = {"color": SOFT.light, "linestyle": "--", "linewidth": 1}
            if len(controls) == 1:
                axes.axvline(control.mean, label=wrapped(f"control, {control.arm.label}"), **look)
            else:
                ends = [places[0] - 0.45, places[-1] + 0.45]
                axes.plot([control.mean] * 2, ends, label="control of the segment", **look)


def _add_legend(axes: Axes) -> None:
    """One entry for each kind of line, a fixed distance below the axes."""
    from matplotlib.transforms import ScaledTranslation, blended_transform_factory

    entries = {text: handle for handle, text in zip(*axes.get_legend_handles_labels(), strict=True)}
    figure: Any = axes.figure
    below = axes.transAxes + ScaledTranslation(0, -0.5, figure.dpi_scale_trans)
    if len(figure.axes) == 1:  # names of arms may leave the axes less than half of the figure
        below = blended_transform_factory(figure.transFigure, below)
    place: dict[str, Any] = {"loc": "upper center", "bbox_to_anchor": (0.5, 0), "bbox_transform": below}
    axes.legend(entries.values(), entries.keys(), ncols=3, fontsize=9, **place)


def _interval(axes: Axes, place: float, row: tuple[float, float, float], color: str, width: float, name: str) -> None:
    """A mean with its interval; nothing if there is no finite one."""
    mean, low, high = row
    if not math.isfinite(mean):
        return
    if math.isfinite(low) and math.isfinite(high):
        axes.plot([low, high], [place, place], color=color, linewidth=width, solid_capstyle="butt", label=name)
    axes.plot([mean], [place], "o" if width > 2 else "|", color=color, markersize=6 if width > 2 else 8)


def _name_arms(axes: Axes, rows: Sequence[ArmEstimate]) -> None:
    names = [row.arm.label if row.status == "active" else f"{row.arm.label} ({row.status})" for row in rows]
    axes.set_yticks(range(len(rows)), [wrapped(name) for name in names])
    axes.set_ylim(len(rows) - 0.5, -0.5)
    axes.grid(visible=True, axis="x")
    axes.grid(visible=False, axis="y")
    axes.set_xlabel("mean reward")
    axes.locator_params(axis="x", nbins=6)


def plot_simulation(simulation: Any, axes: Axes | None = None, *, name: str | None = None) -> Axes:
    """Mean regret over rounds with a band of two standard errors; call it again on its axes to compare.

    A simulation has its `runs`, and a `summary()` with the columns t, mean and se; `name` is the policy in the legend.
    """
    table = simulation.summary()
    t, mean, error = (table[column].to_numpy() for column in ("t", "mean", "se"))
    with styled_axes(axes, 6.4, 4.0) as found:
        color = PALETTE[len(found.lines) % len(PALETTE)]
        found.plot(t, mean, color=color, linewidth=1.8, label=None if name is None else printable(name))
        if simulation.runs > 1:
            found.fill_between(t, mean - 2 * error, mean + 2 * error, color=color, alpha=0.2, linewidth=0)
        found.set_xlabel("rounds")
        found.set_ylabel("regret")
        found.grid(visible=True)
        band = ", band of two standard errors" if simulation.runs > 1 else ""
        found.set_title(f"Mean regret of {simulation.runs:,} runs{band}", loc="left", fontsize=11, color=INK.light)
        if name is not None:
            found.legend()
        if len(t):
            found.annotate(f"{mean[-1]:.3g}", (t[-1], mean[-1]), xytext=(4, 0), textcoords="offset points")
    return found


# Plans


ENDINGS = (".png", ".svg", ".pdf")


class PlanCurve(NamedTuple):
    """One way to stop, and one way of learning.

    Args:
        stop: "proof" or "good enough".
        learning: "with mediators" or "without mediators".
        decisions: After how many decisions it was looked at.
        shares: The share of studies that have stopped then.
        errors: Its standard errors.
        needed: Decisions until the share is as wanted; infinite if it is not reached.
        needed_error: Its standard error.
        wrong: Share of the stops that named an arm which is not close to the best.
    """

    stop: str
    learning: str
    decisions: Sequence[int]
    shares: Sequence[float]
    errors: Sequence[float]
    needed: float
    needed_error: float
    wrong: float


def plot_plan(curves: Sequence[PlanCurve], axes: Axes | None = None, *, confidence: float, title: str) -> Axes:
    """The share of studies that have stopped, by the number of decisions; `confidence` is the share that is wanted."""
    from matplotlib.ticker import FuncFormatter, LogLocator, NullLocator, PercentFormatter

    with styled_axes(axes, 6.4, 4.2) as found:
        for curve, color in zip(curves, PALETTE, strict=False):
            low = [max(each - 2 * error, 0.0) for each, error in zip(curve.shares, curve.errors, strict=True)]
            high = [min(each + 2 * error, 1.0) for each, error in zip(curve.shares, curve.errors, strict=True)]
            about = f"{float(f'{curve.needed:.2g}'):,.0f} decisions" if math.isfinite(curve.needed) else "not reached"
            found.plot(
                curve.decisions,
                curve.shares,
                color=color,
                linewidth=1.8,
                label=f"{curve.stop} {curve.learning}: {about}",
            )
            found.fill_between(curve.decisions, low, high, color=color, alpha=0.15, linewidth=0)
            if math.isfinite(curve.needed):
                found.plot([curve.needed] * 2, [0, confidence], color=color, linestyle=":", linewidth=1.2)
        found.axhline(confidence, color=SOFT.light, linestyle="--", linewidth=1)
        found.set_xscale("log")
        found.xaxis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0)))
        found.xaxis.set_minor_locator(NullLocator())
        found.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,.0f}"))
        found.yaxis.set_major_formatter(PercentFormatter(1.0, decimals=0))
        found.set_ylim(0, 1.02)
        found.set_xlabel("decisions")
        found.set_ylabel("studies that have stopped")
        found.grid(visible=True)
        found.set_title(wrapped(title, 70), loc="left", fontsize=11)
        found.legend(loc="upper center", bbox_to_anchor=(0.5, -0.16), ncols=2, fontsize=9)
    return found


def figure_file(path: str | os.PathLike[str]) -> Path:
    """The path of a figure to write, checked before the work whose result it shows."""
    file = file_path(path)
    if file.suffix.lower() not in ENDINGS:
        raise OutputError(f"{brief(str(file))} does not end in {', '.join(ENDINGS)}; name a figure file")
    return file


def save_plan(curves: Sequence[PlanCurve], path: str | os.PathLike[str], *, confidence: float, title: str) -> Path:
    """Write the figure; PNG, SVG or PDF by the path's ending."""
    file = figure_file(path)
    with replacing(file) as temporary, new_figure(figsize=(6.4, 4.2)) as figure:
        plot_plan(curves, figure.subplots(), confidence=confidence, title=title)
        figure.savefig(temporary, dpi=160)
    return file


# Discovered graphs


SYSTEM, CONTEXT, HIDDEN = BLUE, DIM, VERMILION
PANELS = 3
LONGEST_NODE = 20
"""Characters of a name that is drawn."""

Place = tuple[float, float]


def draw_graphs(found: DiscoveredGraphs, path: str | Path) -> None:
    """The best graphs side by side with their losses; numbers on edges are confidences in nats.

    Circles are observed variables and the reward, squares levers (the bidirected edges among these,
    which JCI takes for granted, are left out); dashed arcs with two heads are hidden common causes.
    """
    shown = found.graphs[:PANELS]
    with new_figure(grid=False, figsize=(4.2 * len(shown), 4.6)) as figure:
        for index, (graph, loss) in enumerate(shown):
            axes = figure.add_subplot(1, len(shown), index + 1)
            _draw_graph(axes, graph, found.interventions, found.edges if index == 0 else {})
            rank = "best graph" if index == 0 else f"number {index + 1}"
            axes.set_title(f"{rank}: loss {loss:.1f}", loc="left", fontsize=11)
        told = "" if found.proven else " The search hit its time limit: better graphs may exist."
        rows = found.sets[0].evidence.rows
        figure.suptitle(f"Causal graphs from {rows} rows.{told}", x=0.01, ha="left", fontsize=11, fontweight="bold")
        figure.savefig(path, dpi=160)


def _draw_graph(axes: Axes, graph: MixedGraph, contexts: tuple[str, ...], confidence: dict[str, float]) -> None:
    system = [node for node in graph.nodes if node not in contexts]
    places = _places(graph, system, contexts)
    for node, (x, y) in places.items():
        color, shape = (CONTEXT, "square") if node in contexts else (SYSTEM, "circle")
        box = {"boxstyle": f"{shape},pad=0.35", "facecolor": "white", "edgecolor": color, "linewidth": 1.6}
        axes.text(
            x, y, short(node, LONGEST_NODE), ha="center", va="center", bbox=box, color=color, fontsize=10, zorder=3
        )
    for tail, head in graph.directed:
        color = CONTEXT if tail in contexts else SYSTEM
        look: dict[str, Any] = {"arrowstyle": "-|>,head_length=0.5,head_width=0.3", "color": color}
        _draw_edge(axes, places[tail], places[head], confidence.get(f"{tail} -> {head}"), look)
    for one, other in graph.bidirected:
        if one not in contexts:
            value = confidence.get(f"{one} <-> {other}", confidence.get(f"{other} <-> {one}"))
            look = {"arrowstyle": "<|-|>,head_length=0.5,head_width=0.3", "color": HIDDEN, "linestyle": (0, (4, 2))}
            _draw_edge(axes, places[one], places[other], value, look, bend=0.35)
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


def _draw_edge(
    axes: Axes, start: Place, end: Place, value: float | None, look: dict[str, Any], bend: float = 0.0
) -> None:
    """An arrow, with its confidence in the middle."""
    line: dict[str, Any] = {"connectionstyle": f"arc3,rad={bend}", "shrinkA": 17, "shrinkB": 17, "linewidth": 1.4}
    axes.annotate("", end, start, arrowprops={**line, **look}, zorder=2)
    if value is not None:
        x, y = (start[0] + end[0]) / 2, (start[1] + end[1]) / 2
        x, y = x + bend / 2 * (end[1] - start[1]), y - bend / 2 * (end[0] - start[0])
        box: dict[str, Any] = {"boxstyle": "round,pad=0.1", "facecolor": "white", "edgecolor": "none"}
        axes.text(x, y, f"{value:.0f}", fontsize=8, ha="center", va="center", color=PLAIN.light, bbox=box, zorder=4)

"""Plots for notebooks: on matplotlib axes that are given, or on new ones; the axes are returned."""

from __future__ import annotations

import contextlib
import math
import textwrap
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from ..drawers import draws
from ..errors import OptionError, brief, whole_number
from ..markup import printable
from .axes import unit_for
from .palette import ALONE, INK, PALETTE, SHARED, SOFT
from .theme import drawing

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from ..policies import ArmEstimate
    from ..simulation import Simulation

MOST_ARMS = 12
WIDEST, LINES = 36, 3
"""Characters in a line of a name, and lines."""


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
        import matplotlib.pyplot as plt

        figure = plt.figure(figsize=(width, height), layout="constrained")
    with drawing({}):
        yield figure.add_subplot() if given is None else given


def wrapped(text: str, widest: int = WIDEST) -> str:
    """A name over several lines, never cut within a word.

    >>> wrapped("do(banner=red, discount=10%, headline=Try it now)").splitlines()
    ['do(banner=red, discount=10%,', 'headline=Try it now)']
    """
    lines = textwrap.wrap(printable(text), widest, break_on_hyphens=False) or [""]
    return "\n".join(lines if len(lines) <= LINES else [*lines[: LINES - 1], f"{lines[LINES - 1]} …"])


@draws("estimates")
def plot_estimates(
    rows: Sequence[ArmEstimate], axes: Axes | None = None, *, most: int | None = MOST_ARMS, title: str = ""
) -> Axes:
    """The arms, the best first: thick with sharing, thin by own rows alone, a line at the mean of the control.

    The control is the idle arm, unless the estimates name another.

    Args:
        rows: Estimates of all arms.
        axes: Where to draw; new ones by default.
        most: Draw so many arms, and the control; None: all.
        title: What to write above.
    """
    count = len(rows) if most is None else whole_number("most", most, 1)
    best = sorted(rows, key=lambda row: (math.isnan(row.mean), -row.mean))
    controls = _controls(best)
    shown = _with_controls(best, count, controls)
    segments = list(dict.fromkeys(_segment(row) for row in rows))
    shown.sort(key=lambda row: segments.index(_segment(row)))
    with styled_axes(axes, 7.2, 1.4 + 0.45 * len(shown)) as found:
        for place, row in enumerate(shown):
            _interval(
                found, place + 0.16, (row.own_mean, row.own_low, row.own_high), ALONE.light, 1.2, "own rows alone"
            )
            _interval(found, place - 0.16, (row.mean, row.low, row.high), SHARED.light, 3.5, "with sharing")
        _draw_controls(found, shown, controls)
        _name_arms(found, shown)
        _percent(found, [row.mean for row in shown])
        more = f"{len(shown)} of {len(rows)} arms" if len(shown) < len(rows) else f"{len(rows)} arms"
        found.set_title(wrapped(f"{title}: {more}" if title else more), loc="left", fontsize=11)
        _add_legend(found)
    return found


def _segment(row: ArmEstimate) -> tuple[Any, ...]:
    return tuple(sorted(row.arm.segment.items()))


def _controls(rows: Sequence[ArmEstimate]) -> dict[tuple[Any, ...], ArmEstimate]:
    """The control of each segment, or the only one: the idle arm, unless the estimates name another."""
    found: dict[tuple[Any, ...], ArmEstimate] = {}
    for row in sorted(rows, key=lambda row: not row.is_control):
        if row.is_control or not row.arm.active:
            found.setdefault(_segment(row), row)
    return found


def _with_controls(
    best: Sequence[ArmEstimate], count: int, controls: Mapping[tuple[Any, ...], ArmEstimate]
) -> list[ArmEstimate]:
    """The best arms and the controls of their segments, so many in all, if there is room for an arm beside them."""
    top = best[:count]
    others = [row for row in top if row is not controls.get(_segment(row))]
    wanted = {_segment(row): controls[_segment(row)] for row in top if _segment(row) in controls}
    kept = others[: max(count - len(wanted), 1)]
    among = {id(row) for row in (*kept, *(wanted[_segment(row)] for row in kept if _segment(row) in wanted))}
    return [row for row in best if id(row) in among] if kept else list(top)


def _draw_controls(axes: Axes, shown: Sequence[ArmEstimate], controls: Mapping[tuple[Any, ...], ArmEstimate]) -> None:
    """A broken line at the mean of the control; where there are segments, beside the arms of each."""
    for segment, control in controls.items():
        places = [place for place, row in enumerate(shown) if _segment(row) == segment]
        if places and math.isfinite(control.mean):
            look: dict[str, Any] = {"color": SOFT.light, "linestyle": "--", "linewidth": 1}
            if len(controls) == 1:
                axes.axvline(control.mean, label=_control_name(control), **look)
            else:
                ends = [places[0] - 0.45, places[-1] + 0.45]
                axes.plot([control.mean] * 2, ends, label="control of the segment", **look)


def _control_name(row: ArmEstimate) -> str:
    return wrapped(f"{row.arm}, {'no lever moved' if not row.arm.active else 'the control'}")


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


def _interval(axes: Axes, place: float, row: tuple[float, float, float], colour: str, width: float, name: str) -> None:
    """A mean with its interval; nothing where there is no finite one."""
    mean, low, high = row
    if not math.isfinite(mean):
        return
    if math.isfinite(low) and math.isfinite(high):
        axes.plot([low, high], [place, place], color=colour, linewidth=width, solid_capstyle="butt", label=name)
    axes.plot([mean], [place], "o" if width > 2 else "|", color=colour, markersize=6 if width > 2 else 8)


def _name_arms(axes: Axes, rows: Sequence[ArmEstimate]) -> None:
    names = [str(row.arm) if row.status == "active" else f"{row.arm} ({row.status})" for row in rows]
    axes.set_yticks(range(len(rows)), [wrapped(name) for name in names])
    axes.set_ylim(len(rows) - 0.5, -0.5)
    axes.grid(visible=True, axis="x")
    axes.grid(visible=False, axis="y")
    axes.set_xlabel("mean reward")
    axes.locator_params(axis="x", nbins=6)


def _percent(axes: Axes, means: Sequence[float]) -> None:
    """Percent where rates are small."""
    from matplotlib.ticker import PercentFormatter

    if unit_for(means).percent:
        axes.xaxis.set_major_formatter(PercentFormatter(1.0))


@draws("simulation")
def plot_simulation(simulation: Simulation, axes: Axes | None = None, *, name: str | None = None) -> Axes:
    """Mean regret over rounds with a band of two standard errors; call it again on its axes to compare.

    Args:
        simulation: What was simulated.
        axes: Where to draw; new ones by default.
        name: The policy in the legend.
    """
    table = simulation.summary()
    t, mean, error = (table[column].to_numpy() for column in ("t", "mean", "se"))
    with styled_axes(axes, 6.4, 4.0) as found:
        colour = PALETTE[len(found.lines) % len(PALETTE)]
        found.plot(t, mean, color=colour, linewidth=1.8, label=None if name is None else printable(name))
        if simulation.runs > 1:
            found.fill_between(t, mean - 2 * error, mean + 2 * error, color=colour, alpha=0.2, linewidth=0)
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

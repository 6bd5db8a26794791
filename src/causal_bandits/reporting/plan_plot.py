"""After how many decisions studies have stopped: the figure of a plan."""

from __future__ import annotations

import math
import os
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from ..drawers import draws
from ..errors import OutputError, brief
from ..files import file_path, replacing
from .palette import PALETTE, SOFT
from .theme import drawing

if TYPE_CHECKING:
    from matplotlib.axes import Axes

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


@draws("plan")
def plot_plan(curves: Sequence[PlanCurve], axes: Axes | None = None, *, confidence: float, title: str) -> Axes:
    """The share of studies that have stopped, over the number of decisions.

    Args:
        curves: What to draw.
        axes: Where to draw; new ones by default.
        confidence: The share that is wanted.
        title: What to write above.
    """
    from matplotlib.ticker import FuncFormatter, LogLocator, NullLocator, PercentFormatter

    from .quick_plots import styled_axes, wrapped

    with styled_axes(axes, 6.4, 4.2) as found:
        for curve, colour in zip(curves, PALETTE, strict=False):
            low = [max(each - 2 * error, 0.0) for each, error in zip(curve.shares, curve.errors, strict=True)]
            high = [min(each + 2 * error, 1.0) for each, error in zip(curve.shares, curve.errors, strict=True)]
            about = f"{float(f'{curve.needed:.2g}'):,.0f} decisions" if math.isfinite(curve.needed) else "not reached"
            found.plot(
                curve.decisions,
                curve.shares,
                color=colour,
                linewidth=1.8,
                label=f"{curve.stop} {curve.learning}: {about}",
            )
            found.fill_between(curve.decisions, low, high, color=colour, alpha=0.15, linewidth=0)
            if math.isfinite(curve.needed):
                found.plot([curve.needed] * 2, [0, confidence], color=colour, linestyle=":", linewidth=1.2)
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


def save_plan(curves: Sequence[PlanCurve], path: str | os.PathLike[str], *, confidence: float, title: str) -> Path:
    """Write the figure; PNG, SVG or PDF by the path's ending."""
    from matplotlib.figure import Figure

    file = file_path(path)
    if file.suffix.lower() not in ENDINGS:
        raise OutputError(f"{brief(str(file))} does not end in {', '.join(ENDINGS)}; name a figure file")
    with drawing({}), replacing(file) as temporary:
        figure = Figure(figsize=(6.4, 4.2), layout="constrained")
        plot_plan(curves, figure.subplots(), confidence=confidence, title=title)
        figure.savefig(temporary, dpi=160)
    return file

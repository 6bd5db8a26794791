"""The figure of a summary, whatever it shows."""

from pathlib import Path

from .case_plots import paint_example, paint_theorem
from .line_plots import paint_curves
from .reading_plots import paint_readings
from .summaries import Summary
from .theme import Painter, save, themed_svg

PAINTERS: dict[str, Painter] = {"theorem": paint_theorem, "example": paint_example}
"""Of figures that are not curves."""


def _painter(summary: Summary) -> Painter:
    return paint_readings if "matrix" in summary else PAINTERS.get(summary["figure"], paint_curves)


def draw(summary: Summary, path: Path) -> None:
    """Draw a summary into a PNG or SVG file."""
    save(_painter(summary), summary, path)


def page_svg(summary: Summary, *, narrow: bool) -> str:
    """A summary's figure for a page, wide or for a phone."""
    return themed_svg(_painter(summary), summary, narrow=narrow)

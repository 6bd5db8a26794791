"""The figure of a summary, whatever it shows."""

from pathlib import Path
from typing import Any

from .cases import paint_example, paint_theorem
from .curves import paint_curves
from .theme import Painter, save, themed_svg

PAINTERS: dict[str, Painter] = {"theorem": paint_theorem, "example": paint_example}
"""Of figures that are not curves."""


def _painter(summary: dict[str, Any]) -> Painter:
    return PAINTERS.get(summary["figure"], paint_curves)


def draw(summary: dict[str, Any], path: Path) -> None:
    """Draw a summary into a PNG or SVG file."""
    save(_painter(summary), summary, path)


def page_svg(summary: dict[str, Any], *, narrow: bool) -> str:
    """A summary's figure for a page, wide or for a phone."""
    return themed_svg(_painter(summary), summary, narrow=narrow)

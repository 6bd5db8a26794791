"""How figures look, and how their ink follows the reader's light or dark page."""

from __future__ import annotations

import contextlib
import io
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .palette import GRID, INK, PLAIN, SOFT
from .summaries import Summary

if TYPE_CHECKING:
    from matplotlib.figure import Figure

THEMED = (INK, SOFT, PLAIN, GRID)
"""What a page may show in light or in dark."""
STYLE: dict[Any, Any] = {
    "font.size": 10,
    "text.color": INK.light,
    "axes.edgecolor": INK.light,
    "axes.labelcolor": INK.light,
    "axes.titlecolor": INK.light,
    "xtick.color": INK.light,
    "ytick.color": INK.light,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "grid.color": GRID.light,
    "axes.axisbelow": True,
    "legend.frameon": False,
    "text.parse_math": False,
    "text.usetex": False,
    "svg.fonttype": "path",
    "svg.hashsalt": "causal-bandits",
}
Painter = Callable[["Figure", Summary, bool], None]
"""Paints a summary on an empty figure; narrow or not."""


@contextlib.contextmanager
def drawing(changes: dict[Any, Any]) -> Iterator[None]:
    """Drawings in our style. Text is no formula; a character that the font does not have is drawn as a box."""
    import matplotlib as mpl

    with mpl.rc_context({**STYLE, **changes}), warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="Glyph .* missing from")
        warnings.filterwarnings("ignore", message="Matplotlib currently does not support .* natively")
        yield


def save(paint: Painter, summary: Summary, path: Path) -> None:
    """A figure file; PNG or SVG by the path's ending. No date and no maker: equal figures are equal files."""
    from matplotlib.figure import Figure  # takes a while, and most commands draw nothing

    with drawing({}):
        figure = Figure(layout="constrained")
        paint(figure, summary, False)
        figure.savefig(path, dpi=160, metadata={"Date": None} if path.suffix == ".svg" else {"Software": None})


def themed_svg(paint: Painter, summary: Summary, *, narrow: bool) -> str:
    """The figure for a page: no background, and ink in the colours of the reader's page, light or dark."""
    from matplotlib.figure import Figure

    buffer = io.StringIO()
    with drawing({"font.size": 11 if narrow else 10}):
        figure = Figure(layout="constrained")
        paint(figure, summary, narrow)
        figure.savefig(buffer, format="svg", transparent=True, metadata={"Date": None})
    svg = buffer.getvalue()
    svg = svg[svg.index("<svg") :]
    names = {shade: f"--c{place}" for place, shade in enumerate(THEMED)}
    for shade, name in names.items():
        svg = svg.replace(shade.light, f"var({name})")
    light = ";".join(f"{name}:{shade.light}" for shade, name in names.items())
    dark = ";".join(f"{name}:{shade.dark}" for shade, name in names.items())
    style = f"<style>svg{{{light}}}@media (prefers-color-scheme:dark){{svg{{{dark}}}}}</style>"
    end = svg.index(">") + 1
    return svg[:end] + style + svg[end:]

"""Colors for all kinds of color vision, the style of figures, and colors that follow a light or dark page."""

from __future__ import annotations

import contextlib
import io
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from ..libraries import require_matplotlib
from .summaries import Summary

if TYPE_CHECKING:
    from matplotlib.figure import Figure


class Shade(NamedTuple):
    """A color of a page that the reader may have light or dark."""

    light: str
    dark: str


INK = Shade("#1b1b1b", "#ececec")
SOFT = Shade("#565656", "#a9a9a9")
PLAIN = Shade("#434343", "#c4c4c4")
GRID = Shade("#dcdcdc", "#3d3d3d")
PAPER = Shade("#fdfdfc", "#161616")
CARD = Shade("#f4f4f1", "#202020")
GOOD = Shade("#0a6b3d", "#5fd39a")
BAD = Shade("#a3260f", "#ff8a73")
OPEN = Shade("#7a5a00", "#e9c25c")

# Okabe and Ito's colors, for all kinds of color vision, visible on light and dark.
BLUE, VERMILION, GREEN, PURPLE = "#0072B2", "#D55E00", "#009E73", "#CC79A7"
SKY, ORANGE, BROWN, VIOLET = "#56B4E9", "#E69F00", "#8C6D31", "#7B61A8"
PALETTE = (BLUE, VERMILION, GREEN, PURPLE, SKY, ORANGE, BROWN, VIOLET)
GREY, DIM = "#999999", "#777777"

SHARED, ALONE = Shade(BLUE, SKY), Shade(GREY, GREY)
"""An arm with sharing, and by its own rows alone."""


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
    """Figures in our style. Text is never a formula; a character that the font lacks is drawn as a box."""
    require_matplotlib()
    import matplotlib as mpl

    with mpl.rc_context({**STYLE, **changes}), warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="Glyph .* missing from")
        warnings.filterwarnings("ignore", message="Matplotlib currently does not support .* natively")
        yield


@contextlib.contextmanager
def new_figure(changes: dict[Any, Any], **options: Any) -> Iterator[Figure]:
    """An empty figure in our style."""
    with drawing(changes):
        from matplotlib.figure import Figure  # takes a while, and most commands draw nothing

        yield Figure(layout="constrained", **options)


def save(paint: Painter, summary: Summary, path: Path) -> None:
    """Write a PNG or SVG file, by the suffix of the path. It has no date or creator: equal figures are equal files."""
    with new_figure({}) as figure:
        paint(figure, summary, False)
        figure.savefig(path, dpi=160, metadata={"Date": None} if path.suffix == ".svg" else {"Software": None})


def themed_svg(paint: Painter, summary: Summary, *, narrow: bool) -> str:
    """The figure for a page: no background, and ink in the colors of the reader's page, light or dark."""
    buffer = io.StringIO()
    with new_figure({"font.size": 11 if narrow else 10}) as figure:
        paint(figure, summary, narrow)
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

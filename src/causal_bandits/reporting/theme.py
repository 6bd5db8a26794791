"""How figures look: colours that everybody can tell apart, and ink that follows the reader's light or dark page."""

from __future__ import annotations

import contextlib
import io
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from matplotlib.figure import Figure

INK, SOFT, PLAIN, GRID = "#1b1b1b", "#565656", "#434343", "#dcdcdc"
DARK = {INK: "#ececec", SOFT: "#a9a9a9", PLAIN: "#c4c4c4", GRID: "#3d3d3d"}
# Okabe and Ito's colours, told apart by people with any kind of colour vision.
PALETTE = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#56B4E9", "#E69F00", "#8C6D31", "#7B61A8")
STYLE: dict[Any, Any] = {
    "font.size": 10,
    "text.color": INK,
    "axes.edgecolor": INK,
    "axes.labelcolor": INK,
    "axes.titlecolor": INK,
    "xtick.color": INK,
    "ytick.color": INK,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "grid.color": GRID,
    "axes.axisbelow": True,
    "legend.frameon": False,
    "text.parse_math": False,
    "text.usetex": False,
    "svg.fonttype": "path",
    "svg.hashsalt": "causal-bandits",
}
Painter = Callable[["Figure", dict[str, Any], bool], None]
"""Paints a summary on an empty figure; narrow or not."""


@contextlib.contextmanager
def drawing(changes: dict[Any, Any]) -> Iterator[None]:
    """Drawings in our style. Text is no formula; a character that the font does not have is drawn as a box."""
    import matplotlib as mpl

    with mpl.rc_context({**STYLE, **changes}), warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="Glyph .* missing from")
        warnings.filterwarnings("ignore", message="Matplotlib currently does not support .* natively")
        yield


def save(paint: Painter, summary: dict[str, Any], path: Path) -> None:
    """A figure file; PNG or SVG by the path's ending. No date and no maker: equal figures are equal files."""
    from matplotlib.figure import Figure  # takes a while, and most commands draw nothing

    with drawing({}):
        figure = Figure(layout="constrained")
        paint(figure, summary, False)
        figure.savefig(path, dpi=160, metadata={"Date": None} if path.suffix == ".svg" else {"Software": None})


def themed_svg(paint: Painter, summary: dict[str, Any], *, narrow: bool) -> str:
    """The figure for a page: no background, and ink in the colours of the reader's page, light or dark."""
    from matplotlib.figure import Figure

    buffer = io.StringIO()
    with drawing({"font.size": 11 if narrow else 10}):
        figure = Figure(layout="constrained")
        paint(figure, summary, narrow)
        figure.savefig(buffer, format="svg", transparent=True, metadata={"Date": None})
    svg = buffer.getvalue()
    svg = svg[svg.index("<svg") :]
    names = {colour: f"--c{place}" for place, colour in enumerate(DARK)}
    for colour, name in names.items():
        svg = svg.replace(colour, f"var({name})")
    light = ";".join(f"{name}:{colour}" for colour, name in names.items())
    dark = ";".join(f"{name}:{DARK[colour]}" for colour, name in names.items())
    style = f"<style>svg{{{light}}}@media (prefers-color-scheme:dark){{svg{{{dark}}}}}</style>"
    end = svg.index(">") + 1
    return svg[:end] + style + svg[end:]

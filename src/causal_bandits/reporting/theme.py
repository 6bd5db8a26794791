"""Colors for all kinds of color vision, the style of figures, and colors that follow a light or dark page."""

from __future__ import annotations

import contextlib
import warnings
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, NamedTuple

from ..libraries import require_matplotlib

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
    "grid.color": GRID.light,
    "axes.axisbelow": True,
    "legend.frameon": False,
    "text.parse_math": False,
    "text.usetex": False,
    "svg.fonttype": "path",
    "svg.hashsalt": "causal-bandits",
}


@contextlib.contextmanager
def drawing(*, grid: bool = True) -> Iterator[None]:
    """Figures in our style. Text is never a formula; a character that the font lacks is drawn as a box."""
    require_matplotlib()
    import matplotlib as mpl

    with mpl.rc_context({**STYLE, "axes.grid": grid}), warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="Glyph .* missing from")
        warnings.filterwarnings("ignore", message="Matplotlib currently does not support .* natively")
        yield


@contextlib.contextmanager
def new_figure(*, grid: bool = True, **options: Any) -> Iterator[Figure]:
    """An empty figure in our style."""
    with drawing(grid=grid):
        from matplotlib.figure import Figure  # takes a while, and most commands draw nothing

        yield Figure(layout="constrained", **options)

"""The one palette of figures and pages: colours that everybody can tell apart, and ink for light and for dark paper."""

from typing import NamedTuple


class Shade(NamedTuple):
    """A colour of a page that the reader may have light or dark."""

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

# Okabe and Ito's colours, told apart by people with any kind of colour vision, and seen on light and dark.
BLUE, VERMILION, GREEN, PURPLE = "#0072B2", "#D55E00", "#009E73", "#CC79A7"
SKY, ORANGE, BROWN, VIOLET = "#56B4E9", "#E69F00", "#8C6D31", "#7B61A8"
PALETTE = (BLUE, VERMILION, GREEN, PURPLE, SKY, ORANGE, BROWN, VIOLET)
GREY, DIM = "#999999", "#777777"

SHARED, ALONE = Shade(BLUE, SKY), Shade(GREY, GREY)
"""An arm with sharing, and by its own rows alone."""

"""Self-contained pages for screens, phones and print; `markup` makes their elements."""

from collections.abc import Iterable
from pathlib import Path

from ..core.markup import Markup, markup, printable, table, tag
from . import theme
from .sheets import Sheet, groups_once

SHADES = {
    "paper": theme.PAPER,
    "ink": theme.INK,
    "soft": theme.SOFT,
    "line": theme.GRID,
    "card": theme.CARD,
    "one": theme.SHARED,
    "two": theme.ALONE,
    "holds": theme.GOOD,
    "fails": theme.BAD,
    "open": theme.OPEN,
}
"""The colors of a page by their names in its style."""

STYLE = Path(__file__).with_name("page.css").read_text(encoding="utf-8")


def soft(*parts: str) -> Markup:
    """A paragraph of secondary text."""
    return tag("p", *parts, at={"class": "soft"})


def page(title: str, parts: Iterable[str]) -> str:
    """A whole page; nothing in it is a control character."""
    head = tag(
        "head",
        tag("meta", at={"charset": "utf-8"}),
        tag("meta", at={"name": "viewport", "content": "width=device-width,initial-scale=1"}),
        tag("link", at={"rel": "icon", "href": "data:,"}),
        tag("title", title),
        tag("style", Markup(_colors() + STYLE)),
    )
    whole = tag("html", head, "\n", tag("body", *(markup([part, "\n"]) for part in parts if part)), at={"lang": "en"})
    return printable(f"<!doctype html>\n{whole}\n", keep="\n\t")


def _colors() -> str:
    light, dark = (";".join(f"--{name}:{shade[place]}" for name, shade in SHADES.items()) for place in (0, 1))
    series = "".join(f".c{place}{{--it:{color}}}" for place, color in enumerate(theme.PALETTE))
    series += f".grey{{--it:{theme.GREY}}}.level-key,.noted-key{{--it:var(--ink)}}"
    return f":root{{color-scheme:light dark;{light}}}@media (prefers-color-scheme:dark){{:root{{{dark}}}}}{series}"


def sheet_table(sheet: Sheet) -> Markup:
    """A sheet with its caption under it."""
    shown = table(sheet.columns, groups_once(sheet), numeric=sheet.numbers)
    return markup([shown, soft(sheet.caption) if sheet.caption else ""])

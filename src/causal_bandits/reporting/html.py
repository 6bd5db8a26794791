"""Pages that need nothing but themselves, for desks, phones and paper; their elements are made by `markup`."""

from collections.abc import Iterable

from ..markup import Markup, markup, printable, table, tag
from . import palette
from .sheets import Sheet

SHADES = {
    "paper": palette.PAPER,
    "ink": palette.INK,
    "soft": palette.SOFT,
    "line": palette.GRID,
    "card": palette.CARD,
    "one": palette.SHARED,
    "two": palette.ALONE,
    "holds": palette.GOOD,
    "fails": palette.BAD,
    "open": palette.OPEN,
}
"""The colours of a page by their names in its style."""

STYLE = """
*{box-sizing:border-box}
body{margin:0 auto;max-width:66rem;padding:1.5rem 1rem 4rem;background:var(--paper);color:var(--ink);
font:16px/1.55 system-ui,sans-serif;overflow-wrap:anywhere}
h1{font-size:1.7rem;line-height:1.2;margin:.5rem 0}h2{font-size:1.25rem;line-height:1.3;margin:2.5rem 0 .3rem}
p{margin:.4rem 0;max-width:46rem}a{color:inherit}ul{padding-left:1.2rem}
.question{font-style:italic}.soft{color:var(--soft);font-size:.88rem}.lead{font-size:1.1rem}
.scroll{overflow-x:auto;margin-top:.8rem}
table{border-collapse:collapse;font-size:.88rem;overflow-wrap:normal}
th,td{text-align:left;padding:.3rem .9rem .3rem 0;border-bottom:1px solid var(--line);vertical-align:top}
th{font-weight:600}td.n,th.n{text-align:right;white-space:nowrap;font-variant-numeric:tabular-nums}
img{display:block;width:100%;height:auto;margin:1rem 0 .2rem}
svg{width:100%;min-width:36rem;height:auto;display:block}
svg text{fill:var(--ink);font:12px system-ui,sans-serif}svg .soft{fill:var(--soft);font-size:12px}
svg .axis{stroke:var(--line)}
.box{background:var(--card);border-left:4px solid var(--one);margin:.5rem 0;padding:.5rem .8rem;max-width:none}
.boxes{list-style:none;margin:.6rem 0;padding:0}
.box.holds{border-color:var(--holds)}.box.fails{border-color:var(--fails)}.box.open{border-color:var(--open)}
b.holds,span.holds{color:var(--holds)}b.fails,span.fails{color:var(--fails)}
b.open,span.open{color:var(--open)}b.depends{color:var(--one)}
.matrix{font-size:.8rem;line-height:1.35}.matrix td,.matrix th{padding-right:.7rem}.matrix .w{white-space:nowrap}
.matrix td[rowspan]:not(.w){min-width:9rem}
code{font-size:.88em;background:var(--card);padding:.1rem .3rem}
summary{cursor:pointer}
@media print{body{max-width:none;padding:0;font-size:11pt}h2{break-after:avoid}.box,img,tr{break-inside:avoid}
.scroll{overflow:visible}details>*{display:block}}
"""


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
        tag("style", Markup(_colours() + STYLE)),
    )
    whole = tag("html", head, "\n", tag("body", *(markup([part, "\n"]) for part in parts if part)), at={"lang": "en"})
    return printable(f"<!doctype html>\n{whole}\n", keep="\n\t")


def _colours() -> str:
    light, dark = (";".join(f"--{name}:{shade[place]}" for name, shade in SHADES.items()) for place in (0, 1))
    return f":root{{color-scheme:light dark;{light}}}@media (prefers-color-scheme:dark){{:root{{{dark}}}}}"


def sheet_table(sheet: Sheet) -> Markup:
    """A sheet with its caption under it."""
    shown = table(sheet.columns, sheet.rows, numeric=sheet.numbers)
    return markup([shown, soft(sheet.caption) if sheet.caption else ""])


def scrolling(part: Markup) -> Markup:
    """What scrolls sideways where the screen is narrow, rather than shrink until it cannot be read."""
    return tag("div", part, at={"class": "scroll"})

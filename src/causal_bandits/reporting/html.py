"""Self-contained pages for screens, phones and print; `markup` makes their elements."""

from collections.abc import Iterable

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
img{display:block;width:100%;min-width:36rem;height:auto;margin:1rem 0 .2rem}
svg{display:block}svg[viewBox]:not(.drawn){width:100%;min-width:36rem;height:auto}
svg text{fill:var(--soft);font:12px system-ui,sans-serif;font-variant-numeric:tabular-nums}
.strips{display:grid;grid-template-columns:minmax(8rem,20rem) 1fr;gap:.1rem 1.2rem;align-items:center;margin-top:.8rem;
font-size:.88rem;line-height:1.25}.strip,.plot,.drawn{overflow:visible}
.bar{stroke-linecap:round}.bar.shared{stroke:var(--one);stroke-width:6}.bar.alone{stroke:var(--two);stroke-width:2.5}
.dot.shared{fill:var(--paper);stroke:var(--one);stroke-width:2.5}.dot.alone{fill:var(--two)}
.chart{display:flex;margin-top:.8rem}.chart .beside{flex:none}.chart .plot{flex:1;min-width:0}
.grid{stroke:var(--line)}.level{stroke:var(--soft);stroke-dasharray:5 4;stroke-width:1.3}
line.noted{stroke:var(--ink);stroke-width:1.5}text.noted{fill:var(--ink);font-weight:600}
.line{fill:none;stroke:var(--it);stroke-width:2.2;vector-effect:non-scaling-stroke;stroke-linejoin:round}
.column,.fill{fill:var(--it)}.column{stroke:var(--paper)}.hover{fill:transparent}
.legend{list-style:none;display:flex;flex-wrap:wrap;gap:.25rem 1.1rem;margin:.5rem 0 0;padding:0;font-size:.88rem}
.legend li{display:flex;gap:.4rem;align-items:baseline;min-width:0}.key{flex:none}
@media (max-width:40rem){.strips{display:block}.strips bdi{display:block;margin-top:.6rem}}
.box{background:var(--card);border-left:4px solid var(--one);margin:.5rem 0;padding:.5rem .8rem;max-width:none}
.boxes{list-style:none;margin:.6rem 0;padding:0}
.box.holds{border-color:var(--holds)}.box.fails{border-color:var(--fails)}.box.open{border-color:var(--open)}
b.holds,span.holds{color:var(--holds)}b.fails,span.fails{color:var(--fails)}
b.open,span.open{color:var(--open)}
code{font-size:.88em;background:var(--card);padding:.1rem .3rem}
summary{cursor:pointer}
@media print{html{font-size:13px}body{max-width:none;padding:0;font-size:1rem}h2{break-after:avoid}
.box,img,tr{break-inside:avoid}.scroll{overflow:visible}details:not([open]){display:none}td,th{padding-right:.5rem}}
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

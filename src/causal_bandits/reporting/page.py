"""The report: one page of HTML with everything in it, light and dark, for desks, phones and paper."""

import base64
from collections.abc import Mapping, Sequence
from html import escape
from typing import Any, NamedTuple

from ..markup import printable
from .figures import page_svg
from .tables import Verdict, evidence, html_table, sheet_of

LONG = 20
"""A table with more rows is folded."""

STYLE = """
:root{color-scheme:light dark;--paper:#fdfdfc;--ink:#1b1b1b;--soft:#5d5d5d;--line:#dcdcdc;--card:#f4f4f1;
--holds:#0a6b3d;--fails:#a3260f;--open:#7a5a00}
@media (prefers-color-scheme:dark){:root{--paper:#161616;--ink:#ececec;--soft:#a9a9a9;--line:#3d3d3d;--card:#202020;
--holds:#5fd39a;--fails:#ff8a73;--open:#e9c25c}}
*{box-sizing:border-box}
body{margin:0 auto;max-width:66rem;padding:1.5rem 1rem 4rem;background:var(--paper);color:var(--ink);
font:16px/1.55 system-ui,sans-serif;overflow-wrap:anywhere}
h1{font-size:1.7rem;line-height:1.2;margin:.5rem 0}h2{font-size:1.25rem;line-height:1.3;margin:3rem 0 .3rem}
h3{font-size:1rem;margin:1.4rem 0 .3rem}
p{margin:.4rem 0;max-width:46rem}a{color:inherit}
.question{font-style:italic}.caption,.about{color:var(--soft);font-size:.85rem}
.wide{overflow-x:auto;margin-top:.8rem}
table{border-collapse:collapse;font-size:.88rem;overflow-wrap:normal}
th,td{text-align:left;padding:.3rem .9rem .3rem 0;border-bottom:1px solid var(--line);vertical-align:top}
th{font-weight:600}td.n,th.n{text-align:right;white-space:nowrap;font-variant-numeric:tabular-nums}
img{display:block;width:100%;height:auto;margin:1rem 0 .2rem}
.claims{list-style:none;margin:.6rem 0;padding:0}
.claims li{background:var(--card);border-left:4px solid var(--line);margin:.5rem 0;padding:.5rem .8rem}
.claims .holds{border-color:var(--holds)}.claims .fails{border-color:var(--fails)}
.claims .open{border-color:var(--open)}
b.holds{color:var(--holds)}b.fails{color:var(--fails)}b.open{color:var(--open)}
code{font-size:.88em;background:var(--card);padding:.1rem .3rem}
summary{cursor:pointer}
@media print{body{max-width:none;padding:0;font-size:11pt}h2{break-after:avoid}.claims li,img,tr{break-inside:avoid}
.wide{overflow:visible}details>*{display:block}}
"""


class Section(NamedTuple):
    """A figure of the report."""

    summary: dict[str, Any]
    verdicts: Sequence[Verdict]
    about: Mapping[str, Any]
    """How it was made: command, seconds, version and so on; may be empty."""


class Rendered(NamedTuple):
    """A section in HTML."""

    section: Section
    html: str


def report_page(title: str, introduction: str, sections: Sequence[Section]) -> str:
    """The whole page."""
    return page_of(title, introduction, [rendered(section) for section in sections])


def page_of(title: str, introduction: str, sections: Sequence[Rendered]) -> str:
    """The whole page, of sections that are made already."""
    verdicts = [(section, each) for section, _ in sections for each in section.verdicts]
    parts = [
        "<!doctype html><html lang='en'><head><meta charset='utf-8'>",
        "<meta name='viewport' content='width=device-width,initial-scale=1'>",
        "<link rel='icon' href='data:,'>",
        f"<title>{escape(title)}</title><style>{STYLE}</style></head><body>",
        f"<h1>{escape(title)}</h1><p>{escape(introduction)}</p>",
        _overview(verdicts) if verdicts else "",
        *(html for _, html in sections),
        "</body></html>\n",
    ]
    return printable("".join(parts), keep="\n")


def _overview(verdicts: list[tuple[Section, Verdict]]) -> str:
    count = {name: sum(each.verdict == name for _, each in verdicts) for name in ("holds", "fails", "open")}
    rows = "".join(
        f"<tr><td><a href='#{escape(section.summary['figure'])}'>{escape(each.where)}</a></td>"
        f"<td>{escape(each.text)}</td><td><b class='{each.verdict}'>{each.words}</b></td></tr>"
        for section, each in verdicts
    )
    return (
        f"<h2>Claims</h2><p>{len(verdicts)} claims: {count['holds']} hold, {count['fails']} do not, "
        f"{count['open']} are not settled. A claim holds when every difference it depends on is at least two standard "
        "errors on its side, and fails when one is two on the other; for equalities the limit is such that chance "
        "alone fails 1 % of reports. The verdicts are computed from the numbers below.</p>"
        f"<div class='wide'><table><thead><tr><th>where</th><th>the paper says</th><th>found</th></tr></thead>"
        f"<tbody>{rows}</tbody></table></div>"
    )


def rendered(section: Section) -> Rendered:
    """Draw a section and write it down."""
    summary = section.summary
    sheet = sheet_of(summary, section.about)
    table = html_table(sheet)
    if "rows" in summary and len(sheet.rows) > LONG:
        table = f"<details><summary>All {len(sheet.rows)} rows</summary>{table}</details>"
    html = (
        f"<section id='{escape(summary['figure'])}'><h2>{escape(summary['title'])}</h2>"
        f"<p class='question'>{escape(summary['question'])}</p>{_claims(section.verdicts)}{_picture(summary)}{table}"
        f"{_about(summary, section.about)}</section>"
    )
    return Rendered(section, html)


def _claims(verdicts: Sequence[Verdict]) -> str:
    items = "".join(
        f"<li class='{each.verdict}'>{escape(each.where)}: {escape(each.text)} "
        f"<b class='{each.verdict}'>{each.words}</b>"
        f"<div class='caption'>{'; '.join(escape(evidence(one)) for one in each.measured)}</div></li>"
        for each in verdicts
    )
    return f"<ul class='claims'>{items}</ul>" if items else ""


def _picture(summary: dict[str, Any]) -> str:
    wide, narrow = (_inline(page_svg(summary, narrow=how)) for how in (False, True))
    return (
        f"<picture><source media='(max-width:640px)' srcset='{narrow}'>"
        f"<img src='{wide}' alt='{escape(summary['title'], quote=True)}: the numbers are in the table below'></picture>"
    )


def _inline(svg: str) -> str:
    return "data:image/svg+xml;base64," + base64.b64encode(svg.encode()).decode()


def _about(summary: dict[str, Any], about: Mapping[str, Any]) -> str:
    """Version, time and the command that makes it again."""
    said = [f"Version {summary['version']}, seed {summary['seed']}."]
    if summary.get("horizon"):
        said.append(f"{summary['horizon']} rounds.")
    if about.get("work_seconds") is not None:
        said.append(f"Work: {duration(about['work_seconds'])} of one core, by {about['workers']} at a time.")
    if about.get("machine"):
        said.append(f"Machine: {about['machine']}, Python {about['python']}.")
    if about.get("commit"):
        said.append(f"Commit {about['commit']}.")
    again = f" Again: <code>{escape(about['again'])}</code>" if about.get("again") else ""
    return f"<p class='about'>{escape(' '.join(said))}{again}</p>"


def duration(seconds: float) -> str:
    """Seconds in words.

    >>> duration(4.2), duration(312), duration(7260)
    ('4.2 s', '5 min 12 s', '2 h 1 min')
    """
    if seconds < 60:
        return f"{seconds:.1f} s"
    minutes, rest = divmod(round(seconds), 60)
    return f"{minutes} min {rest} s" if minutes < 60 else f"{minutes // 60} h {minutes % 60} min"

"""The report: one page with every figure, its claims and its numbers."""

import base64
from collections.abc import Sequence
from typing import NamedTuple

from ..core.markup import Markup, markup, tag
from .axes import duration
from .html import page, sheet_table, soft
from .sheets import Sheet
from .summaries import About, Summary, Verdict
from .summary_plots import page_svg
from .summary_sheets import MatrixRow, evidence, matrix_sheets, sheet_of

LONG = 20
"""A table with more rows is folded."""


class ByReading(NamedTuple):
    """The claims by reading, and a summary in words."""

    rows: Sequence[MatrixRow]
    words: str


class Section(NamedTuple):
    """A figure of the report."""

    summary: Summary
    verdicts: Sequence[Verdict]
    about: About
    """How it was made; may be empty."""


Rendered = tuple[Section, Markup]
"""A section, and the same in HTML."""


def page_of(title: str, introduction: str, sections: Sequence[Rendered], by_reading: ByReading | None = None) -> str:
    """The whole page, of sections that are made already; claims by reading come first."""
    read = {(row.figure, row.text) for row in by_reading.rows} if by_reading else set()
    verdicts = [
        (section, each)
        for section, _ in sections
        for each in section.verdicts
        if (section.summary["figure"], each.text) not in read
    ]
    lead = [] if by_reading is None else [tag("h2", "Claims by reading"), tag("p", by_reading.words)]
    shown = [] if by_reading is None else map(sheet_table, matrix_sheets(by_reading.rows))
    overview = _overview(verdicts) if verdicts else ""
    head = [tag("h1", title), *lead, *shown, tag("p", introduction), overview]
    return page(title, [*head, *(html for _, html in sections)])


def _overview(verdicts: list[tuple[Section, Verdict]]) -> Markup:
    count = {name: sum(each.verdict == name for _, each in verdicts) for name in ("holds", "fails", "open")}
    rows = tuple(
        (tag("a", each.where, at={"href": f"#{section.summary['figure']}"}), each.text, _found(each))
        for section, each in verdicts
    )
    sheet = Sheet("Claims", "", ("where", "the paper says", "found"), rows, ())
    said = (
        f"{len(verdicts)} claims: {count['holds']} hold, {count['fails']} do not, "
        f"{count['open']} are inconclusive. A claim holds if every difference it depends on has the claimed sign by at "
        "least two standard errors, and fails if one has the opposite sign by two; equalities allow deviations that "
        "occur by chance in one of a hundred reports. The verdicts are computed from the numbers below."
    )
    return markup([tag("h2", sheet.title), tag("p", said), sheet_table(sheet)])


def _found(verdict: Verdict) -> Markup:
    return tag("b", verdict.words, at={"class": verdict.verdict})


def rendered(section: Section) -> Rendered:
    """Draw a section and render it."""
    summary = section.summary
    sheet = sheet_of(summary, section.about)
    shown = sheet_table(sheet)
    if ("rows" in summary or "matrix" in summary) and len(sheet.rows) > LONG:
        shown = tag("details", tag("summary", f"All {len(sheet.rows)} rows"), shown)
    html = tag(
        "section",
        tag("h2", summary["title"]),
        tag("p", summary["question"], at={"class": "question"}),
        _claims(section.verdicts),
        tag("p", "Which claim holds in which reading is shown at the top of this page.") if "matrix" in summary else "",
        _picture(summary),
        shown,
        _about(summary, section.about),
        at={"id": summary["figure"]},
    )
    return section, html


def _claims(verdicts: Sequence[Verdict]) -> Markup:
    items = [
        tag(
            "li",
            f"{each.where}: {each.text} ",
            _found(each),
            tag("div", "; ".join(map(evidence, each.measured)), at={"class": "soft"}),
            at={"class": f"box {each.verdict}"},
        )
        for each in verdicts
    ]
    return tag("ul", *items, at={"class": "boxes"}) if items else Markup()


def _picture(summary: Summary) -> Markup:
    drawn = base64.b64encode(page_svg(summary).encode()).decode()
    about = f"{summary['title']}: the numbers are in the table below"
    image = tag("img", at={"src": f"data:image/svg+xml;base64,{drawn}", "alt": about})
    return tag("div", image, at={"class": "scroll"})


def _about(summary: Summary, about: About) -> Markup:
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
    again = [" Again: ", tag("code", about["again"])] if about.get("again") else []
    return soft(" ".join(said), *again)

"""Text and tables that show names as data: nothing in a name is obeyed, by a terminal or by a browser."""

import re
from collections.abc import Iterable, Mapping, Sequence
from html import escape
from itertools import islice

UNSEEN = re.compile(
    "[\x00-\x1f\x7f-\x9f\u00ad\u061c\u180e\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb"
    "\ufffe\uffff\ud800-\udfff]"
)
"""Controls, marks of direction, spaces without width, what XML forbids, and halves of characters."""

MOST_ROWS = 20
"""Of a table in a notebook."""


def printable(text: str, keep: str = "") -> str:
    r"""Text in which control characters, lone surrogates and what turns the direction of writing are spelled out.

    >>> printable("a\x1b[31mb\n"), printable("one\ntwo", keep="\n")
    ('a\\x1b[31mb\\n', 'one\ntwo')
    """
    return UNSEEN.sub(lambda found: found[0] if found[0] in keep else _spelled(found[0]), text)


def _spelled(one: str) -> str:
    """As Python writes it; above ASCII as JSON does, too."""
    return f"\\u{ord(one):04x}" if ord(one) > 126 else one.encode("unicode_escape").decode()


def number(value: float | None, digits: int = 3) -> str:
    """A number to read; a dash where there is none."""
    if value is None:
        return "–"
    return (
        f"{value:,.0f}"
        if abs(value) >= 1000
        else f"{value:.{digits}g}"
        if abs(value) < 0.001
        else f"{value:.{digits}f}"
    )


def braces(variables: Iterable[str] | None) -> str:
    """A set as it is written; None stands for an arm's own rows."""
    return "own rows" if variables is None else "{" + ", ".join(variables) + "}"


def evidence_words(tests: Iterable[tuple[Iterable[str], float]], nats: Mapping[str, float], source: str) -> str:
    """What speaks for or against a set: p-values, or nats per lever, or else its source.

    >>> evidence_words([(["banner", "discount"], 0.25)], {}, "tested"), evidence_words([], {}, "told")
    ('banner, discount: p = 0.250', 'told')
    """
    shown = "; ".join(f"{', '.join(levers)}: p = {number(p_value)}" for levers, p_value in tests)
    sure = "; ".join(f"{name}: {number(value, 1)} nats" for name, value in nats.items())
    return shown or sure or source


def table(columns: Sequence[str], rows: Iterable[Sequence[str]], *, numeric: Iterable[int] = ()) -> str:
    """A table; cells are plain text."""
    right = set(numeric)

    def cells(values: Sequence[str], tag: str) -> str:
        kind = [' class="n"' if place in right else "" for place in range(len(values))]
        return "".join(f"<{tag}{k}>{escape(v)}</{tag}>" for k, v in zip(kind, values, strict=True))

    body = "".join(f"<tr>{cells(row, 'td')}</tr>" for row in rows)
    return (
        f'<div class="scroll"><table><thead><tr>{cells(columns, "th")}</tr></thead><tbody>{body}</tbody></table></div>'
    )


def titled_table(
    title: str, columns: Sequence[str], rows: Sequence[Sequence[str]], *, numeric: Iterable[int] = ()
) -> str:
    """What a notebook shows of an object: a line of text and the first rows of a table, both plain text.

    >>> titled_table("<b>", ["name"], [["a & b"]])
    '<p>&lt;b&gt;</p><div class="scroll"><table><thead><tr><th>name</th></tr></thead><tbody><tr><td>a &amp; b</td></tr></tbody></table></div>'
    """  # noqa: E501
    more = len(rows) - MOST_ROWS
    cut = f"<p>and {more:,} more rows</p>" if more > 0 else ""
    return printable(f"<p>{escape(title)}</p>{table(columns, list(islice(rows, MOST_ROWS)), numeric=numeric)}{cut}")

"""Text, tables and HTML that show names literally: neither a terminal nor a browser interprets them."""

import math
import re
from collections.abc import Iterable, Mapping, Sequence
from html import escape
from urllib.parse import quote

UNSEEN = re.compile(
    "[\x00-\x1f\x7f-\x9f\u00ad\u061c\u180e\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb"
    "\ufffe\uffff\ud800-\udfff]"
)
"""Controls, marks of direction, spaces without width, what XML forbids, and halves of characters."""

MOST_ROWS = 20
"""Of a table in a notebook."""
VOID = frozenset({"img", "link", "meta", "source"})
"""Elements that have no end."""


def printable(text: str, keep: str = "") -> str:
    r"""Text in which control characters, lone surrogates and what turns the direction of writing are spelled out.

    >>> printable("a\x1b[31mb\n"), printable("one\ntwo", keep="\n")
    ('a\\x1b[31mb\\n', 'one\ntwo')
    """
    return UNSEEN.sub(lambda found: found[0] if found[0] in keep else _spelled(found[0]), text)


def _spelled(one: str) -> str:
    """As Python writes it; above ASCII as JSON does, too."""
    return f"\\u{ord(one):04x}" if ord(one) > 126 else one.encode("unicode_escape").decode()


SMALLEST = 1e-6
"""A number closer to 0 than this is written in scientific notation."""


def number(value: float | None, digits: int = 3, beside: Iterable[float | None] = ()) -> str:
    """A number to read, with about three digits; a dash if there is none.

    Numbers that are shown together have the decimals of the largest: each is given the others as `beside`.

    >>> number(None), number(0.25), number(0.00001234), number(130.907), number(12345.6), number(3.2e-146)
    ('–', '0.250', '0.0000123', '131', '12,346', '<0.000001')
    >>> number(80.373, beside=[130.907, 204.508]), number(-0.0000453, beside=[-0.141, 0.143])
    ('80', '0')
    """
    if value is None or math.isnan(value):
        return "–"
    if not math.isfinite(value):
        return f"{value}"
    largest = max([abs(value), *(abs(each) for each in beside if each is not None and math.isfinite(each))])
    if 0 < largest < SMALLEST:
        return "0" if value == 0 else f"<{SMALLEST:f}" if value > 0 else f">-{SMALLEST:f}"
    shown = f"{value:,.{decimals_for(largest, digits)}f}"
    if not any(digit in shown for digit in "123456789"):
        return "0"
    return shown.rstrip("0") if largest < 0.001 else shown


def decimals_for(largest: float, digits: int = 3) -> int:
    """The decimals with which the largest of some numbers has this many digits; between 0.001 and 1, as many decimals.

    >>> decimals_for(0.25), decimals_for(13.1), decimals_for(1310.0)
    (3, 1, 0)
    """
    size = math.floor(math.log10(largest)) if largest else 0
    return digits if 0.001 <= largest <= 1 else max(digits - 1 - size, 0)


def between(low: float | None, high: float | None, beside: float | None = None) -> str:
    """Both ends of an interval, of the number `beside` it; an end that is nothing beside the other reads 0.

    >>> between(0.02, 0.4), between(1.5e-56, 0.13), between(80.373, 204.508, 130.907), between(None, None)
    ('0.020 – 0.400', '0 – 0.130', '80 – 205', '–')
    """
    ends = (low, high, beside)
    if all(end is None or math.isnan(end) for end in (low, high)):
        return "–"
    return f"{number(low, beside=ends)} – {number(high, beside=ends)}"


def signed(value: float | None, beside: Iterable[float | None] = ()) -> str:
    """A difference to read, with its sign.

    >>> signed(0.25), signed(-0.25), signed(0.0), signed(None)
    ('+0.250', '-0.250', '0', '–')
    """
    shown = number(value, beside=beside)
    return f"+{shown}" if value is not None and value >= SMALLEST and shown != "0" else shown


def counted(count: int, noun: str) -> str:
    """A number of things.

    >>> counted(1, "row"), counted(1200, "decision")
    ('1 row', '1,200 decisions')
    """
    return f"{count:,} {noun}{'' if count == 1 else 's'}"


def chance_words(probability: float | None) -> str:
    """A probability from draws; never certain, and a dash if it is not known.

    >>> chance_words(0.624), chance_words(1.0), chance_words(0.0), chance_words(None)
    ('62%', 'over 99%', 'under 1%', '–')
    """
    if probability is None or math.isnan(probability):
        return "–"
    if probability >= 0.995:
        return "over 99%"
    return "under 1%" if probability < 0.005 else f"{100 * probability:.0f}%"


def loss_words(loss: float | None) -> str:
    """An expected loss; one digit is enough for a loss that is nearly nothing.

    >>> loss_words(0.0143), loss_words(0.000957), loss_words(0.0)
    ('0.014', '0.001', '0')
    """
    return number(loss, 1 if loss is not None and abs(loss) < 0.001 else 3)


def braces(variables: Iterable[str] | None) -> str:
    """A set in braces; None is an arm that uses no set."""
    return "no set" if variables is None else "{" + ", ".join(variables) + "}"


def through_words(variables: Iterable[str] | None, share: float) -> str:
    """The set through which an arm was estimated, with its weight if there are several.

    >>> through_words(["cart"], 1.0), through_words(["cart"], 0.31), through_words(None, 1.0)
    ('{cart}', '{cart} (31%)', 'no set')
    """
    return braces(variables) + ("" if share > 0.995 else f" ({weight_words(share)})")


def text_table(columns: Sequence[str], rows: Sequence[Sequence[str]], numeric: Iterable[int]) -> str:
    """A table for a terminal, whose names are data; numbers are flush right, and only the first rows are shown.

    >>> print(text_table(("arm", "rows"), [("banner=red", "7"), ("banner=none", "12")], numeric=[1]))
    arm          rows
    banner=red      7
    banner=none    12
    """
    right = set(numeric)
    lines = [[printable(cell) for cell in line] for line in (columns, *rows[:MOST_ROWS])]
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    padded = (
        [
            cell.rjust(wide) if place in right else cell.ljust(wide)
            for place, (cell, wide) in enumerate(zip(line, widths, strict=True))
        ]
        for line in lines
    )
    more = [f"and {len(rows) - MOST_ROWS:,} more; to_frame() has all"] if len(rows) > MOST_ROWS else []
    return "\n".join([*("  ".join(line).rstrip() for line in padded), *more])


def weight_words(weight: float) -> str:
    """How much of the arms' estimates comes through a set.

    >>> weight_words(0.31), weight_words(0.001), weight_words(0.0)
    ('31%', 'under 1%', '0%')
    """
    return "under 1%" if 0 < weight < 0.005 else f"{100 * weight:.0f}%"


class Markup(str):
    """Text that is HTML already."""

    __slots__ = ()

    def __html__(self) -> str:
        """What templates insert without escaping."""
        return self


def markup(parts: Iterable[str]) -> Markup:
    """Concatenated parts; everything that is not HTML yet is escaped, here and nowhere else."""
    return Markup("".join(part if isinstance(part, Markup) else escape(part) for part in parts))


def breaks(text: object) -> Markup:
    """A name in which a line may end after an underscore, and after the equals sign of a long name.

    >>> breaks("free_shipping=<yes>, device=mobile")
    'free_<wbr>shipping=<wbr>&lt;yes&gt;, device=mobile'
    """
    return Markup(re.sub(r"(?<=_)(?!_)|(?<=\w{12}=)", "<wbr>", markup([str(text)])))


def tag(name: str, *parts: str, at: Mapping[str, str] | None = None) -> Markup:
    """An element with its attributes.

    >>> tag("p", "1 < 2, ", tag("b", "so"), at={"class": "soft"})
    '<p class="soft">1 &lt; 2, <b>so</b></p>'
    """
    attributes = "".join(f' {key}="{escape(value)}"' for key, value in (at or {}).items())
    return Markup(f"<{name}{attributes}>" + ("" if name in VOID else f"{markup(parts)}</{name}>"))


def table(columns: Sequence[str], rows: Iterable[Sequence[str]], *, numeric: Iterable[int] = ()) -> Markup:
    """A table, which scrolls sideways where the screen is narrow; cells are plain text unless they are `Markup`."""
    right = set(numeric)
    body = [_row("td", cells, right) for cells in rows]
    shown = tag("table", tag("thead", _row("th", columns, right)), tag("tbody", *body))
    return tag("div", shown, at={"class": "scroll"})


def _row(name: str, cells: Iterable[str], right: set[int]) -> Markup:
    return tag("tr", *(tag(name, cell, at={"class": "n"} if n in right else None) for n, cell in enumerate(cells)))


def titled_table(
    title: str, columns: Sequence[str], rows: Sequence[Sequence[str]], *, numeric: Iterable[int] = ()
) -> str:
    """What a notebook shows of an object: lines of text and the first rows of a table, both plain text.

    >>> titled_table("<b>", ["name"], [["a & b"]])
    '<p>&lt;b&gt;</p><div class="scroll"><table><thead><tr><th>name</th></tr></thead><tbody><tr><td>a &amp; b</td></tr></tbody></table></div>'
    """  # noqa: E501
    more = len(rows) - MOST_ROWS
    cut = tag("p", f"and {more:,} more rows") if more > 0 else ""
    lines = [tag("p", line) for line in title.splitlines()]
    return printable(markup([*lines, table(columns, rows[:MOST_ROWS], numeric=numeric), cut]))


def in_path(name: str) -> str:
    """A name as one part of a URL.

    >>> in_path("../x")
    '..%2Fx'
    """
    return quote(name, safe="", errors="replace")

"""Names that fit in a figure, shown literally."""

import textwrap
from unicodedata import east_asian_width

from ..core.markup import printable

WIDEST, LINES = 36, 3
"""Letters in a line, and lines, of a name that is wrapped."""


def short(name: object, most: int = 90) -> str:
    """A name to show literally, on a page or in a figure.

    >>> short("a" * 100, 9), short("two\\nlines")
    ('aaaa…aaaa', 'two\\\\nlines')
    """
    text = printable(str(name))
    if len(text) > 2 * most:  # its middle is left out anyway
        text = text[:most] + text[-most:]
    return shortened(text, most)


def wrapped(text: str, widest: int = WIDEST) -> str:
    """A name over several lines, never cut within a word.

    >>> wrapped("banner=red, discount=10%, headline=Try it now").splitlines()
    ['banner=red, discount=10%,', 'headline=Try it now']
    """
    lines = textwrap.wrap(printable(text), widest, break_on_hyphens=False) or [""]
    return "\n".join(lines if len(lines) <= LINES else [*lines[: LINES - 1], f"{lines[LINES - 1]} …"])


def _size(name: str) -> int:
    """The width of a text in letters; those of East Asia take two."""
    return sum(2 if east_asian_width(letter) in "WF" else 1 for letter in name)


def shortened(name: str, most: int) -> str:
    """A name at most `most` letters wide, with its middle left out, since arms differ at either end. It is cut between
    words, unless its first or last word is too long for its half.

    >>> shortened("do(banner=red, discount=10%)", 20)
    'do(banner=…=10%)'
    """
    if _size(name) <= most:
        return name
    start, end = len(name) // 2, len(name) - len(name) // 2
    while start and _size(name[:start]) > most // 2:
        start -= 1
    while end < len(name) and _size(name[end:]) > most - most // 2 - 1:
        end += 1
    first, last = start, end
    while first and name[first - 1 : first + 1].isalnum():
        first -= 1
    while last < len(name) and name[last - 1 : last + 1].isalnum():
        last += 1
    return f"{name[: first or start]}…{name[last if last < len(name) else end :]}"

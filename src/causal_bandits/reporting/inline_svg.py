"""Names that have room in a drawing."""

from unicodedata import east_asian_width

Interval = tuple[float, float, float]
"""Mean, low, high."""


def _size(name: str) -> int:
    """The width of a text in letters; those of East Asia take two."""
    return sum(2 if east_asian_width(letter) in "WF" else 1 for letter in name)


def shortened(name: str, most: int) -> str:
    """A name that is no wider than so many letters, its middle left out: arms differ at either end.

    It is cut between words; only a name whose first or last word is too long for its half is cut within.

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

"""Names are data: whatever they hold, they are shown as they are, and nothing in them is obeyed."""

import re

UNSEEN = re.compile(
    "[\x00-\x1f\x7f-\x9f\u00ad\u061c\u180e\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb"
    "\ufffe\uffff\ud800-\udfff]"
)
"""Controls, marks of direction, spaces without width, what XML forbids, and halves of characters."""


def printable(text: str, keep: str = "") -> str:
    r"""Text in which control characters, lone surrogates and what turns the direction of writing are spelled out.

    >>> printable("a\x1b[31mb\n"), printable("one\ntwo", keep="\n")
    ('a\\x1b[31mb\\n', 'one\ntwo')
    """
    return UNSEEN.sub(lambda found: found[0] if found[0] in keep else _spelled(found[0]), text)


def _spelled(one: str) -> str:
    """As Python writes it; above ASCII as JSON does, too."""
    return f"\\u{ord(one):04x}" if ord(one) > 126 else one.encode("unicode_escape").decode()


def label(text: str, most: int) -> str:
    """Printable text for a drawing, cut where there is no room for more.

    >>> label("a very long name", 8)
    'a very …'
    """
    shown = printable(text)
    return shown if len(shown) <= most else shown[: most - 1] + "…"

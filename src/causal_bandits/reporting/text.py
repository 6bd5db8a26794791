"""Names are data: whatever they hold, they are shown as they are, and nothing in them is obeyed."""

from ..markup import printable


def label(text: str, most: int) -> str:
    """Printable text for a drawing, cut where there is no room for more.

    >>> label("a very long name", 8)
    'a very …'
    """
    shown = printable(text)
    return shown if len(shown) <= most else shown[: most - 1] + "…"

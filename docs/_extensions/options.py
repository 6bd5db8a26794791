"""Tables of options from their models, in place of `<!-- options of a study -->` and `<!-- options of a server -->`."""

from html import escape
from typing import Any

from causal_bandits.cli.root import default_words, flag_of
from causal_bandits.product.options import StudyOptions, options_of
from causal_bandits.product.service.settings import ServerOptions

Row = tuple[str, ...]


def on_page_markdown(markdown: str, **_: Any) -> str:
    """Write the tables of a page out."""
    for mark, table in (("study", study_table), ("server", server_table)):
        place = f"<!-- options of a {mark} -->"
        if place in markdown:
            markdown = markdown.replace(place, table())
    return markdown


def study_table() -> str:
    """Options of a study."""
    rows = [
        (_code(name), _code(f"{flag_of(name, each)} {each.kind.metavar}"), each.help)
        for name, each in options_of(StudyOptions).items()
    ]
    return _table(("Python and HTTP", "command line", "meaning"), rows)


def server_table() -> str:
    """Options of a server."""
    rows = [
        (
            _code(name),
            _code(flag_of(name, each)),
            each.help + default_words(ServerOptions, name),
        )
        for name, each in options_of(ServerOptions).items()
    ]
    return _table(("in the file", "flag", "meaning"), rows)


def _table(head: Row, rows: list[Row]) -> str:
    lines = (head, ("---",) * len(head), *rows)
    return "\n".join("| " + " | ".join(cell.replace("|", "\\|") for cell in line) + " |" for line in lines)


def _code(text: str) -> str:
    """Code in a table: a `|` between backticks would end the cell, and its escape would be shown."""
    return f"<code>{escape(text).replace('|', '&#124;')}</code>" if "|" in text else f"`{text}`"

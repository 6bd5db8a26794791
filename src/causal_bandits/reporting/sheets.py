"""Tables in words: one builder makes a sheet, `html.sheet_table` and `terminal.terminal_table` show it."""

from typing import NamedTuple


class Sheet(NamedTuple):
    """A table in words."""

    title: str
    caption: str
    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    numbers: tuple[int, ...]
    """The columns that hold numbers."""
    grouped: bool = False
    """Rows with the same first cell belong together."""
    kept_in: str = ""
    """Where all rows are, so that a terminal may show the first ones alone; empty: it shows all."""


def columns_from(first: int, columns: tuple[str, ...]) -> tuple[int, ...]:
    """All columns from one on."""
    return tuple(range(first, len(columns)))

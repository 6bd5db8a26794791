"""Tables in words: one builder makes a sheet, `html.table` and `terminal.terminal_table` show it."""

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


def number(value: float | None, digits: int = 3) -> str:
    """A number to read; a dash where there is none.

    >>> number(None), number(0.25), number(0.00001234), number(12345.6)
    ('–', '0.250', '1.23e-05', '12,346')
    """
    if value is None:
        return "–"
    if abs(value) >= 1000:
        return f"{value:,.0f}"
    return f"{value:.{digits}g}" if abs(value) < 0.001 else f"{value:.{digits}f}"


def braces(variables: list[str] | None) -> str:
    """A set as it is written."""
    return "own rows" if variables is None else "{" + ", ".join(variables) + "}"

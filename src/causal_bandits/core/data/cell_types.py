"""Types of text columns: whole numbers, numbers (with decimal points or commas), true and false, or text.

An empty cell is missing. A word such as NA is missing in a column whose other cells are all numbers (or all true and
false), and an ordinary value elsewhere: a level may be called None.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import Literal, NamedTuple

from ...libraries import pl

NOT_NUMBERS = ("NaN", "nan", "NAN")
MISSING_WORDS = (*NOT_NUMBERS, "NA", "na", "N/A", "n/a", "#N/A", "null", "Null", "NULL", "none", "None", "NONE")
"""What programs write for a missing number."""

PLAIN = r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?"
DECIMAL_COMMA = r"[+-]?(\d{1,3}(\.\d{3})+|\d+)(,\d+)?([eE][+-]?\d+)?"
THOUSANDS_COMMA = r"[+-]?(\d{1,3}(,\d{3})+|\d+)(\.\d*)?"
LONG = r"^[+-]?\d{19,}$"
"""A whole number of this many digits is an identifier; as a float it would lose digits."""
CODE = r"^[+-]?0\d"
"""A number that is written with a leading zero is a code: 007 and 07 are different ones."""
POINTS_OR_THOUSANDS = r"^[+-]?[1-9]\d{0,2}(\.\d{3})$"
FEW_LEVELS = 100
"""Text columns with more distinct values are not checked for variants of spelling."""
Commas = Literal["decimal", "thousands"]
"""What the commas in numbers are."""


class Typed(NamedTuple):
    """A typed column; how many cells a word made missing; what its commas mean, if it has any."""

    column: pl.Series
    by_word: int = 0
    commas: Commas | None = None


def typed(column: pl.Series, *, is_name: bool = False, either: Commas = "decimal") -> Typed:
    """Convert a text column to its type.

    Args:
        column: Text.
        is_name: Whether a word such as None is a value, also among numbers (NaN never is).
        either: What commas are if both readings fit every cell, such as 1,234.

    >>> typed(pl.Series(["1", "NA", None])).column.to_list(), typed(pl.Series(["1,5", "12"])).column.to_list()
    ([1, None, None], [1.5, 12.0])
    """
    bare = column.str.strip_chars().replace("", None)
    cells = bare.set(bare.is_in(NOT_NUMBERS if is_name else MISSING_WORDS), None)
    if cells.null_count() == len(cells):
        return Typed(column)
    found, commas = _numbers(cells), None
    if found is None:
        commas = _commas(cells, either)
        found = None if commas is None else _numbers(without_commas(cells, commas))
    if found is None:
        return Typed(bare)
    return Typed(found, cells.null_count() - bare.null_count(), commas)


def _numbers(cells: pl.Series) -> pl.Series | None:
    """The cells as numbers or as true and false; None if one of them is neither."""
    for kind in (pl.Int64, pl.Float64):
        found = cells.cast(kind, strict=False)
        if found.null_count() == cells.null_count():
            return found if not cells.str.contains(CODE if kind == pl.Int64 else LONG).any() else None
    words = cells.str.to_lowercase()
    return words == "true" if words.drop_nulls().is_in(["true", "false"]).all() else None


def _commas(cells: pl.Series, either: Commas) -> Commas | None:
    """What the commas of a column are; None if it is not of numbers with commas."""
    seen = cells.drop_nulls()
    if not seen.str.contains(",", literal=True).any():
        return None
    decimal = bool(seen.str.contains(f"^(?:{DECIMAL_COMMA})$").all())
    thousands = bool(seen.str.contains(f"^(?:{THOUSANDS_COMMA})$").all())
    if decimal and thousands:
        return either
    return "decimal" if decimal else "thousands" if thousands else None


def without_commas(cells: pl.Series, commas: Commas) -> pl.Series:
    """Numbers as programs write them."""
    if commas == "thousands":
        return cells.str.replace_all(",", "", literal=True)
    return cells.str.replace_all(".", "", literal=True).str.replace(",", ".", literal=True)


class TypedTable(NamedTuple):
    """Converted columns, the cells that words made missing by column, and what was detected, in words."""

    table: pl.DataFrame
    by_word: dict[str, int]
    notes: tuple[str, ...]


def typed_table(
    table: pl.DataFrame, *, names: Collection[str] = (), texts: Collection[str] = (), semicolons: bool = False
) -> TypedTable:
    """Convert every text column to the type it holds, except the columns `texts`; in `names` a word is a value.

    If a comma may be a decimal sign or separate thousands, other columns decide; otherwise it is a decimal sign in a
    table separated by semicolons.
    """
    found = {
        column.name: typed(column, is_name=column.name in names, either="decimal" if semicolons else "thousands")
        for column in table
        if column.dtype == pl.String and column.name not in texts
    }
    points = any(each.commas is None and each.column.dtype == pl.Float64 for each in found.values())
    clear = {name: typed(table[name], either=_other(each.commas)).commas for name, each in found.items() if each.commas}
    sure = {commas for name, commas in clear.items() if commas == found[name].commas}
    either: Commas = "decimal" if "decimal" in sure else "thousands" if sure or points else _default(semicolons)
    notes = []
    for name, each in found.items():
        if each.commas is not None:
            found[name] = typed(table[name], is_name=name in names, either=either)
            notes.append(_said(name, table[name], found[name]))
        else:
            notes += _doubts(name, table[name], each.column, semicolons)
    return TypedTable(
        table.with_columns(each.column.alias(name) for name, each in found.items()),
        {name: each.by_word for name, each in found.items() if each.by_word},
        tuple(notes),
    )


def _default(semicolons: bool) -> Commas:
    return "decimal" if semicolons else "thousands"


def _other(commas: Commas | None) -> Commas:
    return "thousands" if commas == "decimal" else "decimal"


def _said(name: str, text: pl.Series, found: Typed) -> str:
    first = int(text.str.contains(",", literal=True).fill_null(value=False).arg_max() or 0)
    what = "a decimal sign" if found.commas == "decimal" else "between thousands"
    return f"{name}: the comma is {what}, so {str(text[first]).strip()} is {found.column[first]:g}"


def _doubts(name: str, text: pl.Series, column: pl.Series, semicolons: bool) -> list[str]:
    """Possible misreadings, in words."""
    seen = text.drop_nulls().str.strip_chars()
    if semicolons and column.dtype == pl.Float64 and seen.str.contains(POINTS_OR_THOUSANDS).all():
        other = str(seen[0]).replace(".", "")
        return [f"{name}: the point is a decimal sign; if {seen[0]} is meant to be {other}, remove it"]
    if column.dtype != pl.String:
        return []
    levels = seen.unique(maintain_order=True).to_list()
    if len(levels) > FEW_LEVELS:
        return []
    spellings: dict[str, list[str]] = {}
    for level in levels:
        spellings.setdefault(level.lower(), []).append(level)
    return [f"{name}: {each[0]!r} and {each[1]!r} differ only in case" for each in spellings.values() if len(each) > 1]

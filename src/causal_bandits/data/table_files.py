"""Tables in files: CSV, TSV and Parquet.

An empty cell is missing. A word such as NA is missing in a column whose other cells are all numbers (or all true and
false), and an ordinary value elsewhere: a level may be called None.
"""

import csv
import os
import re
from collections.abc import Collection, Iterable
from pathlib import Path
from typing import NamedTuple

import polars as pl

from ..errors import TableFileError, brief, listing
from ..problem import Problem

NOT_NUMBERS = ("NaN", "nan", "NAN")
MISSING_WORDS = (*NOT_NUMBERS, "NA", "na", "N/A", "n/a", "#N/A", "null", "Null", "NULL", "none", "None", "NONE")
"""What programs write for a missing number."""


class TableFile(NamedTuple):
    """A table as it was read, and for each column how many cells were taken for missing because of a word."""

    table: pl.DataFrame
    by_word: dict[str, int]


class OddCell(NamedTuple):
    """Text among numbers: the first such cell and its row (the first is row 1), and how often there is which."""

    row: int
    text: str
    texts: int
    numbers: int


def read_table(
    path: str | os.PathLike[str],
    *,
    needed: Iterable[str] = (),
    names: Collection[str] = (),
    numbers: Collection[str] = (),
) -> TableFile:
    """The table in a file, with the columns that are needed and at least one row.

    In the columns `names` a word such as None is a value, also among numbers. The columns `numbers` must hold numbers.
    """
    file = Path(path)
    shown = brief(str(file))
    if not is_regular(file):
        raise TableFileError(f"there is no file {shown}")
    try:
        found = _read(file, shown, names)
    except (pl.exceptions.PolarsError, csv.Error, OSError, ValueError, UnicodeError) as error:
        reason = (" ".join(str(error).split()) or type(error).__name__)[:160]
        raise TableFileError(f"{shown} cannot be read as a table: {reason}") from None
    for name in needed:
        if name not in found.table.columns:
            raise TableFileError(f"{shown} has no column {name!r}; it has {listing(found.table.columns)}")
    if not found.table.height:
        raise TableFileError(f"{shown} has no rows")
    for name in numbers:
        odd = odd_cell(found.table[name]) if name in found.table.columns else None
        if odd is not None:
            raise TableFileError(f"{shown}, row {odd.row}: {name!r} is {odd.text!r}; expected a number")
    return found


def is_regular(file: Path) -> bool:
    """Whether this is a file, or a link to one; False for a name that no file can have."""
    try:
        return file.is_file()
    except (OSError, ValueError):
        return False


def read_rows(problem: Problem, path: str | os.PathLike[str], *, needed: Iterable[str] = ()) -> pl.DataFrame:
    """A table of rows of a problem, which says what must be a number and where a word such as NA is a level."""
    numbers = [variable.name for variable in problem.observed if variable.is_number]
    named = [variable.name for variable in problem.observed if not set(MISSING_WORDS).isdisjoint(variable.levels)]
    return read_table(
        path, needed=needed, names=[*problem.intervention_names, *named], numbers=["id", problem.target, *numbers]
    ).table


def odd_cell(column: pl.Series) -> OddCell | None:
    """Text in a column where other cells are numbers; None where there is no such cell."""
    if column.dtype != pl.String:
        return None
    is_number = column.cast(pl.Float64, strict=False).is_not_null() | column.is_in(("true", "false"))
    is_odd = column.is_not_null() & ~is_number
    if not is_odd.any() or not is_number.any():
        return None
    worse = is_odd & ~column.is_in(MISSING_WORDS)
    row = int((worse if worse.any() else is_odd).arg_max() or 0)
    return OddCell(row + 1, str(column[row]), int(is_odd.sum()), int(is_number.sum()))


def plain_types(table: pl.DataFrame) -> pl.DataFrame:
    """The same table with decimals as floats and categories as text."""
    return table.with_columns(
        pl.col(pl.Decimal).cast(pl.Float64), pl.col(pl.Categorical, pl.Enum).cast(pl.String)
    ).with_columns(pl.col(pl.Float32, pl.Float64).fill_nan(None))


def _read(file: Path, shown: str, names: Collection[str]) -> TableFile:
    ending = file.suffix.lower()
    if ending in (".parquet", ".pq"):
        return TableFile(plain_types(pl.read_parquet(file)), {})
    if ending not in (".csv", ".tsv", ".txt"):
        raise TableFileError(f"{shown} ends in {ending!r}; expected .csv, .tsv or .parquet")
    with file.open(encoding="utf-8-sig", newline="") as stream:
        first = stream.readline()
        separator = "\t" if ending == ".tsv" or ("\t" in first and "," not in first) else ","
        stream.seek(0)
        header = [name.strip() for name in next(csv.reader(stream, delimiter=separator), [])]
    twice = next((name for place, name in enumerate(header) if name in header[:place]), None)
    if twice is not None:
        raise TableFileError(f"{shown} names the column {brief(twice)} twice; rename one")
    return _read_text(file, separator, names)


def _read_text(file: Path, separator: str, names: Collection[str]) -> TableFile:
    """Read every cell as it stands; then again without the words, for the columns that are numbers but for them."""
    plain = _cells(file, separator, ())
    table = plain
    text = [name for name, kind in plain.schema.items() if kind == pl.String]
    for words, columns in (
        (MISSING_WORDS, [name for name in text if name not in names]),
        (NOT_NUMBERS, [name for name in text if name in names]),
    ):
        if columns:
            without = _cells(file, separator, words, columns)
            table = table.with_columns(column for column in without if column.dtype != pl.String)
    table = plain_types(table)
    by_word = {column.name: table[column.name].null_count() - column.null_count() for column in plain}
    return TableFile(table, {name: count for name, count in by_word.items() if count})


def _cells(file: Path, separator: str, words: Iterable[str], columns: list[str] | None = None) -> pl.DataFrame:
    return pl.read_csv(
        file, separator=separator, columns=columns, infer_schema_length=None, null_values=["", *words], encoding="utf8"
    )


def output_ending(path: Path) -> str:
    """The ending of a table's file, one of those that can be written."""
    ending = path.suffix.lower()
    if ending not in (".csv", ".tsv", ".txt", ".parquet", ".pq"):
        raise TableFileError(f"{brief(str(path))} ends in {ending!r}; a table is written to .csv, .tsv or .parquet")
    return ending


def write_table(table: pl.DataFrame, path: Path, *, safe: bool = False) -> None:
    """Write a table by the ending of its name; `safe` for a CSV file that somebody opens in a spreadsheet."""
    ending = output_ending(path)
    if ending in (".parquet", ".pq"):
        table.write_parquet(path)
    else:
        (neutral(table) if safe else table).write_csv(path, separator="\t" if ending == ".tsv" else ",")


FORMULA = r"^[=+\-@\t\r\n＝＋－＠]"
"""How a cell begins that a spreadsheet would take for a formula."""


def neutral(table: pl.DataFrame) -> pl.DataFrame:
    """The same table with a quote before every text, and every name of a column, that would be a formula.

    >>> neutral(pl.DataFrame({"=a": ["=1+1", "b", None], "c": [-1, 2, 3]})).rows()
    [("'=1+1", -1), ('b', 2), (None, 3)]
    """
    quoted = pl.when(pl.col(pl.String).str.contains(FORMULA)).then("'" + pl.col(pl.String)).otherwise(pl.col(pl.String))
    names = {name: f"'{name}" for name in table.columns if re.match(FORMULA, name)}
    return table.with_columns(quoted.name.keep()).rename(names)

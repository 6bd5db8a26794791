"""Tables in files: CSV and its relatives, Parquet, workbooks.

Encoding, separator, compression and the type of each column are detected (`text_files`, `cell_types`).
"""

from __future__ import annotations

import importlib.util
import os
import re
from collections.abc import Collection, Iterable
from pathlib import Path
from typing import NamedTuple

from ...errors import TableFileError, brief, listing, missing_extra
from ...libraries import pl
from ..problem import Problem
from .cell_types import MISSING_WORDS, typed_table
from .child_reader import read_in_child
from .text_files import MOST_BYTES, MOST_CELLS, TextFile, ragged_rows, read_text

TEXT = (".csv", ".tsv", ".txt", ".tab", ".psv")
PARQUET = (".parquet", ".pq")
WORKBOOK = (".xlsx", ".xlsm")
MOST_CELL_BYTES = 2**20
"""Bytes of the longest cell of text."""


class TableFile(NamedTuple):
    """A table as it was read; for each column how many cells a word made missing; what was detected, in words."""

    table: pl.DataFrame
    by_word: dict[str, int]
    notes: tuple[str, ...] = ()


class OddCell(NamedTuple):
    """Text among numbers: the first such cell and its row (the first is row 1), and how many there are of each."""

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
    texts: Collection[str] = (),
) -> TableFile:
    """The table in a file, with the columns that are needed and at least one row.

    In the columns `names` a word such as None is a value, also among numbers. The columns `numbers` must hold numbers,
    and the columns `texts` stay text.
    """
    file = Path(path)
    shown = brief(str(file))
    if not is_regular(file):
        raise TableFileError(f"there is no file {shown}")
    try:
        found = _read(file, shown, names, texts)
    except TableFileError as error:
        raise TableFileError(f"{shown} cannot be read as a table: {error}") from None
    except (pl.exceptions.PolarsError, OSError, ValueError) as error:
        reason = (" ".join(str(error).split()) or type(error).__name__)[:160]
        raise TableFileError(f"{shown} cannot be read as a table: {reason}") from None
    for name in needed:
        if name not in found.table.columns:
            raise TableFileError(f"{shown} has no column {brief(name)}; it has {listing(found.table.columns)}")
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
    discrete = [variable for variable in (*problem.interventions, *problem.observed) if not variable.is_number]
    texts = [each.name for each in discrete if all(isinstance(level, str) for level in each.levels)]
    names = [*problem.intervention_names, *named]
    return read_table(
        path, needed=needed, names=names, numbers=["id", problem.target, *numbers], texts=["key", *texts]
    ).table


def odd_cell(column: pl.Series) -> OddCell | None:
    """Text in a column where other cells are numbers; None if there is no such cell."""
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


def _read(file: Path, shown: str, names: Collection[str], texts: Collection[str]) -> TableFile:
    ending = (file.with_suffix("") if file.suffix.lower() == ".gz" else file).suffix.lower()
    if ending in PARQUET and ending == file.suffix.lower():
        return TableFile(plain_types(read_in_child("parquet", file, MOST_BYTES, MOST_CELLS).table), {})
    if ending in WORKBOOK and ending == file.suffix.lower():
        cells, notes, semicolons = *_workbook(file), False
    elif ending in TEXT:
        cells, notes, semicolons = _text(file, ending)
    else:
        raise TableFileError(f"it ends in {file.suffix!r}; expected .csv, .tsv or .parquet (also .xlsx, .txt, .csv.gz)")
    found = typed_table(cells, names=names, texts=texts, semicolons=semicolons)
    return TableFile(plain_types(found.table), found.by_word, (*notes, *found.notes))


def _text(file: Path, ending: str) -> tuple[pl.DataFrame, tuple[str, ...], bool]:
    """Every cell as text; what was detected; whether semicolons separate."""
    found = read_text(file, ending)
    twice = next((name for index, name in enumerate(found.header) if name and name in found.header[:index]), None)
    if twice is not None:
        raise TableFileError(f"it names the column {brief(twice)} twice; rename one")
    names = [name or f"column {index}" for index, name in enumerate(found.header, 1)]
    try:
        cells = pl.read_csv(found.content, separator=found.separator, infer_schema=False, null_values=[""])
    except pl.exceptions.NoDataError:
        raise TableFileError("it is empty; expected a line with the names of the columns") from None
    except (pl.exceptions.PolarsError, pl.exceptions.PanicException):
        raise _why_not_read(found) from None
    if cells.width != len(names):
        raise TableFileError("its first line cannot be read as names of columns; check its quotes")
    cells.columns = names
    _check_lengths(cells)
    notes = found.notes
    if cells.height and cells.to_series(-1).null_count():
        _, fewer = ragged_rows(found)
        if fewer is not None:
            rows = f"{fewer.rows:,} rows have" if fewer.rows > 1 else "1 row has"
            first = f"line {fewer.line} has {fewer.cells} of {len(names)}"
            notes = (*notes, f"{rows} fewer cells than the header ({first}); the others are treated as empty")
    return cells, notes, found.separator == ";"


def _why_not_read(found: TextFile) -> TableFileError:
    more, _ = ragged_rows(found)
    if more is None:
        more, _ = ragged_rows(found, strict=True)
    if more is None:
        return TableFileError("its quotes do not match; close each, and write a quote within a cell twice")
    return TableFileError(f"line {more.line} has {more.cells} cells; expected {len(found.header)}, as in the header")


def _check_lengths(cells: pl.DataFrame) -> None:
    for column in cells:
        is_long = column.str.len_bytes() > MOST_CELL_BYTES
        if is_long.any():
            row = int(is_long.arg_max() or 0) + 1
            raise TableFileError(f"row {row:,}: the cell in {brief(column.name)} is longer than 1 MB; shorten it")


def _workbook(file: Path) -> tuple[pl.DataFrame, tuple[str, ...]]:
    """The first sheet of a workbook, and a note about it."""
    if importlib.util.find_spec("fastexcel") is None:
        raise missing_extra("fastexcel, which reads .xlsx files,", "xlsx")
    table, sheet, others = read_in_child("workbook", file, MOST_BYTES, MOST_CELLS)
    # A workbook has one type of number: whole ones are read as integers.
    whole = [each for each in table if each.dtype.is_float() and (each % 1 == 0).all() and (each.abs() < 2**53).all()]
    table = table.with_columns(each.cast(pl.Int64) for each in whole)
    return table, (f"the first sheet, {sheet!r}, is read, and not the other {others}",) if others else ()


def output_ending(path: Path) -> str:
    """The ending of a table's file, one of those that can be written."""
    ending = path.suffix.lower()
    if ending not in (".csv", ".tsv", ".txt", ".parquet", ".pq"):
        raise TableFileError(f"{brief(str(path))} ends in {ending!r}; a table is written to .csv, .tsv or .parquet")
    return ending


def write_table(table: pl.DataFrame, path: Path, *, safe: bool = False) -> None:
    """Write a table by the ending of its name; `safe` for a CSV file that may be opened in a spreadsheet."""
    ending = output_ending(path)
    if ending in (".parquet", ".pq"):
        table.write_parquet(path)
    else:
        (neutral(table) if safe else table).write_csv(path, separator="\t" if ending == ".tsv" else ",")


FORMULA = r"^[=+\-@\t\r\n＝＋－＠]"
"""First characters of cells that a spreadsheet would treat as formulas."""


def neutral(table: pl.DataFrame) -> pl.DataFrame:
    """The same table with a quote before every text, and every name of a column, that would be a formula.

    >>> neutral(pl.DataFrame({"=a": ["=1+1", "b", None], "c": [-1, 2, 3]})).rows()
    [("'=1+1", -1), ('b', 2), (None, 3)]
    """
    quoted = pl.when(pl.col(pl.String).str.contains(FORMULA)).then("'" + pl.col(pl.String)).otherwise(pl.col(pl.String))
    names = {name: f"'{name}" for name in table.columns if re.match(FORMULA, name)}
    return table.with_columns(quoted.name.keep()).rename(names)

"""Tables in files: CSV, TSV and Parquet."""

import os
from collections.abc import Iterable
from pathlib import Path

import polars as pl

from ..errors import TableFileError, listing

MISSING_WORDS = ["", "NA", "N/A", "NaN", "nan", "null", "None"]


def read_table(path: str | os.PathLike[str], *, needed: Iterable[str] = ()) -> pl.DataFrame:
    """The table in a file, with the columns that are needed and at least one row."""
    file = Path(path)
    shown = repr(str(file))
    if not file.exists():
        raise TableFileError(f"there is no file {shown}")
    try:
        table = _read(file, shown)
    except (pl.exceptions.PolarsError, OSError, ValueError, UnicodeError) as error:
        reason = (" ".join(str(error).split()) or type(error).__name__)[:160]
        raise TableFileError(f"{shown} cannot be read as a table: {reason}") from None
    for name in needed:
        if name not in table.columns:
            raise TableFileError(f"{shown} has no column {name!r}; it has {listing(table.columns)}")
    if not table.height:
        raise TableFileError(f"{shown} has no rows")
    return table


def _read(file: Path, shown: str) -> pl.DataFrame:
    ending = file.suffix.lower()
    if ending in (".parquet", ".pq"):
        return pl.read_parquet(file)
    if ending not in (".csv", ".tsv", ".txt"):
        raise TableFileError(f"{shown} ends in {ending!r}; expected .csv, .tsv or .parquet")
    with file.open(encoding="utf-8") as stream:
        header = stream.readline()
    separator = "\t" if ending == ".tsv" or ("\t" in header and "," not in header) else ","
    names = [name.strip().strip('"') for name in header.strip().split(separator)]
    twice = next((name for place, name in enumerate(names) if name in names[:place]), None)
    if twice is not None:
        raise TableFileError(f"{shown} names the column {twice!r} twice; rename one")
    return pl.read_csv(file, separator=separator, infer_schema_length=None, null_values=MISSING_WORDS)


def output_ending(path: Path) -> str:
    """The ending of a table's file, one of those that can be written."""
    ending = path.suffix.lower()
    if ending not in (".csv", ".tsv", ".txt", ".parquet", ".pq"):
        raise TableFileError(f"{str(path)!r} ends in {ending!r}; a table is written to .csv, .tsv or .parquet")
    return ending


def write_table(table: pl.DataFrame, path: Path) -> None:
    """Write a table by the ending of its name."""
    ending = output_ending(path)
    if ending in (".parquet", ".pq"):
        table.write_parquet(path)
    else:
        table.write_csv(path, separator="\t" if ending == ".tsv" else ",")

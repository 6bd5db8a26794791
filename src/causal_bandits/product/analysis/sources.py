"""Where a table comes from: a file, a query, the packaged example, a dataframe, plain columns."""

from __future__ import annotations

import os
from collections.abc import Collection, Iterable
from importlib import resources
from pathlib import Path
from typing import Any

from ...core.data.coding import is_missing
from ...core.data.frames import columns_of
from ...core.data.table_files import TableFile, read_table
from ...errors import ObservationError, OptionError
from ...libraries import pl
from ..queries import Query

CANNOT_READ = (TypeError, ValueError, OverflowError)
EXAMPLE = "example"
"""The table that ships with the package, unless a file has that name."""


def table_of(source: Any, *, needed: Iterable[str] = (), names: Collection[str] = ()) -> TableFile:
    """The table, with the columns that are needed; in the columns `names` a word such as None is a value."""
    if isinstance(source, str | os.PathLike):
        if str(source) == EXAMPLE and not Path(EXAMPLE).exists():
            with resources.as_file(resources.files("causal_bandits.core.datasets") / "checkout.csv") as path:
                return read_table(path, needed=needed, names=names)
        return read_table(source, needed=needed, names=names)
    if isinstance(source, Query):
        return TableFile(source.read(), {})
    if isinstance(source, pl.DataFrame):
        return TableFile(source, {})
    try:
        return TableFile(pl.DataFrame(source), {})
    except (
        ImportError,
        *CANNOT_READ,
        pl.exceptions.PolarsError,
    ):  # polars reads text of pandas through Arrow, which need not be installed
        return _by_columns(source, set(needed))


def _by_columns(source: Any, needed: set[str]) -> TableFile:
    """The table read column by column; one that cannot be read, and is not needed, is left out with a note."""
    try:
        columns = columns_of(source)
    except ObservationError:
        raise OptionError(
            f"a {type(source).__name__} is not a table; expected a file name, a Query, a dataframe or a dict of columns"
        ) from None
    found, notes = [], []
    for name, column in columns.items():
        try:
            cells = [None if is_missing(value) else value for value in column]
            found.append(pl.Series(str(name), cells, strict=False))
        except (*CANNOT_READ, pl.exceptions.PolarsError):
            if name in needed:
                raise OptionError(f"column {name!r} mixes values that cannot be read together; clean it") from None
            notes.append(f"{name}: mixes values that cannot be read together, left out")
    return TableFile(pl.DataFrame(found), {}, tuple(notes))

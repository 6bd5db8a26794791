"""Columns converted by their distinct values: a million cells of three levels are three conversions."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...libraries import pl

PLACE = " place"
"""A name that no other column has: names of columns are made by `numbered` itself."""


def is_plain(kind: pl.DataType) -> bool:
    """Whether a column of this type gives the same Python values as its distinct ones."""
    return kind.is_numeric() or kind in (pl.String, pl.Boolean, pl.Null)


def is_series(column: Any) -> bool:
    """Whether a column is a polars Series; polars is not imported to find out."""
    return "polars" in sys.modules and isinstance(column, pl.Series)


def plain_columns(frame: Any) -> dict[str, pl.Series] | None:
    """The columns of a polars frame that can be converted by their distinct values; None for anything else."""
    if "polars" in sys.modules and isinstance(frame, pl.DataFrame) and all(map(is_plain, frame.dtypes)):
        return dict(zip(frame.columns, frame.get_columns(), strict=True))
    return None


def numbered(columns: Sequence[pl.Series]) -> tuple[list[tuple[Any, ...]], NDArray[np.int64]]:
    """The distinct rows of some columns, in the order of their first occurrence, and the number of each row's.

    NaN is None there: both are missing, and a join finds None alone.

    >>> numbered([pl.Series(["b", None, "b"]), pl.Series([1, 2, 1])])
    ([('b', 1), (None, 2)], array([0, 1, 0]))
    """
    plain = (column.fill_nan(None) if column.dtype.is_float() else column for column in columns)
    table = pl.DataFrame({str(place): column for place, column in enumerate(plain)})
    distinct = table.unique(maintain_order=True).with_row_index(PLACE)
    found = table.join(distinct, on=table.columns, how="left", nulls_equal=True, maintain_order="left")
    return distinct.drop(PLACE).rows(), found[PLACE].to_numpy().astype(np.int64)


def each_distinct(columns: Sequence[pl.Series], convert: Callable[..., Any]) -> NDArray[Any]:
    """What `convert` makes of every row, called once for each distinct one."""
    distinct, numbers = numbered(columns)
    return np.array([convert(*values) for values in distinct])[numbers]


def reals(column: pl.Series, largest: float) -> NDArray[np.float64] | None:
    """A column of numbers as floats, NaN if a value is missing; None unless all others are at most `largest`."""
    if not column.dtype.is_numeric():
        return None
    values = column.cast(pl.Float64).to_numpy()
    seen = values[~np.isnan(values)]
    return values if np.all(np.abs(seen) <= largest) else None

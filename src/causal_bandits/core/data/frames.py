"""Tables of any kind as plain columns."""

from collections.abc import Mapping, Sequence, Set, Sized
from typing import Any

from ...errors import ObservationError, brief


def columns_of(frame: Any) -> dict[str, Sequence[Any]]:
    """The columns of any table."""
    if isinstance(frame, Mapping):
        for name, column in frame.items():
            if isinstance(column, str | Set | Mapping) or not isinstance(column, Sized):
                raise ObservationError(f"column {name!r} is {brief(column)}; expected a list of values, one per row")
        lengths = {name: len(column) for name, column in frame.items()}
        if len(set(lengths.values())) > 1:
            raise ObservationError(f"the columns have different lengths: {lengths}")
        return dict(frame)
    if isinstance(frame, Sequence) and not isinstance(frame, str | bytes):
        if not all(isinstance(row, Mapping) for row in frame):
            raise ObservationError("a list of rows must hold mappings variable -> value")
        names = list(dict.fromkeys(name for row in frame for name in row))
        return {name: [row.get(name) for row in frame] for name in names}
    import narwhals as nw  # takes a tenth of a second, and rows that are mappings need none of it

    try:
        table = nw.from_native(frame, eager_only=True)
    except TypeError:
        kind = type(frame).__name__
        raise ObservationError(
            f"a {kind} is not a table; pass a pandas, polars or Arrow frame in memory, or a list of dicts"
        ) from None
    except nw.exceptions.DuplicateError as error:
        raise ObservationError(f"the table names a column twice: {' '.join(str(error).split())}") from None
    return {name: table.get_column(name).to_list() for name in table.columns}

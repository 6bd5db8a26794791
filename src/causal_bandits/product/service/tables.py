"""Tables in the body of a request: a JSON array of rows, NDJSON, or columns."""

import io
import json
from typing import Any

from ...errors import OptionError, brief
from ..options import unknown_option
from .gate import RefusedError

MOST_NESTED = 1_000_000
"""Brackets in a body: a list of empty lists takes 20 times its length in memory."""

Row = dict[str, Any]
Columns = dict[str, list[Any]]


def table_in(content: bytes, most: int, *, ndjson: bool) -> list[Row] | Columns:
    """Rows (an array or NDJSON) or columns (an object) with at most this many rows."""
    if ndjson:
        return rows_in_lines(content, most)
    found = json_in(content)
    if isinstance(found, list):
        return checked_rows(found, most)
    if not isinstance(found, dict):
        raise OptionError(f"the body is {brief(found)}; expected an array of rows, or an object with columns")
    if "columns" not in found:
        raise OptionError(
            "the body is one object without columns; expected a list of rows, or an object with columns, each a list "
            "of values"
        )
    for name in found:
        if name != "columns":
            raise unknown_option(name, ["columns"])
    return checked_columns(found["columns"], most)


def rows_in_lines(content: bytes, most: int) -> list[Row]:
    """The rows of NDJSON: one object per line; empty lines do not count."""
    lines = [(number, line) for number, line in enumerate(io.BytesIO(content), 1) if line.strip()]
    if len(lines) > most:
        raise too_many(most)
    rows = []
    for number, line in lines:
        found = json_in(line, f"line {number}")
        if not isinstance(found, dict):
            raise OptionError(f"line {number} is {brief(found)}; expected an object with names and values")
        rows.append(found)
    return rows


def checked_rows(found: Any, most: int) -> list[Row]:
    """Rows as a request has them."""
    if not isinstance(found, list):
        raise OptionError(f"rows={brief(found)}; expected a list of objects")
    if len(found) > most:
        raise too_many(most)
    for number, row in enumerate(found, 1):
        if not isinstance(row, dict):
            raise OptionError(f"row {number} is {brief(row)}; expected an object with names and values")
    return found


def checked_columns(found: Any, most: int) -> Columns:
    """Columns as a request has them."""
    if not isinstance(found, dict):
        raise OptionError(f"columns={brief(found)}; expected an object with a list for each name")
    for name, column in found.items():
        if not isinstance(column, list):
            raise OptionError(f"the column {brief(name)} is {brief(column)}; expected a list of values")
        if len(column) > most:
            raise too_many(most)
    return found


def too_many(most: int) -> RefusedError:
    """The error for a table with too many rows."""
    return RefusedError(413, f"the table has more than {most:,} rows; send it in parts")


def json_in(content: bytes, what: str = "the body") -> Any:
    """The value of a JSON text."""
    if content.count(b"[") + content.count(b"{") > MOST_NESTED:
        raise RefusedError(413, f"{what} has more than {MOST_NESTED:,} brackets; send it in parts")
    try:
        return json.loads(content.decode())
    except RecursionError:
        raise OptionError(f"{what} is nested too deeply") from None
    except ValueError as error:
        raise RefusedError(400, f"{what} is not JSON ({' '.join(str(error).split())[:160]})") from None

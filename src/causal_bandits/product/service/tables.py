"""Tables in the body of a request: a JSON array of rows, NDJSON, or columns.

Rows are read one at a time, so that reading stops at the first error, and other threads run between two rows.
"""

import io
import json
import re
from collections.abc import Iterator
from typing import Any

from ...errors import OptionError, brief
from ..options import unknown_option
from .gate import RefusedError

ROW_CHARACTERS = 65_536
"""Longest row."""
NESTED = 1_000_000
"""Most brackets in a JSON object that is read as a whole: a list of empty lists takes 20 times its length in memory."""

_decode = json.JSONDecoder().raw_decode
_space = re.compile(r"[ \t\n\r]*")

Row = dict[str, Any]
Columns = dict[str, list[Any]]


def table_in(content: bytes, most: int, *, ndjson: bool) -> list[Row] | Columns:
    """Rows (an array or NDJSON) or columns (an object) with at most this many rows."""
    if ndjson:
        return rows_in_lines(content, most)
    text = _text(content)
    start = _end_of_space(text, 0)
    if text.startswith("[", start):
        return list(_limited(rows_in_array(text, start), most))
    found = json_in(text)
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

    def rows() -> Iterator[Row]:
        for number, line in enumerate(io.BytesIO(content), 1):
            if len(line) > ROW_CHARACTERS:
                raise OptionError(f"line {number} is longer than {ROW_CHARACTERS:,} bytes; send shorter rows")
            if line.strip():
                found = json_in(line, f"line {number}")
                if not isinstance(found, dict):
                    raise OptionError(f"line {number} is {brief(found)}; expected an object with names and values")
                yield found

    return list(_limited(rows(), most))


def rows_in_array(text: str, start: int) -> Iterator[Row]:
    """The rows of a JSON array that starts at a position of a text."""
    at, number = _end_of_space(text, start + 1), 0
    while number or not text.startswith("]", at):
        number += 1
        row, at = _row(text, at, number)
        yield row
        at = _end_of_space(text, at)
        if text.startswith("]", at):
            break
        if not text.startswith(",", at):
            raise not_json("the body", f"after row {number} expecting ',' or ']'")
        at = _end_of_space(text, at + 1)
    if _end_of_space(text, at + 1) != len(text):
        raise not_json("the body", "extra data after the array")


def _row(text: str, at: int, number: int) -> tuple[Row, int]:
    """The object at a position, and the position after it."""
    if not text.startswith("{", at):
        if at == len(text):
            raise not_json("the body", f"row {number} is cut off")
        raise OptionError(f"row {number} begins with {brief(text[at : at + 20])}; expected an object")
    reason = ""
    for end in (text.find("}", at, at + ROW_CHARACTERS) + 1, at + ROW_CHARACTERS):  # a brace may be inside a string
        try:
            found, length = _decode(text[at:end])
        except RecursionError:
            raise OptionError(f"row {number} is nested too deeply") from None
        except ValueError as error:
            reason = str(error)
        else:
            return found, at + length
    if len(text) - at > ROW_CHARACTERS:
        raise OptionError(f"row {number} is not JSON, or longer than {ROW_CHARACTERS:,} characters ({_short(reason)})")
    raise not_json(f"row {number}", reason)


def checked_rows(found: Any, most: int) -> list[Row]:
    """Rows that were read as a whole."""
    if not isinstance(found, list):
        raise OptionError(f"rows={brief(found)}; expected a list of objects")
    for number, row in enumerate(_limited(iter(found), most), 1):
        if not isinstance(row, dict):
            raise OptionError(f"row {number} is {brief(row)}; expected an object with names and values")
    return found


def checked_columns(found: Any, most: int) -> Columns:
    """Columns that were read as a whole."""
    if not isinstance(found, dict):
        raise OptionError(f"columns={brief(found)}; expected an object with a list for each name")
    for name, column in found.items():
        if not isinstance(column, list):
            raise OptionError(f"the column {brief(name)} is {brief(column)}; expected a list of values")
        if len(column) > most:
            raise too_many(most)
    return found


def _limited(rows: Iterator[Any], most: int) -> Iterator[Any]:
    for number, row in enumerate(rows):
        if number == most:
            raise too_many(most)
        yield row


def too_many(most: int) -> RefusedError:
    """The error for a table with too many rows."""
    return RefusedError(413, f"the table has more than {most:,} rows; send it in parts")


def json_in(content: str | bytes, what: str = "the body") -> Any:
    """The value of a JSON text."""
    if isinstance(content, bytes):
        content = _text(content, what)
    if content.count("[") + content.count("{") > NESTED:
        raise RefusedError(413, f"{what} has more than {NESTED:,} brackets; send it in parts")
    try:
        return json.loads(content)
    except RecursionError:
        raise OptionError(f"{what} is nested too deeply") from None
    except ValueError as error:
        raise not_json(what, str(error)) from None


def not_json(what: str, reason: str) -> RefusedError:
    """The error for a text that is not JSON."""
    return RefusedError(400, f"{what} is not JSON ({_short(reason)})")


def _text(content: bytes, what: str = "the body") -> str:
    try:
        return content.decode()
    except UnicodeDecodeError as error:
        raise not_json(what, str(error)) from None


def _end_of_space(text: str, at: int) -> int:
    found = _space.match(text, at)
    return at if found is None else found.end()


def _short(reason: str) -> str:
    return " ".join(reason.split())[:160]

"""Batches: rows, lines and columns, bounded in rows and in memory."""

import json
import tracemalloc
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from causal_bandits.errors import OptionError
from causal_bandits.product.service.bodies import checked_columns, rows_in_lines, table_in
from causal_bandits.product.service.gate import RefusedError

from .calls import Caller
from .conftest import OpenApp

VALUES = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text() | st.just('"}]{[\\')
ROWS = st.lists(st.dictionaries(st.text(), VALUES, max_size=4), max_size=5)


@given(ROWS, st.sampled_from([None, 2]), st.booleans())
def test_rows_are_those_of_json(rows: list[dict[str, Any]], indent: int | None, ascii_only: bool) -> None:
    text = json.dumps(rows, indent=indent, ensure_ascii=ascii_only)
    content = text.encode("utf-8", "surrogatepass")
    assert table_in(content, 10, ndjson=False) == rows
    lines = "\n".join(json.dumps(row) for row in rows)
    assert rows_in_lines(lines.encode(), 10) == rows


@pytest.mark.parametrize("content", [b"[" + b"1," * 2_000_000 + b"1]", b"[" + b"[]," * 900_000 + b"[]]"])
def test_a_hostile_body_takes_bounded_memory(content: bytes) -> None:
    tracemalloc.start()
    with pytest.raises((OptionError, RefusedError)):
        table_in(content, 100, ndjson=False)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 30 * len(content)


@pytest.mark.parametrize(
    ("content", "status", "sentence"),
    [
        (b"[{}, {}, {}, {}]", 413, "more than 3 rows"),
        (b'{"columns": {"id": [1, 2, 3, 4]}}', 413, "more than 3 rows"),
        (b'[{"a": ' + b"[" * 60_000 + b"]" * 60_000 + b"}]", 422, "nested too deeply"),
        (b'[{"a": ' + b"9" * 5000 + b"}]", 400, "the body is not JSON"),
        (b'{"columns": ' + b"[" * 1_000_001, 413, "more than 1,000,000 brackets"),
        (b'{"columns": ' + b"[" * 100_000, 422, "nested too deeply"),
        (b'{"columns": {"id": 1}}', 422, "the column 'id' is 1; expected a list"),
        (b'{"columns": [1]}', 422, "columns=[1]; expected an object"),
        (b'{"columns": {}, "more": 1}', 422, "unknown option 'more'"),
        (b'{"columns": ', 400, "the body is not JSON"),
        (b"", 400, "the body is not JSON"),
    ],
)
def test_tables_that_are_refused(content: bytes, status: int, sentence: str) -> None:
    with pytest.raises(OptionError if status == 422 else RefusedError) as caught:
        table_in(content, 3, ndjson=False)
    assert sentence in str(caught.value)
    assert getattr(caught.value, "status_code", 422) == status


def test_lines_that_are_refused() -> None:
    with pytest.raises(RefusedError, match="more than 3 rows"):
        rows_in_lines(b"{}\n" * 4, 3)
    with pytest.raises(OptionError, match="line 2 is 1; expected an object"):
        rows_in_lines(b"{}\n1\n", 3)
    assert checked_columns({"id": [1]}, 3) == {"id": [1]}


def test_rows_and_errors_are_bounded_over_http(open_app: OpenApp) -> None:
    call = open_app(batch_rows=10)
    shop = call.create()
    row = {"banner": "red", "discount": "none", "clicked": 1, "cart": "some", "purchase": 0}
    call("POST", f"{shop}/decisions", {"count": 11})
    many = [{"id": number, "clicked": 1} for number in range(1, 12)]
    ndjson = {"content-type": "application/x-ndjson"}
    lines = "\n".join(map(json.dumps, many)).encode()
    columns = {"columns": {"id": [*range(1, 12)], "clicked": [1] * 11}}
    for refused in (
        call("POST", f"{shop}/outcomes", many),
        call("POST", f"{shop}/outcomes", columns),
        call("POST", f"{shop}/outcomes", content=lines, headers=ndjson),
        call("POST", f"{shop}/imports", {"rows": [row] * 11}),
        call("POST", f"{shop}/imports", {"columns": {name: [value] * 11 for name, value in row.items()}}),
        call("POST", f"{shop}/imports", content=json.dumps(row).encode() * 2 + b"\n", headers=ndjson),
    ):
        assert refused.status in (400, 413), refused.text
    assert call("POST", f"{shop}/outcomes", many[:10]).json == {"told": 10}
    assert call("POST", f"{shop}/imports", {"rows": [row] * 10}).json == {"imported": 10}
    assert call("POST", f"{shop}/imports", {"rows": [row, 1, 1]}).detail.startswith("row 2 is 1; expected an object")


def test_few_errors_are_made_of_many_faults(call: Caller) -> None:
    """A body of a megabyte has room for 100,000 faults; the answer needs one."""
    shop = call.create()
    faults = {f"x{number}": number for number in range(50_000)}
    for path, body in (
        (f"{shop}/decisions", faults),
        (f"{shop}/decisions", {"arms": [1] * 100_000}),
        ("/api/v1/studies", {"name": "y", "problem": {}, "shares": faults}),
        ("/api/v1/studies", {"name": "y", "problem": {}, "metrics": faults}),
        ("/api/v1/studies", {"name": "y", "problem": {}, "guardrails": faults}),
    ):
        tracemalloc.start()
        refused = call("POST", path, body)
        _, peak = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        assert refused.status == 422, refused.text
        assert peak < 30_000_000, path

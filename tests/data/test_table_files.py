"""Tables as they lie around: whatever the file, the same table."""

import codecs
import gzip
import sys
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import causal_bandits as cb
from causal_bandits.data.cell_types import typed
from causal_bandits.data.table_files import read_rows, read_table
from causal_bandits.data.text_files import SEPARATORS, separator_of
from causal_bandits.errors import MissingExtraError, TableFileError

from .workbooks import write_workbook

ROWS = [("größe", 1.5, 7, "a, b"), ("naïve", -20.25, 8, "c"), ("x", 1234.0, 9, "d")]
TABLE = pl.DataFrame(ROWS, schema=["name", "price", "n", "text"], orient="row")
ENCODINGS = {
    "utf-8": b"",
    "utf-8-sig": b"",
    "utf-16": b"",
    "utf-16-le": b"",
    "utf-16-be": codecs.BOM_UTF16_BE,
    "cp1252": b"",
    "latin-1": b"",
}


def written(separator: str, *, comma: bool = False) -> str:
    def cell(value: object) -> str:
        text = str(value).replace(".", ",") if comma and isinstance(value, float) else str(value)
        return f'"{text}"' if separator in text else text

    return "\r\n".join(separator.join(map(cell, row)) for row in (TABLE.columns, *ROWS)) + "\r\n"


@pytest.mark.parametrize("encoding", ENCODINGS)
@pytest.mark.parametrize("separator", SEPARATORS)
def test_every_separator_encoding_and_decimal_sign(tmp_path: Path, separator: str, encoding: str) -> None:
    for comma in (False, True):
        content = ENCODINGS[encoding] + written(separator, comma=comma).encode(encoding)
        for name, packed in (("t.csv", content), ("t.txt", content), ("t.csv.gz", gzip.compress(content))):
            (tmp_path / name).write_bytes(packed)
            found = read_table(tmp_path / name)
            assert found.table.equals(TABLE), (name, comma)
            said = " ".join(found.notes)
            assert ("cp1252" in said) == (encoding in ("cp1252", "latin-1"))
            assert ("price: the comma is a decimal sign, so 1,5 is 1.5" in said) == comma
            assert (SEPARATORS[separator] in said) == (separator in ";|")


def test_the_line_that_names_the_separator_is_no_header(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("sep=;\na;b\n1;2\n")
    assert read_table(tmp_path / "t.csv").table.rows() == [(1, 2)]


def test_names_are_stripped_and_empty_ones_numbered(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text(", a ,b\n1,2,3\n")
    assert read_table(tmp_path / "t.csv").table.columns == ["column 1", "a", "b"]


@given(st.lists(st.floats(allow_nan=False, allow_infinity=False), min_size=1), st.sampled_from("de"))
def test_numbers_with_commas_are_the_numbers(values: list[float], style: str) -> None:
    """The twin is Python: it writes a number with commas in two ways, and the column reads it back."""
    shown = [f"{value:,.3f}" for value in values]
    if style == "d":  # 1.234,500
        shown = [text.replace(",", " ").replace(".", ",").replace(" ", ".") for text in shown]
    found = typed(pl.Series(shown)).column
    assert found.cast(pl.Float64).to_list() == [float(f"{value:.3f}") for value in values]


CELLS = [
    (["1", " 2 ", None], [1, 2, None]),
    (["1", "2.5", "1e3"], [1.0, 2.5, 1000.0]),
    (["true", "False", "NA"], [True, False, None]),
    (["NA", "NA"], ["NA", "NA"]),
    (["1", "x"], ["1", "x"]),
    (["1,5", "x"], ["1,5", "x"]),
    (["1,5,2"], ["1,5,2"]),
    (["1.234,5", "12"], [1234.5, 12.0]),
    (["1,234.5", "12"], [1234.5, 12.0]),
    (["99999999999999999999", "1"], ["99999999999999999999", "1"]),
    (["", " "], ["", " "]),
]


@pytest.mark.parametrize(("cells", "values"), CELLS)
def test_what_a_column_holds(cells: list[str | None], values: list[object]) -> None:
    assert typed(pl.Series(cells, dtype=pl.String)).column.to_list() == values


@pytest.mark.parametrize(
    ("text", "values"),
    [
        ("p;q\n1,234;1,5\n", [1.234, 1.5]),  # the other column has decimal commas
        ("p;q\n1,234;1\n", [1.234, 1]),  # semicolons are there for a reason
        ("p|q\n1,234|1\n", [1234, 1]),
        ("p;q\n1,234;1.5\n", [1234, 1.5]),  # the other column has decimal points
        ("p;q\n1,234;12,345,678\n", [1234, 12345678]),
    ],
)
def test_a_comma_that_may_be_both(tmp_path: Path, text: str, values: list[float]) -> None:
    (tmp_path / "t.csv").write_text(text)
    found = read_table(tmp_path / "t.csv")
    assert list(found.table.row(0)) == values
    assert any(note.startswith("p: the comma is") for note in found.notes)


def test_rows_of_a_problem_keep_its_levels(tmp_path: Path) -> None:
    problem = cb.Problem("y", {"size": ["1,5", "2,5"], "w": float}, {"i": ["01", "02"]}, reward=float)
    (tmp_path / "t.csv").write_text("i;size;w;y\n01;1,5;0,5;1,25\n02;2,5;1;2\n")
    found = read_rows(problem, tmp_path / "t.csv")
    assert found.rows() == [("01", "1,5", 0.5, 1.25), ("02", "2,5", 1.0, 2.0)]


def test_quotes_hide_separators() -> None:
    assert separator_of(b'"a;b;c",d\n"1;2;3",4\n') == ","
    assert separator_of(b"a\n1\n") == ","


def test_workbooks(tmp_path: Path) -> None:
    pytest.importorskip("fastexcel", reason="fastexcel is not installed, so workbooks are not read; see `make setup`")
    rows: list[list[Any]] = [["i", "n", "x", "t"], ["none", 1, 1.5, "7,5"], ["red", None, 2, "8"]]
    write_workbook(tmp_path / "t.xlsx", {"log": rows, "notes": [["a"], [1]]})
    found = read_table(tmp_path / "t.xlsx")
    assert found.table.rows() == [("none", 1, 1.5, 7.5), ("red", None, 2.0, 8.0)]
    assert found.table.schema["n"] == pl.Int64
    assert "the first sheet, 'log', is read, and not the other 1" in found.notes
    (tmp_path / "bad.xlsx").write_text("a,b")
    with pytest.raises(TableFileError, match=r"'.*bad\.xlsx' cannot be read as a table"):
        read_table(tmp_path / "bad.xlsx")


def test_a_workbook_without_the_extra(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "fastexcel", None)
    (tmp_path / "t.xlsx").write_text("")
    with pytest.raises(MissingExtraError, match=r"reads \.xlsx files, is not installed; .* 'causal-bandits\[xlsx\]'"):
        read_table(tmp_path / "t.xlsx")


BAD = [
    ("t.csv.gz", gzip.compress(b"a,b\n1,2\n", mtime=0)[:-9], "its compressed data are damaged"),
    ("t.csv", b"\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR" * 9, "it holds binary data"),
    ("t.csv", b"\xff\xfea\x00,\x00b\x00\n", "its UTF-16 text is damaged"),
    ("t.csv", b"sep=x\na,b\n1,2\n", "names 'x' as the separator"),
    ("t.docx", b"", r"ends in '\.docx'"),
    ("t.docx.gz", b"", r"ends in '\.gz'"),
    ("t.csv", b"a,a\n1,2\n", "names the column 'a' twice"),
]


@pytest.mark.parametrize(("name", "content", "says"), BAD)
def test_bad_files_get_one_sentence(tmp_path: Path, name: str, content: bytes, says: str) -> None:
    (tmp_path / name).write_bytes(content)
    with pytest.raises(TableFileError, match=f"cannot be read as a table: .*{says}"):
        read_table(tmp_path / name)

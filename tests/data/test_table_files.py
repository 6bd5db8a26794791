"""Tables in any common format: whatever the file, the same table."""

import codecs
import gzip
import io
import resource
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import causal_bandits as cb
from causal_bandits.core.data.cell_types import typed, typed_table
from causal_bandits.core.data.table_files import read_rows, read_table
from causal_bandits.core.data.text_files import MOST_HEADER, MOST_LINE, SEPARATORS, long_line, separator_of
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
    with pytest.raises(MissingExtraError, match=r"reads \.xlsx files, is not installed; .* '\.\[xlsx\]'"):
        read_table(tmp_path / "t.xlsx")


BAD = [
    ("t.csv.gz", gzip.compress(b"a,b\n1,2\n", mtime=0)[:-9], "its compressed data are corrupt"),
    ("t.csv", b"\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR" * 9, "it holds binary data"),
    ("t.csv", b"\xff\xfea\x00,\x00b\x00\n", "its UTF-16 text is corrupt"),
    ("t.csv", b"sep=x\na,b\n1,2\n", "names 'x' as the separator"),
    ("t.docx", b"", r"ends in '\.docx'"),
    ("t.docx.gz", b"", r"ends in '\.gz'"),
    ("t.csv", b"a,a\n1,2\n", "names the column 'a' twice"),
    ("t.csv", b"", "it is empty; expected a line with the names"),
    ("t.csv", b"a,b\n1,2\n1,2,3\n", "line 3 has 3 cells; expected 2, as in the header"),
    ("t.csv", b'sep=;\na;b\n"1\n1";2\n1;2;3;4\n', "line 5 has 4 cells; expected 2"),
    ("t.csv", b'a,b\n1,2\n1,"2\n1,2\n', "line 3: a quoted cell is not closed"),
    ("t.csv", b'a,b\n1,"2"x\n', "line 2: a quoted cell is not closed, or text follows its closing quote"),
    ("t.csv", codecs.BOM_UTF8 + b"a,b\n1,\xff\n", "its UTF-8 text is corrupt"),
]


@pytest.mark.parametrize(("name", "content", "says"), BAD)
def test_bad_files_get_one_sentence(tmp_path: Path, name: str, content: bytes, says: str) -> None:
    (tmp_path / name).write_bytes(content)
    with pytest.raises(TableFileError, match=f"cannot be read as a table: .*{says}"):
        read_table(tmp_path / name)


def test_rows_that_are_too_short_are_noted(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("a,b,c\n1,2,3\n4,5\n\n6,7,\n8\n")
    found = read_table(tmp_path / "t.csv")
    assert found.table["b"].to_list() == [2, 5, None, 7, None]
    said = "2 rows have fewer cells than the header (line 3 has 2 of 3); the others are treated as empty"
    assert said in found.notes


def test_lines_that_end_as_on_old_computers(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_bytes(b"a,b\r1,2\r")
    assert read_table(tmp_path / "t.csv").table.rows() == [(1, 2)]


def test_a_header_may_be_long(tmp_path: Path) -> None:
    names = [f"the column with the number {number:04}" for number in range(3_000)]
    assert sum(map(len, names)) > 65_536
    (tmp_path / "t.csv").write_text(",".join(names) + "\n" + ",".join("1" * 3_000) + "\n")
    assert read_table(tmp_path / "t.csv").table.columns == names


@given(st.lists(st.integers(0, 3 * MOST_LINE // 2), max_size=4), st.booleans())
def test_the_first_line_that_is_too_long(lengths: list[int], ended: bool) -> None:
    content = b"\n".join(bytes(length) for length in lengths) + b"\n" * ended
    long = [number for number, length in enumerate(lengths, 1) if length > MOST_LINE]
    assert long_line(content) == (long[0] if long else None)


def _bomb(start: bytes, part: bytes, parts: int) -> bytes:
    return gzip.compress(start) + gzip.compress(part) * parts


def _far_cell(path: Path) -> None:
    write_workbook(path, {"log": [["a", "b"], [1, ("XFD1048576", 1)]]})


def _many_rows(path: Path) -> None:
    pl.DataFrame({"a": pl.repeat(True, 10**8 + 1, eager=True)}).write_parquet(path)


def _sparse(path: Path) -> None:
    with path.open("wb") as file:
        file.write(b"a,b\n1,")
        file.truncate(1_500_000_000)


HOSTILE: dict[str, tuple[bytes | Callable[[Path], None], str]] = {
    "bomb.csv.gz": (_bomb(b"a,b\n", b"0,1\n" * 2_500_000, 200), "it holds more than 1,000 MB of text"),
    "no-newline.csv": (b"a,b," * 5_000_000, "its first line is longer than 1 MB"),
    "one-name.csv": (b"a" * 20_000_000, "its first line is not a header"),
    "many-names.csv": (
        b",".join(b"%d" % n for n in range(20_000)) + b"\n1\n",
        "names 20,000 columns; expected at most",
    ),
    "long-row.csv.gz": (_bomb(b"a,b\n", b"0," * 5_000_000, 2), "line 2 is longer than 4 MB"),
    "long-cell.csv": (b"a,b\n1,2\n1," + b"x" * (MOST_HEADER + 1), "row 2: the cell in 'b' is longer than 1 MB"),
    "cell.csv": (_sparse, "it holds more than 1,000 MB of text"),
    "empty-lines.csv": (b",".join(b"%d" % n for n in range(9_000)) + b"\n" * 20_000, "at most 100,000,000 cells"),
    "far-cell.xlsx": (_far_cell, "it is corrupt, or takes more than 4 GB of memory to read"),
    "rows.parquet": (_many_rows, "it has 100,000,001 rows of 1 columns; expected at most 100,000,000 cells"),
    "rows.pq": (b"PAR1" + b"\xff" * 8 + b"PAR1", "it is corrupt, or not a Parquet file"),
}


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_files_get_one_sentence_and_little_memory(tmp_path: Path, name: str) -> None:
    content, says = HOSTILE[name]
    if callable(content):
        content(tmp_path / name)
    else:
        (tmp_path / name).write_bytes(content)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    with pytest.raises(TableFileError, match=f"cannot be read as a table: .*{says}"):
        read_table(tmp_path / name)
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 200_000  # kilobytes


def test_damaged_parquet_files_get_one_sentence(tmp_path: Path) -> None:
    """Polars panics on some of them, which is an exception that `except Exception` does not catch."""
    whole = io.BytesIO()
    pl.DataFrame({"a": ["x", "y"] * 50, "b": [[1]] * 100}).write_parquet(whole)
    rng = np.random.default_rng(5)
    refused = 0
    for _ in range(6):
        content = bytearray(whole.getvalue())
        for place in rng.integers(len(content), size=5):
            content[place] = rng.integers(256)
        (tmp_path / "t.parquet").write_bytes(content)
        try:
            read_table(tmp_path / "t.parquet")
        except TableFileError:
            refused += 1
    assert refused


def test_codes_keep_their_zeros_and_doubts_are_said() -> None:
    table = pl.DataFrame(
        {"code": ["007", "7"], "size": ["Red", "red"], "price": ["1.234", "2.500"], "bought": ["0", "1"]}
    )
    found = typed_table(table, semicolons=True)
    assert found.table["code"].to_list() == ["007", "7"]
    assert found.table["bought"].to_list() == [0, 1]
    assert found.notes == (
        "size: 'Red' and 'red' differ only in case",
        "price: the point is a decimal sign; if 1.234 is meant to be 1234, remove it",
    )

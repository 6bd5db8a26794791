"""Text files in any common format: compressed or not, in any common encoding, with any common separator."""

import codecs
import csv
import gzip
import io
import itertools
import re
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from ...errors import TableFileError

SEPARATORS = {",": "commas", ";": "semicolons", "\t": "tabs", "|": "vertical bars"}
SNIFFED = 200
"""Lines that the separator is chosen by."""
PREFIX = 65_536
MOST_BYTES = 10**9
"""Bytes of the largest text, unpacked."""
MOST_CELLS = 10**8
MOST_COLUMNS = 16_384
MOST_HEADER = 2**20
"""Bytes of the longest header."""
MOST_LINE = 4 * 2**20
"""Bytes of the longest line."""
CHUNK = 2**20
"""Bytes that are unpacked or decoded at a time."""
MARKS = {b"\xef\xbb\xbf": "utf-8", b"\xff\xfe": "utf-16-le", b"\xfe\xff": "utf-16-be"}
"""Byte order marks."""


class TextFile(NamedTuple):
    """A table as UTF-8 bytes, how its cells are separated, its header, and what was detected, in words."""

    content: bytes
    separator: str
    header: list[str]
    notes: tuple[str, ...]
    skipped: int
    """Lines of the file before the header."""


def read_text(file: Path, ending: str) -> TextFile:
    """A text file that holds a table; `ending` is that of its name without .gz."""
    content, encoding = decoded(unpacked(file))
    notes = [f"the file is not UTF-8; it is read as {encoding}"] if encoding not in ("utf-8", "utf-16") else []
    if b"\n" not in content:
        content = content.replace(b"\r", b"\n")  # how old programs end a line
    declared = re.match(rb'"?sep=(.)"?\r?\n', content)  # spreadsheets write this line for each other
    if declared:
        content = content[declared.end() :]
    separator = declared[1].decode("latin-1") if declared else separator_of(content, "\t" if ending == ".tsv" else None)
    if separator not in SEPARATORS:
        raise TableFileError(f"its first line names {separator!r} as the separator; expected one of , ; | or a tab")
    if separator not in (",", "\t"):
        notes.append(f"cells are separated by {SEPARATORS[separator]}")
    header = header_of(content, separator)
    lines = content.count(b"\n")
    if lines * len(header) > MOST_CELLS:
        raise TableFileError(
            f"it has {lines:,} lines and {len(header):,} columns; expected at most {MOST_CELLS:,} cells"
        )
    skipped = int(declared is not None)
    long = long_line(content)
    if long is not None:
        raise TableFileError(f"line {long + skipped} is longer than {MOST_LINE // 2**20} MB; shorten it")
    return TextFile(content, separator, header, tuple(notes), skipped)


def unpacked(file: Path) -> bytes:
    """The bytes of a file, or what it unpacks to; the size is checked first, so that a large file takes no memory."""
    with file.open("rb") as raw:
        packed = raw.read(2) == b"\x1f\x8b"
    if not packed:
        _check_size(file.stat().st_size)
        return file.read_bytes()
    try:
        with gzip.open(file) as content:
            size = 0
            while chunk := content.read(CHUNK):
                size += len(chunk)
                _check_size(size)
            content.seek(0)
            return content.read()
    except (EOFError, OSError, zlib.error) as error:
        raise ValueError(f"its compressed data are corrupt ({error})") from None


def _check_size(size: int) -> None:
    if size > MOST_BYTES:
        raise TableFileError(f"it holds more than {MOST_BYTES // 10**6:,} MB of text; leave out columns or rows")


def header_of(content: bytes, separator: str) -> list[str]:
    """The names of the columns."""
    lines = list(_lines(content[:MOST_HEADER]))
    reader = csv.reader(lines, delimiter=separator)
    try:
        header = [name.strip() for name in next(reader, [])]
    except csv.Error:  # a name of more than 131,072 characters
        raise TableFileError("its first line is not a header; expected the names of the columns") from None
    if len(content) > MOST_HEADER and reader.line_num == len(lines):
        raise TableFileError("its first line is longer than 1 MB; expected the names of the columns")
    if len(header) > MOST_COLUMNS:
        raise TableFileError(f"its first line names {len(header):,} columns; expected at most {MOST_COLUMNS:,}")
    return header


def long_line(content: bytes) -> int | None:
    """The number of the first line that is too long, if there is one."""
    at = 0
    while len(content) - at > MOST_LINE:
        end = content.rfind(b"\n", at, at + MOST_LINE + 1)
        if end < 0:
            return content.count(b"\n", 0, at) + 1
        at = end + 1
    return None


def _lines(content: bytes) -> Iterator[str]:
    return io.TextIOWrapper(io.BytesIO(content), "utf-8", "ignore", newline="")


class Ragged(NamedTuple):
    """A row that has more or fewer cells than the header, and how many there are of its kind."""

    line: int
    cells: int
    rows: int


def ragged_rows(found: TextFile, *, strict: bool = False) -> tuple[Ragged | None, Ragged | None]:
    """The first row with more cells than the header, and the first with fewer; `strict` rejects odd quotes."""
    reader = csv.reader(_lines(found.content), delimiter=found.separator, strict=strict)
    wide = len(found.header)
    more: Ragged | None = None
    fewer: Ragged | None = None
    while True:
        line = found.skipped + reader.line_num + 1
        try:
            row = next(reader, None)
        except csv.Error:
            if strict:
                raise TableFileError(
                    f"line {line}: a quoted cell is not closed, or text follows its closing quote; "
                    "close it, and write a quote within a cell twice"
                ) from None
            return more, fewer
        if row is None:
            return more, fewer
        if len(row) > wide:
            more = Ragged(line, len(row), 1) if more is None else more._replace(rows=more.rows + 1)
        elif row and len(row) < wide:
            fewer = Ragged(line, len(row), 1) if fewer is None else fewer._replace(rows=fewer.rows + 1)


def decoded(raw: bytes) -> tuple[bytes, str]:
    """The same text in UTF-8 without a mark, and the encoding it had.

    >>> decoded("naïve".encode("cp1252")), decoded("a,b".encode("utf-16"))
    ((b'na\\xc3\\xafve', 'cp1252'), (b'a,b', 'utf-16'))
    """
    for mark, encoding in MARKS.items():
        if raw.startswith(mark):
            return _declared(raw.removeprefix(mark), encoding)
    zeros = [raw[:PREFIX:2].count(0), raw[1:PREFIX:2].count(0)]
    if any(zeros):  # text has none, unless every character takes two bytes
        if min(zeros) * 10 > max(zeros):
            raise ValueError("it holds binary data")
        return _declared(raw, "utf-16-be" if zeros[0] > zeros[1] else "utf-16-le")
    for encoding in ("utf-8", "cp1252"):
        try:
            return _in_utf_8(raw, encoding), encoding
        except UnicodeDecodeError:
            pass
    return _in_utf_8(raw, "latin-1"), "latin-1"


def _declared(raw: bytes, encoding: str) -> tuple[bytes, str]:
    family = encoding.removesuffix("-le").removesuffix("-be")
    try:
        return _in_utf_8(raw, encoding), family
    except UnicodeError:
        raise ValueError(f"its {family.upper()} text is corrupt") from None


def _in_utf_8(raw: bytes, encoding: str) -> bytes:
    """The same text in UTF-8, decoded in parts: a text as a whole may take four times the memory of its bytes."""
    decoder = codecs.getincrementaldecoder(encoding)()
    parts = (decoder.decode(raw[at : at + CHUNK], at + CHUNK >= len(raw)) for at in range(0, len(raw), CHUNK))
    if encoding != "utf-8":
        return b"".join(part.encode() for part in parts)
    for _ in parts:  # valid, or an error
        pass
    return raw


def separator_of(content: bytes, preferred: str | None = None) -> str:
    """The separator that cuts the first lines into equally many cells, and into the most.

    >>> separator_of(b"price;weight\\n1,5;2,5\\n"), separator_of(b"a|b, c|d\\n1|2, 3|4\\n")
    (';', '|')
    """
    lines = list(_lines(content[:PREFIX]))
    if len(content) > PREFIX and len(lines) > 1:
        lines.pop()  # cut in the middle

    def quality(separator: str) -> tuple[bool, float, int, bool]:
        try:
            rows = list(itertools.islice(csv.reader(lines, delimiter=separator), SNIFFED))
        except csv.Error:
            return False, 0.0, 0, False
        rows = [row for row in rows if row]
        wide = len(rows[0]) if rows else 0
        alike = sum(len(row) == wide for row in rows) / max(len(rows), 1)
        return wide > 1, alike, wide, separator == preferred

    return preferred if preferred and quality(preferred)[0] else max(SEPARATORS, key=quality)

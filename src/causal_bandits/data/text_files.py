"""Text files as they lie around: compressed or not, in any common encoding, with any common separator."""

import csv
import gzip
import itertools
import re
import zlib
from pathlib import Path
from typing import NamedTuple

from ..errors import TableFileError

SEPARATORS = {",": "commas", ";": "semicolons", "\t": "tabs", "|": "vertical bars"}
SNIFFED = 200
"""Lines that the separator is chosen by."""
PREFIX = 65_536
MARKS = {b"\xef\xbb\xbf": "utf-8", b"\xff\xfe": "utf-16-le", b"\xfe\xff": "utf-16-be"}
"""Byte order marks."""


class TextFile(NamedTuple):
    """A table as UTF-8 bytes, how its cells are separated, its header, and what was found out, in words."""

    content: bytes
    separator: str
    header: list[str]
    notes: tuple[str, ...]


def read_text(file: Path, ending: str) -> TextFile:
    """A text file that holds a table; `ending` is that of its name without .gz."""
    raw = file.read_bytes()
    if raw[:2] == b"\x1f\x8b":
        try:
            raw = gzip.decompress(raw)
        except (EOFError, OSError, zlib.error) as error:
            raise ValueError(f"its compressed data are damaged ({error})") from None
    content, encoding = decoded(raw)
    notes = [f"the file is not UTF-8; it is read as {encoding}"] if encoding not in ("utf-8", "utf-16") else []
    declared = re.match(rb'"?sep=(.)"?\r?\n', content)  # spreadsheets write this line for each other
    if declared:
        content = content[declared.end() :]
    separator = declared[1].decode("latin-1") if declared else separator_of(content, "\t" if ending == ".tsv" else None)
    if separator not in SEPARATORS:
        raise TableFileError(f"its first line names {separator!r} as the separator; expected one of , ; | or a tab")
    if separator not in (",", "\t"):
        notes.append(f"cells are separated by {SEPARATORS[separator]}")
    lines = content[:PREFIX].decode("utf-8", "ignore").splitlines(keepends=True)
    header = [name.strip() for name in next(csv.reader(lines, delimiter=separator), [])]
    return TextFile(content, separator, header, tuple(notes))


def decoded(raw: bytes) -> tuple[bytes, str]:
    """The same text in UTF-8 without a mark, and the encoding it had.

    >>> decoded("naïve".encode("cp1252")), decoded("a,b".encode("utf-16"))
    ((b'na\\xc3\\xafve', 'cp1252'), (b'a,b', 'utf-16'))
    """
    for mark, encoding in MARKS.items():
        if raw.startswith(mark):
            raw = raw.removeprefix(mark)
            return (raw, "utf-8") if encoding == "utf-8" else (_from_utf_16(raw, encoding), "utf-16")
    zeros = [raw[:PREFIX:2].count(0), raw[1:PREFIX:2].count(0)]
    if any(zeros):  # text has none, unless every character takes two bytes
        if min(zeros) * 10 > max(zeros):
            raise ValueError("it holds binary data")
        return _from_utf_16(raw, "utf-16-be" if zeros[0] > zeros[1] else "utf-16-le"), "utf-16"
    try:
        raw.decode("utf-8")
    except UnicodeDecodeError:
        pass
    else:
        return raw, "utf-8"
    try:
        return raw.decode("cp1252").encode(), "cp1252"
    except UnicodeDecodeError:
        return raw.decode("latin-1").encode(), "latin-1"


def _from_utf_16(raw: bytes, encoding: str) -> bytes:
    try:
        return raw.decode(encoding).encode()
    except UnicodeError:
        raise ValueError("its UTF-16 text is damaged") from None


def separator_of(content: bytes, preferred: str | None = None) -> str:
    """The separator that cuts the first lines into equally many cells, and into the most.

    >>> separator_of(b"price;weight\\n1,5;2,5\\n"), separator_of(b"a|b, c|d\\n1|2, 3|4\\n")
    (';', '|')
    """
    text = content[:PREFIX].decode("utf-8", "ignore")
    lines = text.splitlines(keepends=True)
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

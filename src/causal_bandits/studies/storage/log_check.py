"""A damaged write-ahead log: SQLite takes the transactions before the damage and forgets the rest without a word.

It has to, since a transaction that was being written when the power failed looks the same. But only one transaction can
have been on its way: every other one was on disk before the next began. So two or more whole transactions after the
last one that SQLite takes are proof of damage. (A log whose last transaction alone is damaged cannot be told from one
that was never finished.) The layout is the documented one of SQLite's files `-wal` and `-shm`.
"""

import struct
import sys
from pathlib import Path
from typing import NamedTuple

from ...errors import StorageError

HEADER, FRAME = 32, 24
MAGIC = {0x377F0682: "<", 0x377F0683: ">"}
"""The first word says in which order the bytes of checksums are read."""


PAGE_SIZES = [2**power for power in range(9, 17)]


class Log(NamedTuple):
    """The frames of a log, by what stands before each page."""

    salts: bytes
    frames: list[tuple[bool, bytes]]
    """For each frame whether it ends a transaction, and its salts."""
    header_is_whole: bool


def read_log(database: Path) -> Log | None:
    """The log of a database; None when there is none to speak of."""
    try:
        with Path(f"{database}-wal").open("rb") as file:
            header = file.read(HEADER)
            size = int.from_bytes(header[8:12], "big")
            if size not in PAGE_SIZES:
                size = _page_size(database)
            frames = []
            while len(head := file.read(FRAME)) == FRAME:
                frames.append((head[4:8] != bytes(4), head[8:16]))
                file.seek(size, 1)
    except OSError:
        return None
    return Log(header[16:24], frames, _is_whole(header)) if frames else None


def _page_size(database: Path) -> int:
    """The size of a page as the database itself has it; SQLite's usual one while it is empty."""
    with database.open("rb") as file:
        size = int.from_bytes(file.read(18)[16:18], "big")
    return size if size in PAGE_SIZES else 4096


def _is_whole(header: bytes) -> bool:
    """Whether the header fits its own checksum."""
    order = MAGIC.get(int.from_bytes(header[:4], "big"))
    if order is None:
        return False
    first = second = 0
    words = struct.unpack(f"{order}6I", header[:24])
    for one, other in zip(words[::2], words[1::2], strict=True):
        first = (first + one + second) & 0xFFFFFFFF
        second = (second + other + first) & 0xFFFFFFFF
    return struct.pack(">2I", first, second) == header[24:32]


def _taken(database: Path) -> tuple[int, bytes] | None:
    """How many frames of the log SQLite takes and their salts, as its index in shared memory says."""
    try:
        with Path(f"{database}-shm").open("rb") as file:
            start = file.read(40)
    except OSError:
        return None
    return int.from_bytes(start[16:20], sys.byteorder), start[32:40]


def check_log(database: Path, before: Log | None, place: str) -> None:
    """Refuse a database whose log was damaged; `before` was read before SQLite looked at it, which it has now."""
    if before is None or (found := _taken(database)) is None or (now := read_log(database)) is None:
        return
    taken, salts = found
    if now.salts != before.salts or (before.header_is_whole and salts != before.salts):
        return  # another process has started the log anew, so all of it is in the database
    expected = before.salts if before.header_is_whole else before.frames[0][1]
    left = sum(ends for ends, salt in before.frames[taken:] if salt == expected)
    if left > 1:
        raise StorageError(
            f"storage {place} is damaged: its write-ahead log is broken, and the last {left} transactions cannot be "
            "read; restore it from a copy, or go on without them after: "
            "sqlite3 FILE 'PRAGMA wal_checkpoint(TRUNCATE)'"
        )

"""A damaged write-ahead log: SQLite takes the transactions before the damage and forgets the rest without a word.

It has to, since a transaction that was being written when the power failed looks the same. But only one transaction can
have been on its way: every other one was on disk before the next began. Each frame's checksum continues the one of the
frame before it, so two transactions that fit together, after the last one that SQLite takes, are proof of damage. (A
log whose last transaction alone is damaged cannot be distinguished from one that was never finished.) The layout is the
documented one of SQLite's file `-wal`.
"""

import struct
import time
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

from ...errors import StorageError

HEADER, FRAME = 32, 24
ORDERS = {0x377F0682: "<", 0x377F0683: ">"}
"""The first word of a log says in which order the bytes of what is summed up are read."""
PAGE_SIZES = [2**power for power in range(9, 17)]
USUAL_PAGE_SIZE = 4096
LOOKS, PAUSE = 4, 0.1


class Frame(NamedTuple):
    """One page in a log, by what stands before it."""

    ends: bool
    """Whether it ends a transaction."""
    salts: bytes
    place: int
    """Where it begins in the file."""


class Log(NamedTuple):
    """The header and frames of a log, read before SQLite opens it."""

    header: bytes
    page: int
    frames: list[Frame]

    @property
    def salts(self) -> bytes:
        """What all frames of the same turn of the log have."""
        return self.header[16:24]

    @property
    def order(self) -> str:
        """How words are read; the usual one where the first word is damaged."""
        return ORDERS.get(int.from_bytes(self.header[:4], "big"), "<")

    @property
    def header_is_whole(self) -> bool:
        """Whether the header fits its own checksum."""
        return _summed(self.header[:24], (0, 0), self.order) == _sums(self.header[24:32])


def read_log(database: Path) -> Log | None:
    """The log of a database; None when it cannot be read or has no frames."""
    try:
        with Path(f"{database}-wal").open("rb") as file:
            header = file.read(HEADER)
            page = int.from_bytes(header[8:12], "big")
            if page not in PAGE_SIZES:
                page = USUAL_PAGE_SIZE
            frames = []
            while len(head := file.read(FRAME)) == FRAME:
                frames.append(Frame(head[4:8] != bytes(4), head[8:16], file.tell() - FRAME))
                file.seek(page, 1)
    except OSError:
        return None
    return Log(header, page, frames) if frames else None


def _sums(stored: bytes) -> tuple[int, int]:
    first, second = struct.unpack(">2I", stored)
    return first, second


def _summed(content: bytes, sums: tuple[int, int], order: str) -> tuple[int, int]:
    """SQLite's checksum, continued."""
    first, second = sums
    words = struct.unpack(f"{order}{len(content) // 4}I", content)
    for one, other in zip(words[::2], words[1::2], strict=True):
        first = (first + one + second) & 0xFFFFFFFF
        second = (second + other + first) & 0xFFFFFFFF
    return first, second


def _transactions_left(database: Path, log: Log, taken: int) -> int:
    """The most transactions that fit together, one after the other, behind the frames that are taken."""
    expected = log.salts if log.header_is_whole else log.frames[0].salts
    most = here = 0
    before: tuple[int, int] | None = None
    with Path(f"{database}-wal").open("rb") as file:
        for frame in log.frames[taken:]:
            file.seek(frame.place)
            content = file.read(FRAME + log.page)
            if len(content) < FRAME + log.page or frame.salts != expected:
                break
            sums = _sums(content[16:24])
            summed = None if before is None else _summed(content[:8], before, log.order)
            continues = summed is not None and _summed(content[FRAME:], summed, log.order) == sums
            here = frame.ends + (here if continues else 0)
            most, before = max(most, here), sums
    return most


def check_log(database: Path, before: Log | None, frames_taken: Callable[[], int | None], place: str) -> None:
    """Refuse a database whose log was damaged; `before` was read before SQLite looked at it, which it has now.

    Another process may be starting the log anew, when all of it is in the database; so what looks damaged is looked at
    again. On a full disk the number of frames is unknown, and nothing is checked. (Only the log itself is opened here:
    SQLite would lose its locks if this process closed one of its other files.)
    """
    left = 0
    for _ in range(LOOKS):
        taken = frames_taken()
        now = read_log(database)
        if before is None or now is None or taken is None or now.salts != before.salts:
            return
        if len(before.frames) <= taken:
            return
        left = _transactions_left(database, before, taken)
        if left < 2:
            return
        time.sleep(PAUSE)
    raise StorageError(
        f"storage {place} is damaged: its write-ahead log is broken, and at least {left} transactions cannot be read; "
        "restore it from a copy, or continue without them after: sqlite3 FILE 'PRAGMA wal_checkpoint(TRUNCATE)'"
    )

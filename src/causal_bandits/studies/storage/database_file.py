"""The file of an SQLite storage: made for its owner alone, and noticed when it is replaced or deleted while open."""

import os
import shutil
from pathlib import Path
from urllib.parse import quote

import sqlalchemy as sa

from ...errors import StorageError

MAGIC = b"SQLite format 3\0"
HEADER = 100
LEAST_BYTES = 65_536
"""What SQLite needs for the files beside the database."""


def read_only_url(url: sa.URL, *, has_log: bool) -> sa.URL:
    """The address that reads a file and writes nothing; with a log, others may still change the file."""
    path = quote(str(Path(str(url.database)).absolute()))
    query = {**url.query, "mode": "ro", "uri": "true"} | ({} if has_log else {"immutable": "1"})
    return url.set(database=f"file:{path}", query=query)


_open: dict[tuple[int, int], int] = {}
"""Files opened to look at; never closed, since closing one would take away the locks that SQLite has on it."""


def _kept_open(path: Path) -> int:
    found = path.stat()
    which = found.st_dev, found.st_ino
    if which not in _open:
        _open[which] = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    return _open[which]


class DatabaseFile:
    """What is known of the file: which one it is, and how long it was."""

    def __init__(self, path: Path, place: str) -> None:
        self.path = path
        self._place = place
        self._which: tuple[int, int] | None = None
        self._size = 0

    def create(self) -> None:
        """An empty file that only its owner may read, unless there is one."""
        try:
            os.close(os.open(self.path, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600))
        except OSError:  # it is there, or cannot be made: then SQLite says why
            return

    @property
    def has_log(self) -> bool:
        """Whether there is a write-ahead log that must be read with the file."""
        log = Path(f"{self.path}-wal")
        return log.exists() and log.stat().st_size > 0

    @property
    def may_be_written(self) -> bool:
        """Whether this process may write the file and, for its log, its folder."""
        return os.access(self.path, os.W_OK) and os.access(self.path.parent, os.W_OK)

    @property
    def disk_is_full(self) -> bool:
        """Whether there is no room for the files that SQLite makes beside this one."""
        return shutil.disk_usage(self.path.parent).free < LEAST_BYTES

    def check(self) -> None:
        """Raise when the path now leads to another file, to no file, or to a truncated file."""
        try:
            found = self.path.stat()
        except FileNotFoundError:
            raise self._gone("was deleted") from None
        except OSError as error:
            raise self._gone(f"cannot be found any more ({error.strerror})") from None
        which = found.st_dev, found.st_ino
        if self._which is None:
            self._which = which
        elif self._which != which:
            raise self._gone("was replaced by another file")
        if found.st_size < self._size and not self._is_whole(found.st_size):
            raise self._gone("was cut short")
        self._size = found.st_size

    def _is_whole(self, size: int) -> bool:
        """Whether a file that has become shorter is as long as its header says (after VACUUM it is)."""
        header = os.pread(_kept_open(self.path), HEADER, 0)
        if len(header) < HEADER or not header.startswith(MAGIC):
            return False
        page, pages = int.from_bytes(header[16:18], "big"), int.from_bytes(header[28:32], "big")
        return (65536 if page == 1 else page) * pages <= size

    def _gone(self, what: str) -> StorageError:
        return StorageError(
            f"the file of storage {self._place} {what} while it was open, so nothing more is acknowledged; "
            "put the right file in place and load the study again"
        )

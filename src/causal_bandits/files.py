"""Writing files so that a reader never sees half of one, and reading files that others may have meddled with."""

import contextlib
import os
import secrets
import stat
import tempfile
from collections.abc import Iterator
from pathlib import Path

from .errors import OutputError


def output_folder(path: str | os.PathLike[str]) -> Path:
    """The folder, made if need be and known to be writable."""
    folder = Path(path)
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder):
            pass
    except OSError as error:
        raise OutputError(
            f"cannot write to folder {str(folder)!r} ({error.strerror or error}); name another one"
        ) from None
    return folder


@contextlib.contextmanager
def replacing(path: str | os.PathLike[str]) -> Iterator[Path]:
    """Write to the path this gives; it takes the real name in one step, or not at all."""
    target = Path(path)
    if not target.name:
        raise OutputError(f"{str(path)!r} is not the name of a file; name one")
    temporary = target.with_name(f".{target.stem}.{secrets.token_hex(6)}{target.suffix}")
    try:
        yield temporary
        with temporary.open("rb+") as written:
            os.fsync(written.fileno())
        temporary.replace(target)
    except OSError as error:
        raise OutputError(f"cannot write {str(target)!r} ({error.strerror or error}); name another place") from None
    finally:
        with contextlib.suppress(OSError):  # it may be gone, or its folder may be none
            temporary.unlink()


def read_regular(path: str | os.PathLike[str], largest: int) -> bytes | None:
    """What is in a file; None if there is none, if it is something else, larger, or cannot be read.

    It does not wait for what may never come: a pipe or a device that bears the name is not opened.
    """
    try:
        if not stat.S_ISREG(Path(path).stat().st_mode):
            return None
        flags = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)
        with os.fdopen(os.open(path, flags), "rb") as file:
            found = os.fstat(file.fileno())  # it may have been exchanged since
            return file.read() if stat.S_ISREG(found.st_mode) and found.st_size <= largest else None
    except (OSError, ValueError):
        return None

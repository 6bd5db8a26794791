"""Writing files so that a reader never sees half of one, and reading files that others may have meddled with."""

import contextlib
import os
import secrets
import stat
import tempfile
from collections.abc import Iterator
from pathlib import Path

from ..errors import CausalBanditsError, OutputError, brief


def output_folder(path: str | os.PathLike[str]) -> Path:
    """The folder, created if it does not exist, and checked to be writable."""
    folder = file_path(path)
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder):
            pass
    except OSError as error:
        raise OutputError(
            f"cannot write to folder {brief(str(folder))} ({error.strerror or error}); use another one"
        ) from None
    return folder


def file_path(path: object) -> Path:
    """A path that a file system can have; anything else is one sentence."""
    if not isinstance(path, str | os.PathLike):
        raise OutputError(f"{brief(path)} is not a path; name a file or folder")
    try:
        text = os.fspath(path)
        os.fsencode(text)
    except (TypeError, UnicodeError):
        raise OutputError(f"{brief(path)} is not a path that can be written; use another one") from None
    if isinstance(text, bytes) or "\0" in text:
        raise OutputError(f"{brief(path)} is not a path that can be written; use another one")
    return Path(text)


@contextlib.contextmanager
def replacing(path: str | os.PathLike[str], *, own: bool = False) -> Iterator[Path]:
    """Write to the path this gives; it takes the real name in one step, or not at all.

    The new file has the mode of the one it replaces. A link is replaced itself: what it points at stays as it is.
    Devices, pipes and folders are rejected; in our `own` folders everything but folders is replaced.
    """
    target = file_path(path)
    if not target.name:
        raise OutputError(f"{brief(str(path))} is not the name of a file; pass a file name")
    temporary = target.with_name(f".{target.stem[:80]}.{secrets.token_hex(6)}{target.suffix}")
    try:
        _make_empty(temporary, _mode_of(target, own=own))
        yield temporary
        with temporary.open("rb+") as written:
            os.fsync(written.fileno())
        temporary.replace(target)
    except CausalBanditsError:  # some are OSErrors too, and say already what is wrong
        raise
    except OSError as error:
        raise OutputError(f"cannot write {brief(str(target))} ({error.strerror or error}); use another path") from None
    finally:
        with contextlib.suppress(OSError):  # it may be gone, or its folder may be none
            temporary.unlink()


def read_regular(path: str | os.PathLike[str], largest: int) -> bytes | None:
    """What is in a file; None if there is none, if it is something else, larger, or cannot be read.

    Pipes and devices are not opened, since reading them could block.
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


def _mode_of(target: Path, *, own: bool) -> int | None:
    """The mode of a file that is to be replaced; None if there is none."""
    try:
        found = target.stat()
    except (FileNotFoundError, NotADirectoryError):  # also a link to nothing
        return None
    if not stat.S_ISREG(found.st_mode):
        if own:
            return None
        raise OutputError(
            f"cannot write {brief(str(target))}: it is not a file but a folder, pipe or device; use another path"
        )
    return stat.S_IMODE(found.st_mode)


def _make_empty(temporary: Path, mode: int | None) -> None:
    """The file to write to, with its mode from the start: nobody reads what the old file kept to its owner."""
    flags = os.O_CREAT | os.O_EXCL | os.O_WRONLY | getattr(os, "O_NOFOLLOW", 0)
    handle = os.open(temporary, flags, 0o666 if mode is None else mode & 0o777)
    try:
        if mode is not None and hasattr(os, "fchmod"):
            os.fchmod(handle, mode & 0o777)
    finally:
        os.close(handle)

"""Writing files so that a reader never sees half of one."""

import contextlib
import os
import secrets
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

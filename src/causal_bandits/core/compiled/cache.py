"""Where compiled code is cached, and whether the cached code is valid.

numba writes and reads the files; `Locator`, which its setting CACHE_LOCATOR_CLASSES names, says where. The folder is
named by a digest of the sources and of the versions of numba, llvmlite and numpy, so that an edit of any function that
takes part is noticed. Beside the files of each function are their digests: numba runs what it finds, whole or not.
"""

import contextlib
import hashlib
import os
import shutil
import sys
import time
from collections.abc import Callable, Iterator
from functools import lru_cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from ...errors import warn_once

PACKAGE = Path(__file__).parents[2]
COUNT = ("core", "research")
"""The packages whose sources compiled code is made of."""
STALE_SECONDS = 30 * 86400.0
"""Code of other sources that was not extended for this long is deleted."""
SUMS = "digests.sums"
ADVICE = "set NUMBA_CACHE_DIR to a folder that can be written"


@lru_cache(maxsize=1)
def sources() -> str:
    """A digest of all that compiled code depends on."""
    digest = hashlib.sha256(sys.version.encode())
    for library in ("numba", "llvmlite", "numpy"):
        with contextlib.suppress(PackageNotFoundError):
            digest.update(f"{library} {version(library)}\n".encode())
    for path in sorted(path for each in COUNT for path in (PACKAGE / each).rglob("*.py")):
        with contextlib.suppress(OSError):  # it is being replaced
            digest.update(f"{path.relative_to(PACKAGE).as_posix()}\0".encode() + path.read_bytes())
    return digest.hexdigest()[:16]


def folder() -> Path | None:
    """The folder for compiled code of these sources; None if no folder can be read or written."""
    checked = "-bounds" if os.environ.get("NUMBA_BOUNDSCHECK", "0") not in ("", "0") else ""
    return _folder(os.environ.get("NUMBA_CACHE_DIR", ""), f"{sources()}{checked}")


@lru_cache(maxsize=8)
def _folder(given: str, name: str) -> Path | None:
    """In NUMBA_CACHE_DIR, else beside the package, else in the user's cache folder."""
    for base in _bases(given):
        found = base / name
        if found.is_dir() and (os.access(found, os.W_OK) or any(found.glob(f"*/{SUMS}"))):
            return found
        with contextlib.suppress(OSError):
            found.mkdir(parents=True, mode=0o700)
            _drop_stale(base)
            return found
    tried = f"{given!r} cannot be written" if given else "no folder can be written"
    warn_once("compiled code, kept", f"compiled code cannot be cached: {tried}; {ADVICE}")
    return None


def _bases(given: str) -> list[Path]:
    if given:
        return [Path(given) / "causal-bandits"]
    from platformdirs import user_cache_path

    return [PACKAGE / "__pycache__" / "compiled", user_cache_path("causal-bandits") / "compiled"]


def _drop_stale(base: Path) -> None:
    for each in base.iterdir():
        with contextlib.suppress(OSError):
            if each.is_dir() and each.stat().st_mtime < time.time() - STALE_SECONDS:
                shutil.rmtree(each)


class Locator:
    """What numba asks of a place for the compiled code of one function: here, a separate folder."""

    def __init__(self, path: Path) -> None:
        self._path = path

    @classmethod
    def from_function(cls, function: Callable[..., object], file: str) -> "Locator | None":
        """The place for a function; None if there is none."""
        path = _path(function)
        return None if path is None else cls(path)

    def ensure_cache_path(self) -> None:
        """Create the folder, which may have been deleted."""
        self._path.mkdir(parents=True, exist_ok=True)

    def get_cache_path(self) -> str:
        """The folder."""
        return str(self._path)

    def get_source_stamp(self) -> str:
        """The digest of the sources."""
        return sources()

    def get_disambiguator(self) -> str:
        """A part of the files' names; the folder says it all."""
        return ""


def _path(function: Any) -> Path | None:
    """The folder of a function: numba's index and code, and their digests in `SUMS`."""
    where = folder()
    return None if where is None else where / f"{function.__module__}.{function.__qualname__}"


def _digests(path: Path) -> str:
    """The names and digests of the files in a folder that numba has written."""
    files = sorted(path.glob("*.nb[ic]"))
    return "".join(f"{hashlib.sha256(file.read_bytes()).hexdigest()} {file.name}\n" for file in files)


def has(function: Any) -> bool:
    """Whether there is compiled code of a function, for whatever arguments."""
    path = _path(function)
    return path is not None and (path / SUMS).exists()


def is_whole(function: Any) -> bool:
    """Whether the files of a function are those that were written."""
    path = _path(function)
    try:
        return path is not None and (path / SUMS).read_text(encoding="utf-8") == _digests(path)
    except (OSError, UnicodeDecodeError) as error:
        if is_alarm(error):
            raise
        return False


def seal(function: Any) -> None:
    """Record the digests of a function's files, which were just written."""
    path = _path(function)
    with contextlib.suppress(OSError):
        if path is not None and (found := _digests(path)):
            temporary = path / f"{os.getpid()}.tmp"
            temporary.write_text(found, encoding="utf-8")
            temporary.replace(path / SUMS)


def remove_corrupt(function: Any) -> None:
    """Delete the compiled code of a function if it is corrupt, and say so once; the caller holds `one_writer`."""
    if has(function) and not is_whole(function):
        said = f"compiled code in {str(folder())!r} is corrupt; it is compiled again"
        warn_once("compiled code, read", said)
        shutil.rmtree(_path(function) or "", ignore_errors=True)


def is_alarm(error: Exception) -> bool:
    """Whether an error is no error of a file, but of a handler: an alarm may raise TimeoutError, an OSError."""
    return isinstance(error, OSError) and error.errno is None


def say_not_kept(error: Exception) -> None:
    """Warn once that compiled code could not be written."""
    reason = getattr(error, "strerror", None) or error
    warn_once("compiled code, kept", f"compiled code cannot be cached in {str(folder())!r} ({reason}); {ADVICE}")


def one_writer(function: Any, *, wait: bool = True) -> contextlib.AbstractContextManager[bool]:
    """One process at a time compiles a function: numba's index does not support two writers."""
    return locked(f"{function.__module__}.{function.__qualname__}", wait=wait)


@contextlib.contextmanager
def locked(name: str, *, wait: bool = True) -> Iterator[bool]:
    """Hold a lock of the cache folder. The system releases it when the process ends, however it does.

    Yields:
        Whether the lock is held. Without `wait` it is not while another process holds it, and never where locks
        cannot be written.
    """
    where, held = folder(), False
    with contextlib.ExitStack() as stack:
        if where is not None:
            with contextlib.suppress(OSError):
                lock = stack.enter_context((where / f"{name}.lock").open("ab"))
                _lock(lock.fileno(), wait=wait)
                held = True
        yield held


def _lock(descriptor: int, *, wait: bool) -> None:
    if sys.platform == "win32":
        import msvcrt

        msvcrt.locking(descriptor, msvcrt.LK_LOCK if wait else msvcrt.LK_NBLCK, 1)
    else:
        import fcntl

        fcntl.flock(descriptor, fcntl.LOCK_EX if wait else fcntl.LOCK_EX | fcntl.LOCK_NB)

"""Compiled code kept on disk: checked before it is run, written in one step, and never in the way of compiling.

numba's own files are not enough: an index that is empty or cut short raises at the first call, a flipped bit is run,
two processes that add to one index can exchange their entries, and an edit of a compiled function in another file (or
a new version of the package) goes unnoticed. So the files are ours, one for each function and signature:

    MAGIC | SHA-256 of what it was compiled from | SHA-256 of the rest | pickle of (key, compiled code)

"What it was compiled from" is every source file that holds compiled code (`HOLDS`) and the versions of the libraries
below; editing any other file compiles nothing. A file of other sources is replaced; a damaged one is said once and
replaced; a folder that cannot be written is said once, and every process compiles.
"""

import contextlib
import hashlib
import os
import pickle
import re
import secrets
import stat
import tempfile
from collections.abc import Callable
from functools import lru_cache
from pathlib import Path
from typing import Any

import llvmlite
import numba
import numpy as np
from numba.core.caching import FunctionCache, NullCache
from numba.core.serialize import dumps

from ..errors import warn_once
from . import generators

MAGIC = b"causal-bandits 1"
HEAD = len(MAGIC) + 32 + 32
ADVICE = "until then every process compiles again (seconds); free disk space, or set NUMBA_CACHE_DIR"
HOLDS = re.compile(
    rb"""^@(?:compiled|compiled_here|entry|generic|Operation)\b  # a compiled function, or an operation on states
    |^@?[\w.]+\.of\([A-Z]                                      # which implementation serves a state
    |^class\s\w+(?:State|Sampler)\(NamedTuple\)                # a state
    """,
    re.MULTILINE | re.VERBOSE,
)
"""Marks of a file that compiled code depends on; a test follows every name that compiled functions use."""
UNUSABLE = (pickle.PickleError, EOFError, AttributeError, ImportError, LookupError, TypeError, ValueError)
"""What reading a whole file may still raise: libraries that differ in spite of their versions."""


@lru_cache(maxsize=1)
def sources() -> bytes:
    """What compiled code depends on: the files that hold some, what compiles them, and the libraries below that."""
    digest = hashlib.sha256(f"{numba.__version__} {llvmlite.__version__} {np.__version__}".encode())
    for name, text in sorted(files_that_count(Path(__file__).parents[1]).items()):
        digest.update(f"{name}\0".encode() + text)
    return digest.digest()


def files_that_count(package: Path) -> dict[str, bytes]:
    """Files whose edits may change compiled code: the marked ones, and the `__init__.py` that pass their names on."""
    texts = {}
    for path in package.rglob("*.py"):
        with contextlib.suppress(OSError):  # it is being replaced
            texts[path.relative_to(package).as_posix()] = path.read_bytes()
    own = {name for name in texts if name.startswith("compiled/") or name == "dispatch.py"}
    held = {name for name, text in texts.items() if HOLDS.search(text)}
    passing = {f"{name.rpartition('/')[0]}/__init__.py" for name in held}
    return {name: texts[name] for name in texts.keys() & (own | held | passing)}


def _unread(sentence: str) -> None:
    warn_once("compiled code, read", sentence)


def _unkept(sentence: str) -> None:
    warn_once("compiled code, kept", sentence)


class CodeFiles:
    """What numba asks of the files of one function: `save`, `load` and `flush`."""

    def __init__(self, folder: str, name: str, stamp: bytes) -> None:
        self._folder, self._name, self._stamp = Path(folder), name, stamp

    def _path(self, key: object) -> Path:
        return self._folder / f"{self._name}.{hashlib.sha256(repr(key).encode()).hexdigest()[:16]}.nbc"

    def _head(self, body: bytes) -> bytes:
        return MAGIC + hashlib.sha256(sources() + self._stamp).digest() + hashlib.sha256(body).digest()

    def load(self, key: object) -> Any | None:
        """The code for a key; None where there is none, or none that can be used."""
        path = self._path(key)
        try:
            content = path.read_bytes() if stat.S_ISREG(path.stat().st_mode) else b""  # a pipe would never end
        except (FileNotFoundError, NotADirectoryError):
            return None
        except OSError as error:
            if error.errno is None:  # not of the file system: an alarm that raises TimeoutError, say
                raise
            _unread(f"compiled code cannot be read from {str(path)!r} ({error.strerror}); it is compiled again")
            return None
        body = content[HEAD:]
        head = self._head(body)
        stale = content[: len(MAGIC)] == MAGIC and content[: HEAD - 32] != head[: HEAD - 32]
        if stale and len(content) > HEAD:
            return None
        if content[:HEAD] != head:
            _unread(f"compiled code in {str(path)!r} is damaged; it is compiled again and replaced")
            return None
        stored, code = pickle.loads(body)
        return code if stored == key else None

    def save(self, key: object, code: object) -> None:
        """Write a file under a name of its own, then give it the real one; nothing is left behind otherwise."""
        path, body = self._path(key), dumps((key, code))
        temporary = path.with_name(f"{path.name}.{secrets.token_hex(6)}.tmp")
        try:
            temporary.write_bytes(self._head(body) + body)
            temporary.replace(path)
        except BaseException:
            with contextlib.suppress(OSError):
                temporary.unlink()
            raise

    def flush(self) -> None:
        """Forget everything that is stored."""
        for path in self._folder.glob(f"{self._name}.*.nbc"):
            path.unlink(missing_ok=True)


class CodeCache(FunctionCache):
    """numba's cache of one function over files of ours."""

    def __init__(self, function: Callable[..., object]) -> None:
        super().__init__(function)
        stamp = repr(self._impl.locator.get_source_stamp()).encode()
        self._cache_file: Any = CodeFiles(self._cache_path, self._impl.filename_base, stamp)

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        """The compiled code, or None: numba then compiles."""
        generators.install()
        try:
            return super().load_overload(sig, target_context)
        except UNUSABLE as error:
            _unread(f"compiled code in {self._cache_path!r} cannot be used ({error!r}); it is compiled again")
            return None

    def _index_key(self, sig: Any, codegen: Any) -> tuple[object, ...]:
        """numba's key, and whether indices are checked, which numba's key leaves out."""
        settings: Any = numba.config
        return (*super()._index_key(sig, codegen), bool(settings.BOUNDSCHECK))

    def save_overload(self, sig: Any, data: Any) -> None:
        """Keep compiled code where that can be done."""
        try:
            super().save_overload(sig, data)
        except RuntimeError as error:  # LLVM's code did not reach numba: Ctrl-C was raised, and lost, in a callback
            _unkept(f"compiled code cannot be cached this time ({error}); the next process compiles it again")
        except OSError as error:
            if error.errno is None:
                raise
            reason = f"{self._cache_path!r} ({error.strerror})"
            _unkept(f"compiled code cannot be cached in {reason}: {ADVICE}")


class NotKept(NullCache):
    """For a function that is compiled for this process alone."""

    def load_overload(self, sig: Any, target_context: Any) -> None:
        """Nothing is stored."""
        generators.install()


class NoCache(NotKept):
    """For a function that no folder can be found for."""

    def save_overload(self, sig: Any, cres: Any) -> None:
        """Nothing can be stored."""
        _unkept(f"compiled code cannot be cached: no writable folder; {ADVICE}")


def cache_for(function: Callable[..., object]) -> CodeCache | NoCache:
    """In NUMBA_CACHE_DIR, beside the source, in the user's cache folder, in a private temporary one, or nowhere."""
    with contextlib.suppress(RuntimeError, OSError):
        return CodeCache(function)
    folder = private_folder()
    if folder is None:
        return NoCache()
    settings: Any = numba.config
    before = settings.CACHE_DIR
    settings.CACHE_DIR = folder
    try:
        return CodeCache(function)
    except (RuntimeError, OSError):
        return NoCache()
    finally:
        settings.CACHE_DIR = before


@lru_cache(maxsize=1)
def private_folder() -> str | None:
    """A temporary folder of this user alone: what is cached is run, so nobody else may write there."""
    user = os.getuid() if hasattr(os, "getuid") else None
    try:
        folder = Path(tempfile.gettempdir()) / f"causal-bandits-{'numba' if user is None else user}"
        folder.mkdir(mode=0o700, exist_ok=True)
        about, above = folder.lstat(), folder.parent.stat()
    except OSError:
        return None
    if not stat.S_ISDIR(about.st_mode):
        return None
    if user is None:
        return str(folder)
    private = about.st_uid == user and not about.st_mode & 0o077
    fixed = not above.st_mode & 0o022 or bool(above.st_mode & stat.S_ISVTX)  # nobody else can put another in its place
    return str(folder) if private and fixed else None

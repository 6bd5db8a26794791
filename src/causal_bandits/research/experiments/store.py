"""Finished chunks: one Parquet file each, written atomically and checked when read."""

from __future__ import annotations

import hashlib
import io
import re
from collections.abc import Callable
from pathlib import Path

from ...core.files import output_folder, read_regular, replacing
from ...errors import OutputError
from ...libraries import pl
from .base import Chunk

LARGEST = 2**30
"""Bytes; no chunk comes near, so a larger file is not a chunk."""
Part = tuple["pl.DataFrame", float]
"""A chunk's rows, and how long they took."""


class ChunkStore:
    """The finished chunks of one plan. Those of other plans may lie in the same folder; they are left alone.

    A file's name holds a digest of the chunk's name, which may be any text, and ends in one of plan, name and content:
    a file that is corrupt, or that was renamed, is known before anything is read from it.
    """

    def __init__(self, folder: Path, fingerprint: str) -> None:
        self.folder = output_folder(folder)
        self.fingerprint = fingerprint
        self._files: dict[str, list[Path]] = {}
        for path in sorted(self.folder.glob(f"{fingerprint}-*.*.parquet")):
            self._files.setdefault(path.name.split(".")[0], []).append(path)

    def _key(self, chunk: Chunk) -> str:
        return f"{self.fingerprint}-{safe_name(chunk.name)}"

    def _digest(self, chunk: Chunk, content: bytes) -> str:
        named = "\0".join([self.fingerprint, chunk.name, ""]).encode("utf-8", "surrogatepass")
        return hashlib.sha256(named + content).hexdigest()[:16]

    def path(self, chunk: Chunk) -> Path | None:
        """The chunk's file, if there is one that is whole."""
        return next((path for path in self._files.get(self._key(chunk), []) if self._content(chunk, path)), None)

    def put(self, chunk: Chunk, rows: pl.DataFrame, seconds: float) -> None:
        """Keep a finished chunk and how long it took."""
        buffer = io.BytesIO()
        rows.write_parquet(buffer, metadata={"seconds": f"{seconds:.3f}"})
        content = buffer.getvalue()
        place = self.folder / f"{self._key(chunk)}.{self._digest(chunk, content)}.parquet"
        with replacing(place, own=True) as path:
            path.write_bytes(content)
        self._files.setdefault(self._key(chunk), []).append(place)

    def _content(self, chunk: Chunk, path: Path) -> bytes | None:
        """What is in the file, if that is this chunk."""
        content = read_regular(path, LARGEST)
        whole = content is not None and path.name.split(".")[1] == self._digest(chunk, content)
        return content if whole else None

    def missing(self, chunks: list[Chunk], warn: Callable[[str], None]) -> list[Chunk]:
        """The chunks that are still to do; a foreign file in the way of one is reported."""
        missing = []
        for chunk in chunks:
            if self.path(chunk) is None:
                missing.append(chunk)
                for path in self._files.pop(self._key(chunk), []):
                    warn(f"{path} {_removed(path)}; that part is run again")
        return missing

    def get(self, chunk: Chunk) -> Part:
        """A finished chunk's rows, and how long they took."""
        path = self.path(chunk)
        content = None if path is None else self._content(chunk, path)
        part = None if content is None else _part(content)
        if part is None:
            raise OutputError(
                f"part {chunk.name!r} in {str(self.folder)!r} was changed or removed while it was in use; "
                "run the same command again"
            )
        return part


def _part(content: bytes) -> Part | None:
    try:
        seconds = float(pl.read_parquet_metadata(io.BytesIO(content))["seconds"])
        return pl.read_parquet(io.BytesIO(content)), seconds
    except (pl.exceptions.PolarsError, KeyError, ValueError, OSError):
        return None


def _removed(path: Path) -> str:
    """Remove a file that is corrupt; what is no file, or cannot be read, is left alone."""
    if read_regular(path, LARGEST) is None:
        return "is not a file that can be read"
    try:
        path.unlink(missing_ok=True)
    except OSError:
        return "is corrupt and cannot be removed"
    return "is corrupt"


def safe_name(text: str) -> str:
    """A file name for any text: its readable characters, and a digest.

    >>> safe_name("all-000-0010"), safe_name("../é.x")
    ('all-000-0010-d31912a23017', 'x-5b9712cfebd8')
    """
    readable = re.sub(r"[^a-z0-9]+", "-", text.lower()).strip("-")[:40]
    digest = hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:12]
    return f"{readable}-{digest}" if readable else digest

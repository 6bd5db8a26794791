"""Where finished chunks are kept: one Parquet file each, written in one step and checked when read."""

import hashlib
import io
from collections.abc import Callable
from pathlib import Path

import polars as pl

from ..errors import OutputError
from ..files import output_folder, replacing
from .base import Chunk


class ChunkStore:
    """The finished chunks of one plan. Those of other plans may lie in the same folder; they are left alone.

    A file's name ends in a digest of its content, so that a damaged one is known before anything is read from it.
    """

    def __init__(self, folder: Path, fingerprint: str) -> None:
        self.folder = output_folder(folder)
        self.fingerprint = fingerprint
        found = sorted(self.folder.glob(f"{fingerprint}-*.parquet"))
        self._paths = {path.name.split(".")[0]: path for path in found}

    def _key(self, chunk: Chunk) -> str:
        return f"{self.fingerprint}-{chunk.name}"

    def path(self, chunk: Chunk) -> Path | None:
        """The chunk's file, if there is one."""
        return self._paths.get(self._key(chunk))

    def put(self, chunk: Chunk, rows: pl.DataFrame, seconds: float) -> None:
        """Keep a finished chunk and how long it took."""
        buffer = io.BytesIO()
        rows.write_parquet(buffer, metadata={"seconds": f"{seconds:.3f}"})
        content = buffer.getvalue()
        place = self.folder / f"{self._key(chunk)}.{_digest(content)}.parquet"
        with replacing(place) as path:
            path.write_bytes(content)
        self._paths[self._key(chunk)] = place

    def _content(self, chunk: Chunk) -> bytes | None:
        path = self.path(chunk)
        try:
            content = b"" if path is None else path.read_bytes()
        except OSError:
            return None
        return content if path is not None and path.name.split(".")[1] == _digest(content) else None

    def missing(self, chunks: list[Chunk], warn: Callable[[str], None]) -> list[Chunk]:
        """The chunks that are still to do; a file that is damaged is removed and said."""
        missing = []
        for chunk in chunks:
            if self._content(chunk) is None:
                missing.append(chunk)
                path = self._paths.pop(self._key(chunk), None)
                if path is not None:
                    warn(f"{path} is damaged; that part is run again")
                    path.unlink(missing_ok=True)
        return missing

    def get(self, chunk: Chunk) -> tuple[pl.DataFrame, float]:
        """A finished chunk's rows, and how long they took."""
        content = self._content(chunk)
        if content is None:
            raise OutputError(
                f"part {chunk.name!r} in {str(self.folder)!r} was changed or removed meanwhile; "
                "run the same command again"
            )
        return pl.read_parquet(io.BytesIO(content)), float(pl.read_parquet_metadata(io.BytesIO(content))["seconds"])


def _digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()[:16]

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
    """The finished chunks of one plan. Those of other plans may lie in the same folder; they are left alone."""

    def __init__(self, folder: Path, fingerprint: str) -> None:
        self.folder = output_folder(folder)
        self.fingerprint = fingerprint

    def path(self, chunk: Chunk) -> Path:
        """Where the chunk's file is, once it is done."""
        return self.folder / f"{self.fingerprint}-{chunk.name}.parquet"

    def put(self, chunk: Chunk, rows: pl.DataFrame, seconds: float) -> None:
        """Keep a finished chunk and how long it took."""
        buffer = io.BytesIO()
        rows.write_parquet(buffer, metadata={"digest": digest(rows), "seconds": f"{seconds:.3f}"})
        with replacing(self.path(chunk)) as path:
            path.write_bytes(buffer.getvalue())

    def get(self, chunk: Chunk) -> pl.DataFrame | None:
        """A chunk's rows; None when its file is missing or damaged."""
        try:
            content = self.path(chunk).read_bytes()
            rows = pl.read_parquet(io.BytesIO(content))
            expected = pl.read_parquet_metadata(io.BytesIO(content)).get("digest")
        except (OSError, pl.exceptions.PolarsError):
            return None
        return rows if expected == digest(rows) else None

    def rows(self, chunk: Chunk) -> pl.DataFrame:
        """A finished chunk's rows."""
        rows = self.get(chunk)
        if rows is None:
            raise OutputError(f"{str(self.path(chunk))!r} was changed or removed meanwhile; run the same command again")
        return rows

    def missing(self, chunks: list[Chunk], warn: Callable[[str], None]) -> list[Chunk]:
        """The chunks that are still to do; a file that is damaged is to do, and said."""
        missing = []
        for chunk in chunks:
            if self.get(chunk) is None:
                if self.path(chunk).exists():
                    warn(f"{self.path(chunk)} is damaged; that part is run again")
                missing.append(chunk)
        return missing

    def seconds(self, chunks: list[Chunk]) -> float:
        """How long the chunks took, added up."""
        return sum(float(pl.read_parquet_metadata(self.path(chunk))["seconds"]) for chunk in chunks)


def digest(rows: pl.DataFrame) -> str:
    """A number that changes with any value of a table."""
    return hashlib.sha256(rows.write_csv().encode()).hexdigest()

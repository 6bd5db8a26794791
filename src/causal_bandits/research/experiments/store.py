"""Results on disk: the folder with its manifest, one Parquet file per finished chunk, and the run that resumes."""

from __future__ import annotations

import hashlib
import io
import json
import os
import platform
import re
import subprocess
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from importlib import metadata
from pathlib import Path
from typing import Any, NamedTuple, cast

from ..._version import __version__
from ...core.files import output_folder, read_regular, replacing
from ...errors import OutputError
from ...libraries import pl
from ...reporting.summaries import About
from .base import Chunk, Experiment, Scale
from .engines import Done, Engine

PROGRAM = "causal-bandits"
LARGEST_JSON = 2**28
"""Bytes of a JSON file that is read."""
LIBRARIES = ("numpy", "scipy", "numba", "polars", "matplotlib")


class ResultsFolder:
    """A folder that holds results and nothing else."""

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = Path(path)
        self._check()
        output_folder(self.path)
        self._write({"program": PROGRAM, **self._read()})

    def _check(self) -> None:
        """Reject a folder that belongs to something else before anything is written."""
        try:
            others = self.path.exists() and any(self.path.iterdir())
        except OSError as error:
            raise OutputError(
                f"cannot write to folder {str(self.path)!r} ({error.strerror or error}); use another one"
            ) from None
        if others and self._read().get("program") != PROGRAM:
            raise OutputError(
                f"folder {str(self.path)!r} contains files that are not results of causal-bandits; name a new or empty "
                f"one" + self._hint()
            )

    def _hint(self) -> str:
        """What to do where there seem to be results but the manifest is missing or corrupt."""
        if not any(self.path.glob("*/chunks")):
            return ""
        return f""", or, if it does, write {json.dumps({"program": PROGRAM})} to its manifest.json"""

    def _read(self) -> dict[str, Any]:
        return read_json(self.path / "manifest.json") or {}

    def _write(self, manifest: Mapping[str, Any]) -> None:
        write_json(self.path / "manifest.json", manifest)

    @property
    def figures(self) -> dict[str, About]:
        """What the manifest says of each figure."""
        found = self._read().get("figures")
        entries = found.items() if isinstance(found, dict) else ()
        return {name: cast(About, entry) for name, entry in entries if isinstance(entry, dict)}

    def record(self, figure: str, entry: About) -> None:
        """Record how a figure was made."""
        about: About = {
            **entry,
            "finished": datetime.now(UTC).isoformat(timespec="seconds"),
            "version": __version__,
            "commit": _commit(),
            "python": platform.python_version(),
            "libraries": {name: metadata.version(name) for name in LIBRARIES},
            "machine": f"{platform.system()} {platform.machine()}, {os.cpu_count()} cores",
        }
        self._write({**self._read(), "program": PROGRAM, "figures": {**self.figures, figure: about}})


def write_json(path: Path, content: Mapping[str, Any]) -> None:
    """A JSON file, written in one step."""
    with replacing(path, own=True) as temporary:
        temporary.write_text(json.dumps(content, indent=1, allow_nan=False) + "\n", encoding="ascii")


def read_json(path: Path) -> dict[str, Any] | None:
    """The object in a JSON file; None if it cannot be read."""
    try:
        found = json.loads(read_regular(path, LARGEST_JSON) or b"")
    except (ValueError, RecursionError):
        return None
    return found if isinstance(found, dict) else None


def _commit() -> str | None:
    """The commit of the sources in use, if they are a checkout of this project."""
    here = Path(__file__).resolve().parent
    if not (here.parents[2] / ".git").exists():
        return None
    try:
        told = subprocess.run(
            ["git", "-C", str(here), "describe", "--always", "--dirty", "--abbrev=12"],
            capture_output=True,
            text=True,
            timeout=10,
            check=True,
        )
    except (OSError, subprocess.SubprocessError):
        return None
    return told.stdout.strip() or None


LARGEST_CHUNK = 2**30
"""Bytes; no chunk comes near, so a larger file is not a chunk."""


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

    def _name(self, chunk: Chunk, content: bytes) -> str:
        named = "\0".join([self.fingerprint, chunk.name, ""]).encode("utf-8", "surrogatepass")
        return f"{self._key(chunk)}.{hashlib.sha256(named + content).hexdigest()[:16]}.parquet"

    def _key(self, chunk: Chunk) -> str:
        return f"{self.fingerprint}-{safe_name(chunk.name)}"

    def put(self, chunk: Chunk, done: Done) -> None:
        """Keep a finished chunk."""
        buffer = io.BytesIO()
        done.rows.write_parquet(buffer, metadata={"seconds": f"{done.seconds:.3f}"})
        content = buffer.getvalue()
        with replacing(self.folder / self._name(chunk, content), own=True) as path:
            path.write_bytes(content)

    def get(self, chunk: Chunk, warn: Callable[[str], None]) -> Done | None:
        """A finished chunk, if it is there and whole; other files in its place are reported and left alone."""
        paths = self._files.get(self._key(chunk), [])
        for path in paths:
            content = read_regular(path, LARGEST_CHUNK)
            if content is not None and path.name == self._name(chunk, content):
                seconds = pl.read_parquet_metadata(io.BytesIO(content))["seconds"]
                return Done(pl.read_parquet(io.BytesIO(content)), float(seconds))
        for path in paths:
            warn(f"{path} is corrupt; that part is run again")
        return None


def safe_name(text: str) -> str:
    """A file name for any text: its readable characters, and a digest.

    >>> safe_name("all-000-0010"), safe_name("../é.x")
    ('all-000-0010-d31912a23017', 'x-5b9712cfebd8')
    """
    readable = re.sub(r"[^a-z0-9]+", "-", text.lower()).strip("-")[:40]
    digest = hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:12]
    return f"{readable}-{digest}" if readable else digest


class Progress(NamedTuple):
    """Callbacks for progress and warnings."""

    done: Callable[[str, int, int], None]
    """(experiment, chunks done, all chunks)."""
    warn: Callable[[str], None]


def _ignore(*_: object) -> None:
    pass


SILENT = Progress(_ignore, _ignore)


def run_experiment(
    experiment: Experiment, size: Scale, seed: int, folder: Path, engine: Engine, progress: Progress = SILENT
) -> Done:
    """Run the chunks that are not stored yet; all rows in a fixed order, and the time they took, added up."""
    store = ChunkStore(folder, experiment.fingerprint(size, seed))
    chunks = experiment.chunks(size, seed)
    done = {chunk.name: found for chunk in chunks if (found := store.get(chunk, progress.warn)) is not None}
    progress.done(experiment.name, len(done), len(chunks))
    for chunk, found in engine.run([chunk for chunk in chunks if chunk.name not in done]):
        store.put(chunk, found)
        done[chunk.name] = found
        progress.done(experiment.name, len(done), len(chunks))
    parts = [done[chunk.name] for chunk in chunks]
    return Done(pl.concat([part.rows for part in parts]), sum(part.seconds for part in parts))

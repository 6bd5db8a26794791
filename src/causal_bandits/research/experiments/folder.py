"""The results folder, and its manifest of everything that may differ between two equal runs."""

import json
import os
import platform
import subprocess
from collections.abc import Mapping
from datetime import UTC, datetime
from importlib import metadata
from pathlib import Path
from typing import Any, cast

from ..._version import __version__
from ...core.files import output_folder, read_regular, replacing
from ...errors import OutputError
from ...reporting.summaries import About

PROGRAM = "causal-bandits"
LARGEST = 2**28
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
        found = json.loads(read_regular(path, LARGEST) or b"")
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

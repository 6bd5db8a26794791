"""Separation tables kept in the user's cache folder: built once per kind of problem, shared by processes."""

import contextlib
import hashlib
import zipfile
from functools import lru_cache
from pathlib import Path

import numpy as np
import platformdirs

from ...errors import OutputError
from ...files import replacing
from .graph_space import Graphs, Space
from .separation import SeparationTable, build_table
from .statements import Statements

VERSION = 1


def cache_folder() -> Path:
    """Where tables are kept."""
    return Path(platformdirs.user_cache_dir("causal-bandits", appauthor=False))


def cache_file(space: Space) -> Path:
    """The file of a space's table; another version of the layout has another name."""
    key = hashlib.sha256(f"{VERSION} {space}".encode()).hexdigest()[:16]
    return cache_folder() / f"separation-{space.system}+{space.contexts}-{key}.npz"


@lru_cache(maxsize=8)
def separation_table(space: Space) -> SeparationTable:
    """The table of a space: from memory, from disk, or built and stored.

    Two processes that build at once both succeed: each writes a whole file under the final name in one step. A file
    that cannot be read is built again; a folder that cannot be written costs the next process the build.
    """
    path = cache_file(space)
    with contextlib.suppress(OSError, EOFError, ValueError, KeyError, zipfile.BadZipFile):
        return _read(path)
    table = build_table(space)
    with contextlib.suppress(OSError, OutputError):
        path.parent.mkdir(parents=True, exist_ok=True)
        _write(path, table)
    return table


def _write(path: Path, table: SeparationTable) -> None:
    with replacing(path) as temporary, temporary.open("wb") as file:
        np.savez(
            file,
            allow_pickle=False,
            parents=table.graphs.parents,
            spouses=table.graphs.spouses,
            first=table.statements.first,
            second=table.statements.second,
            given=table.statements.given,
            rows=table.rows,
            columns=table.columns,
            truth=np.packbits(table.truth, axis=1),
        )


def _read(path: Path) -> SeparationTable:
    with path.open("rb") as raw, np.load(raw, allow_pickle=False) as file:
        columns = file["columns"]
        truth = np.unpackbits(file["truth"], axis=1, count=int(columns.max()) + 1).astype(np.bool_)
        graphs = Graphs(file["parents"], file["spouses"])
        statements = Statements(file["first"], file["second"], file["given"])
        return SeparationTable(graphs, statements, file["rows"], columns, truth)

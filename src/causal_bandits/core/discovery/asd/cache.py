"""Separation tables kept in the user's cache folder: built once per kind of problem, shared by processes.

A file is the SHA-256 of the rest together with the space it is of, then a zip archive of arrays: a file that is cut
short, corrupt or of another space is noticed before anything in it is read.
"""

import hashlib
import io
import stat
from functools import lru_cache
from pathlib import Path

import numpy as np

from ....errors import OutputError, warn_once
from ...files import replacing
from .graph_space import Graphs, Space
from .separation import SeparationTable, build_table
from .statements import Statements

VERSION = 2
MOST_BYTES = 1 << 28
"""No table is as large as this; a larger file is not read."""


def cache_folder() -> Path:
    """Where tables are kept."""
    import platformdirs

    return Path(platformdirs.user_cache_dir("causal-bandits", appauthor=False))


def cache_file(space: Space) -> Path:
    """The file of a space's table; another version of the layout has another name."""
    key = hashlib.sha256(f"{VERSION} {space}".encode()).hexdigest()[:16]
    return cache_folder() / f"separation-{space.system}+{space.contexts}-{key}.table"


@lru_cache(maxsize=8)
def separation_table(space: Space) -> SeparationTable:
    """The table of a space: from memory, from disk, or built and stored.

    Two processes that build at once both succeed: each writes a whole file under the final name in one step. A file
    that cannot be used is built again; a folder that cannot be written costs the next process the build. Either
    gives one warning.
    """
    path = cache_file(space)
    table = _stored(path, space)
    if table is None:
        table = build_table(space)
        _store(path, space, table)
    return table


def _digest(space: Space, archive: bytes) -> bytes:
    return hashlib.sha256(f"{VERSION} {space}\0".encode() + archive).digest()


def _stored(path: Path, space: Space) -> SeparationTable | None:
    """The table in a file; None if there is no usable file, with a warning if there is an unusable one."""
    try:
        content = _content(path)
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as error:
        if error.errno is None:  # not of the file system: an alarm that raises TimeoutError, say
            raise
        warn_once(
            "asd, read", f"the table of graphs {str(path)!r} cannot be read ({error.strerror}); it is built again"
        )
        return None
    if content[:32] != _digest(space, content[32:]):
        warn_once("asd, read", f"the table of graphs {str(path)!r} is corrupt; it is built again and replaced")
        return None
    return _unpack(content[32:])


def _content(path: Path) -> bytes:
    """Nothing if it is no file (a pipe would never end) or too large."""
    about = path.stat()
    return path.read_bytes() if stat.S_ISREG(about.st_mode) and about.st_size < MOST_BYTES else b""


def _store(path: Path, space: Space, table: SeparationTable) -> None:
    archive = _pack(table)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with replacing(path, own=True) as temporary:
            temporary.write_bytes(_digest(space, archive) + archive)
    except OSError as error:
        cause = error.__context__ if isinstance(error, OutputError) else error
        if not isinstance(cause, OSError) or cause.errno is None:
            raise
        place = f"{str(path.parent)!r} ({cause.strerror})"
        advice = "until then every process builds it again (seconds); free disk space, or set XDG_CACHE_HOME"
        warn_once("asd, kept", f"the table of graphs cannot be cached in {place}: {advice}")


def _pack(table: SeparationTable) -> bytes:
    file = io.BytesIO()
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
    return file.getvalue()


def _unpack(archive: bytes) -> SeparationTable:
    with np.load(io.BytesIO(archive), allow_pickle=False) as file:
        columns = file["columns"]
        truth = np.unpackbits(file["truth"], axis=1, count=int(columns.max()) + 1).astype(np.bool_)
        graphs = Graphs(file["parents"], file["spouses"])
        statements = Statements(file["first"], file["second"], file["given"])
        return SeparationTable(graphs, statements, file["rows"], columns, truth)

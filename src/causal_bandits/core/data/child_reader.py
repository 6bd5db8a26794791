"""Read a Parquet file or a workbook in a child process, because a hostile one may abort the process that reads it.

`read_in_child` starts this file as a script: `python child_reader.py KIND FILE MOST_BYTES MOST_CELLS`. The script
imports polars and nothing of this package, so that it starts quickly. It writes one line of JSON, and then the table as
an Arrow stream.
"""

from __future__ import annotations

import contextlib
import io
import json
import os
import subprocess
import sys
import zipfile
from pathlib import Path
from typing import Any, Literal, NamedTuple

from ...libraries import pl

MEMORY = 4 * 2**30
"""Bytes that the child may use, where the system has such a limit."""
FAILED = "it is corrupt, or takes more than {} GB of memory to read"


class ReadByChild(NamedTuple):
    """The table, and for a workbook the name of its sheet and the number of the other sheets."""

    table: pl.DataFrame
    sheet: str = ""
    others: int = 0


def read_in_child(kind: Literal["parquet", "workbook"], file: Path, most_bytes: int, most_cells: int) -> ReadByChild:
    """The table in a file; raises a ValueError with the reason, even if the child was killed."""
    with file.open("rb"):
        pass  # or an OSError that says why not
    command = [sys.executable, "-P", "-m", __name__, kind, str(file), str(most_bytes), str(most_cells)]
    # Few threads: each reserves memory, which counts.
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path), "POLARS_MAX_THREADS": "4"}
    child = subprocess.run(
        command,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        env=environment,
        check=False,
    )
    head, _, content = child.stdout.partition(b"\n")
    if child.returncode or not head:
        raise ValueError(FAILED.format(MEMORY // 2**30))
    found = json.loads(head)
    if "error" in found:
        raise ValueError(found["error"])
    return ReadByChild(pl.read_ipc_stream(io.BytesIO(content)), **found)


def _check_cells(rows: int, columns: int, most_cells: int) -> None:
    if rows * columns > most_cells:
        raise ValueError(f"it has {rows:,} rows of {columns:,} columns; expected at most {most_cells:,} cells")


def _parquet(file: str, _most_bytes: int, most_cells: int) -> ReadByChild:
    lazy = pl.scan_parquet(file, glob=False, hive_partitioning=False)
    try:
        _check_cells(lazy.select(pl.len()).collect().item(), len(lazy.collect_schema()), most_cells)
        return ReadByChild(lazy.collect())
    except pl.exceptions.PolarsError:
        raise ValueError("it is corrupt, or not a Parquet file") from None


def _workbook(file: str, most_bytes: int, most_cells: int) -> ReadByChild:
    import fastexcel

    with contextlib.suppress(zipfile.BadZipFile), zipfile.ZipFile(file) as packed:
        if sum(part.file_size for part in packed.infolist()) > most_bytes:
            raise ValueError(f"it unpacks to more than {most_bytes // 10**6:,} MB")
    try:
        book = fastexcel.read_excel(file)
        sheet = book.load_sheet(0, dtypes=None, schema_sample_rows=None)
        _check_cells(sheet.height, sheet.width, most_cells)
        return ReadByChild(sheet.to_polars(), sheet.name, len(book.sheet_names) - 1)
    except fastexcel.FastExcelError:
        raise ValueError("it is corrupt, or not a workbook") from None


def _main(kind: str, file: str, most_bytes: str, most_cells: str) -> None:
    with contextlib.suppress(ImportError):  # Windows
        import resource

        resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    read: Any = {"parquet": _parquet, "workbook": _workbook}[kind]
    try:
        found: ReadByChild = read(file, int(most_bytes), int(most_cells))
    except ValueError as error:
        sys.stdout.write(json.dumps({"error": str(error)}) + "\n")
        return
    sys.stdout.write(json.dumps({"sheet": found.sheet, "others": found.others}) + "\n")
    sys.stdout.flush()
    found.table.write_ipc_stream(sys.stdout.buffer)


if __name__ == "__main__":
    _main(*sys.argv[1:])

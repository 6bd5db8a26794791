"""Backups: a consistent copy of a database while others use it."""

import os
import shutil
import sqlite3
import subprocess
from pathlib import Path

import sqlalchemy as sa

from ....core.files import file_path, replacing
from ....errors import StorageError
from .address import file_of
from .store import opened


def backup(storage: object, to: str | os.PathLike[str]) -> Path:
    """Copy a database to a new file: SQLite by its online backup, PostgreSQL by pg_dump (restore with pg_restore)."""
    store, target = opened(storage), file_path(to)
    if target.exists():
        raise StorageError(f"the file {str(target)!r} exists already; name a new file for the backup")
    source = file_of(store.url)
    with replacing(target) as temporary:
        temporary.chmod(0o600)
        if source is None:
            _dump(store.url, store.place, temporary)
        else:
            _copy(source, store.place, temporary)
    return target


def _copy(source: Path, place: str, target: Path) -> None:
    try:
        there, copy = sqlite3.connect(source), sqlite3.connect(target)
        try:
            there.backup(copy)
        finally:
            there.close()
            copy.close()
    except sqlite3.Error as error:
        raise StorageError(f"storage {place} cannot be copied ({error}); check the disk and try again") from None


def _dump(url: sa.URL, place: str, target: Path) -> None:
    program = shutil.which("pg_dump")
    if program is None:
        raise StorageError(
            f"storage {place} is PostgreSQL and pg_dump was not found; install PostgreSQL's client programs"
        )
    address = url.set(drivername="postgresql", password=None).render_as_string()
    secret = {"PGPASSWORD": str(url.password)} if url.password else {}
    command = [program, "--format=custom", "--table=cb_*", f"--file={target}", f"--dbname={address}"]
    done = subprocess.run(command, env={**os.environ, **secret}, capture_output=True, check=False)
    if done.returncode:
        reason = " ".join(done.stderr.decode(errors="replace").split())
        raise StorageError(f"storage {place} cannot be copied: {reason}")

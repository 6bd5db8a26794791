"""From any released schema to the present one, in one transaction, or not at all."""

from collections.abc import Callable

import sqlalchemy as sa

from ...errors import StorageError
from .schema import VERSION, metadata, schema

Step = Callable[[sa.Connection], None]

STEPS: dict[int, Step] = {}
"""From version n to n + 1; a step uses plain SQL, since `schema` says only what the tables are today."""

ADVISORY_LOCK = 0x6362616E
"""Any number that others are unlikely to use: PostgreSQL lets one process at a time set up the tables."""


def found_version(connection: sa.Connection) -> int | None:
    """The schema of a database; None when it has no tables of ours."""
    if not sa.inspect(connection).has_table(schema.name):
        return None
    version: int | None = connection.execute(sa.select(schema.c.version)).scalar()
    return version


def check_version(version: int, place: str) -> None:
    """Refuse a database that a newer release wrote, or none."""
    if not isinstance(version, int) or version < 1:
        raise StorageError(f"{place} has schema version {version!r}, which no release wrote; restore it from a copy")
    if version > VERSION:
        raise StorageError(
            f"{place} has schema version {version}; this release knows versions up to {VERSION}: upgrade causal-bandits"
        )


def prepare(connection: sa.Connection, place: str) -> None:
    """Make the tables, or bring them up to date. The caller holds the write lock."""
    if connection.dialect.name == "postgresql":
        connection.execute(sa.select(sa.func.pg_advisory_xact_lock(ADVISORY_LOCK)))
    version = found_version(connection)
    if version is None:
        metadata.create_all(connection)
        connection.execute(schema.insert(), {"version": VERSION})
        return
    check_version(version, place)
    for step in range(version, VERSION):
        STEPS[step](connection)
        connection.execute(schema.update(), {"version": step + 1})

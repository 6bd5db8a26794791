"""Schema versions: tables are made for a new database, and upgraded only when somebody asks for it."""

from collections.abc import Callable

import sqlalchemy as sa

from ...errors import StorageError
from .chain import START, Head, combined, event_digest, key_digest
from .schema import VERSION, metadata, schema

Step = Callable[[sa.Connection], None]

ADVISORY_LOCK = 0x6362616E
"""Any number that others are unlikely to use: PostgreSQL lets one process at a time set up the tables."""


def found_version(connection: sa.Connection) -> int | None:
    """The schema of a database; None when it has no tables of ours."""
    if not sa.inspect(connection).has_table(schema.name):
        return None
    version: int | None = connection.execute(sa.select(schema.c.version)).scalar()
    return version


def check_known(version: int, place: str) -> None:
    """Raise for a schema version that this version of the package does not know."""
    if not isinstance(version, int) or version < 1:
        raise StorageError(
            f"storage {place} has schema version {version!r}, which no release wrote; restore it from a copy"
        )
    if version > VERSION:
        raise StorageError(
            f"storage {place} was written by a newer version (schema {version}, this one has {VERSION}); "
            "upgrade causal-bandits"
        )


def check_current(version: int, place: str) -> None:
    """Raise for any schema version but the current one."""
    check_known(version, place)
    if version < VERSION:
        raise StorageError(
            f"storage {place} was written by an older version (schema {version}, this one has {VERSION}); "
            f"make a copy, then run: causal-bandits storage upgrade {place}"
        )


def make_tables(connection: sa.Connection, place: str) -> None:
    """Make the tables of a new database, unless somebody was faster."""
    version = _locked_version(connection)
    if version is None:
        metadata.create_all(connection)
        connection.execute(schema.insert(), {"version": VERSION})
    else:
        check_current(version, place)


def upgrade_tables(connection: sa.Connection, place: str) -> int:
    """Upgrade the tables to the current schema; returns the version before. The caller holds the write lock."""
    version = _locked_version(connection)
    if version is None:
        raise StorageError(f"storage {place} holds no studies; there is nothing to upgrade")
    check_known(version, place)
    for step in range(version, VERSION):
        STEPS[step](connection)
        connection.execute(schema.update(), {"version": step + 1})
    return version


def _locked_version(connection: sa.Connection) -> int | None:
    if connection.dialect.name == "postgresql":
        connection.execute(sa.select(sa.func.pg_advisory_xact_lock(ADVISORY_LOCK)))
    return found_version(connection)


def _add_digests(connection: sa.Connection) -> None:
    """Version 2: chained digests of events, the head of each study, digests of keys and snapshots.

    A process of the older release that still has the storage open cannot add events any more: it knows no digests.
    Snapshots carry no digest yet and are dropped; the events rebuild them.
    """
    binary = "BYTEA" if connection.dialect.name == "postgresql" else "BLOB"
    run = connection.exec_driver_sql
    run(
        "CREATE TABLE cb_heads (study INTEGER NOT NULL PRIMARY KEY REFERENCES cb_studies (id), seq BIGINT NOT NULL, "
        f"digest {binary} NOT NULL, of_keys {binary} NOT NULL)"
    )
    run("DELETE FROM cb_snapshots")
    _with_column(connection, "cb_events", "PRIMARY KEY (study, seq)", " WITHOUT ROWID")
    _with_column(connection, "cb_snapshots", "PRIMARY KEY (study, seq)", "")
    for (study,) in run("SELECT id FROM cb_studies").fetchall():
        _fill_digests(connection, study)
    if connection.dialect.name == "postgresql":
        run("ALTER TABLE cb_events ALTER COLUMN digest SET NOT NULL")


def _with_column(connection: sa.Connection, table: str, key: str, ending: str) -> None:
    """A table with one more column `digest` that cannot be left out; SQLite needs the table to be made anew."""
    run = connection.exec_driver_sql
    if connection.dialect.name == "postgresql":
        filled = table == "cb_events"
        run(f"ALTER TABLE {table} ADD COLUMN digest BYTEA{'' if filled else ' NOT NULL'}")
        return
    columns = run(f"PRAGMA table_info({table})").fetchall()
    names = ", ".join(column[1] for column in columns)
    declared = ", ".join(f"{column[1]} {column[2]} NOT NULL" for column in columns)
    run(f"ALTER TABLE {table} RENAME TO {table}_1")
    run(
        f"CREATE TABLE {table} ({declared}, digest BLOB NOT NULL, {key}, "
        f"FOREIGN KEY(study) REFERENCES cb_studies (id)){ending}"
    )
    run(f"INSERT INTO {table} ({names}, digest) SELECT {names}, x'' FROM {table}_1")
    run(f"DROP TABLE {table}_1")


def _fill_digests(connection: sa.Connection, study: int) -> None:
    found = connection.execute(
        sa.text("SELECT seq, kind, time, body FROM cb_events WHERE study = :study ORDER BY seq"), {"study": study}
    )
    head, rows = START, []
    for seq, kind, time, body in found.fetchall():
        if not (isinstance(seq, int) and isinstance(kind, str) and isinstance(time, float) and isinstance(body, str)):
            raise StorageError(
                f"the storage is damaged: event {seq!r} of a study cannot be read; restore it from a copy"
            )
        head = Head(seq, event_digest(head.digest, seq, kind, time, body))
        rows.append({"study": study, "seq": seq, "digest": head.digest})
    if rows:
        set_digest = sa.text("UPDATE cb_events SET digest = :digest WHERE study = :study AND seq = :seq")
        connection.execute(set_digest, rows)
    together = START.digest
    for key, seq in connection.execute(sa.text("SELECT key, seq FROM cb_keys WHERE study = :study"), {"study": study}):
        together = combined(together, key_digest(key, seq))
    connection.execute(
        sa.text("INSERT INTO cb_heads (study, seq, digest, of_keys) VALUES (:study, :seq, :digest, :of_keys)"),
        {"study": study, "seq": head.seq, "digest": head.digest, "of_keys": together},
    )


STEPS: dict[int, Step] = {1: _add_digests}
"""From version n to n + 1; a step uses plain SQL, since `schema` says only what the tables are today."""

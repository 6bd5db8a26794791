"""The tables, the same in SQLite and PostgreSQL, and the version of them that a database has.

Opening a database never changes its tables: a new one gets them, and one with another version is rejected. `upgrade`
runs `STEPS`, which are plain SQL, since the tables below are those of today.
"""

from collections.abc import Callable

import sqlalchemy as sa

from ....errors import StorageError

VERSION = 1
"""Raised whenever the tables change, with a step in `STEPS` and a fixture of the old ones in the tests."""
ADVISORY_LOCK = 0x6362616E
"""Any number that others are unlikely to use: PostgreSQL lets one process at a time make or upgrade the tables."""

metadata = sa.MetaData()

schema = sa.Table("cb_schema", metadata, sa.Column("version", sa.Integer, nullable=False))

studies = sa.Table(
    "cb_studies",
    metadata,
    sa.Column("id", sa.Integer, primary_key=True),
    sa.Column("name", sa.Text, nullable=False, unique=True),
    sa.Column("created", sa.Float(53), nullable=False),
    sa.Column("settings", sa.Text, nullable=False),
    sqlite_autoincrement=True,  # the number of a deleted study is never given to another one
)


def _study() -> sa.Column[int]:
    return sa.Column("study", sa.Integer, sa.ForeignKey("cb_studies.id"), primary_key=True)


events = sa.Table(
    "cb_events",
    metadata,
    _study(),
    sa.Column("seq", sa.BigInteger, primary_key=True, autoincrement=False),
    sa.Column("kind", sa.Text, nullable=False),
    sa.Column("time", sa.Float(53), nullable=False),
    sa.Column("body", sa.Text, nullable=False),
    sa.Column("digest", sa.LargeBinary, nullable=False),
    sqlite_with_rowid=False,  # one tree, in the order of the events
)

heads = sa.Table(
    "cb_heads",
    metadata,
    _study(),
    sa.Column("seq", sa.BigInteger, nullable=False),
    sa.Column("digest", sa.LargeBinary, nullable=False),
    sa.Column("of_keys", sa.LargeBinary, nullable=False),
    sqlite_with_rowid=False,
)
"""The newest event of each study, and the digests of its keys put together: what was lost is missed."""

keys = sa.Table(
    "cb_keys",
    metadata,
    _study(),
    sa.Column("key", sa.Text, primary_key=True),
    sa.Column("seq", sa.BigInteger, nullable=False),
    sqlite_with_rowid=False,
)

snapshots = sa.Table(
    "cb_snapshots",
    metadata,
    _study(),
    sa.Column("seq", sa.BigInteger, primary_key=True, autoincrement=False),
    sa.Column("content", sa.LargeBinary, nullable=False),
    sa.Column("digest", sa.LargeBinary, nullable=False),
)

# The append log of studies in high-throughput mode. No foreign key leads from here to `cb_studies`: checking one would
# wait for whoever holds a study's lock.

log_ends = sa.Table(
    "cb_log_ends",
    metadata,
    sa.Column("study", sa.Integer, primary_key=True, autoincrement=False),
    sa.Column("position", sa.BigInteger, nullable=False),
    sa.Column("decisions", sa.BigInteger, nullable=False),
    sa.Column("counted", sa.BigInteger, nullable=False),
)
"""The last position and decision of each log, and the position up to which its rows are counted in events."""

log_rows = sa.Table(
    "cb_log_rows",
    metadata,
    sa.Column("study", sa.Integer, primary_key=True, autoincrement=False),
    sa.Column("position", sa.BigInteger, primary_key=True, autoincrement=False),
    sa.Column("kind", sa.Text, nullable=False),
    sa.Column("decision", sa.BigInteger, nullable=False),
    sa.Column("part", sa.Integer, nullable=False),
    sa.Column("mark", sa.LargeBinary),
    sa.Column("time", sa.Float(53), nullable=False),
    sa.Column("body", sa.Text, nullable=False),
    sa.UniqueConstraint("study", "decision", "part"),
    sa.UniqueConstraint("study", "mark"),
)
"""`mark` is the digest of an ask's key; `part` is 0 for an ask and counts from 1 for what is reported of a decision, so
that two workers cannot both be next."""

# Alarms. Nothing here is part of the history of a study: without these rows alarms are found, and delivered, once more.

checks = sa.Table(
    "cb_checks",
    metadata,
    sa.Column("study", sa.Integer, primary_key=True, autoincrement=False),
    sa.Column("seq", sa.BigInteger, nullable=False),
    sa.Column("time", sa.Float(53), nullable=False),
)
"""When each study was checked for alarms, and its newest event then."""

alarms = sa.Table(
    "cb_alarms",
    metadata,
    sa.Column("study", sa.Integer, primary_key=True, autoincrement=False),
    sa.Column("code", sa.Text, primary_key=True),
    sa.Column("says", sa.Text, nullable=False),
    sa.Column("about", sa.Text, nullable=False),
    sa.Column("raised", sa.Float(53), nullable=False),
    sa.Column("cleared", sa.Float(53)),
)
"""The alarms of each study, at most one for each code."""

messages = sa.Table(
    "cb_messages",
    metadata,
    sa.Column("study", sa.Integer, primary_key=True, autoincrement=False),
    sa.Column("code", sa.Text, primary_key=True),
    sa.Column("target", sa.Text, primary_key=True),
    sa.Column("first", sa.Float(53), nullable=False),
    sa.Column("times", sa.Integer, nullable=False),
    sa.Column("attempts", sa.Integer, nullable=False),
    sa.Column("due", sa.Float(53), nullable=False),
)
"""Alarms that a webhook has not confirmed: one row for each code and target, so they cannot pile up."""

OF_A_STUDY = (events, heads, keys, snapshots, log_ends, log_rows, checks, alarms, messages)

STEPS: dict[int, Callable[[sa.Connection], None]] = {}
"""From version n to n + 1."""


def found_version(connection: sa.Connection) -> int | None:
    """The schema of a database; None when it has no tables of ours."""
    if not sa.inspect(connection).has_table(schema.name):
        return None
    version: int | None = connection.execute(sa.select(schema.c.version)).scalar()
    return version


def _check_known(version: int, address: str) -> None:
    if not isinstance(version, int) or version < 1:
        raise StorageError(
            f"storage {address} has schema version {version!r}, which no release wrote; restore it from a backup"
        )
    if version > VERSION:
        raise StorageError(
            f"storage {address} was written by a newer version (schema {version}, this one has {VERSION}); "
            "upgrade causal-bandits"
        )


def check_current(version: int, address: str) -> None:
    """Raise for any schema version but the current one."""
    _check_known(version, address)
    if version < VERSION:
        raise StorageError(
            f"storage {address} was written by an older version (schema {version}, this one has {VERSION}); "
            f"run `causal-bandits storage backup` and then: causal-bandits storage upgrade {address}"
        )


def make_tables(connection: sa.Connection, address: str) -> None:
    """Make the tables of a new database, unless somebody was faster."""
    version = _locked_version(connection)
    if version is None:
        metadata.create_all(connection)
        connection.execute(schema.insert(), {"version": VERSION})
    else:
        check_current(version, address)


def upgrade_tables(connection: sa.Connection, address: str) -> int:
    """Upgrade the tables to the current schema; returns the version before. The caller holds the write lock."""
    version = _locked_version(connection)
    if version is None:
        raise StorageError(f"storage {address} holds no studies; there is nothing to upgrade")
    _check_known(version, address)
    for step in range(version, VERSION):
        STEPS[step](connection)
        connection.execute(schema.update(), {"version": step + 1})
    return version


def _locked_version(connection: sa.Connection) -> int | None:
    if connection.dialect.name == "postgresql":
        connection.execute(sa.select(sa.func.pg_advisory_xact_lock(ADVISORY_LOCK)))
    return found_version(connection)

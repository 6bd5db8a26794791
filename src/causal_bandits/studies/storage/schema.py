"""The tables, the same in SQLite and PostgreSQL."""

import sqlalchemy as sa

VERSION = 2
"""Raised whenever the tables change, with a step in `migrations` and a fixture of the old ones in the tests."""

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

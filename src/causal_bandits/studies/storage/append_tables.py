"""The tables of the append log, for PostgreSQL alone; made with the first served study of a database.

No foreign key leads from here to `cb_studies`: checking one would wait for whoever holds a study's lock.
"""

import sqlalchemy as sa

from .migrations import ADVISORY_LOCK

TABLES = (
    """CREATE TABLE IF NOT EXISTS cb_served (
        study INTEGER PRIMARY KEY, position BIGINT NOT NULL, decisions BIGINT NOT NULL)""",
    """CREATE TABLE IF NOT EXISTS cb_appended (
        study INTEGER NOT NULL, position BIGINT NOT NULL, kind TEXT NOT NULL, decision BIGINT NOT NULL,
        part INTEGER NOT NULL, mark BYTEA, time DOUBLE PRECISION NOT NULL, body TEXT NOT NULL,
        PRIMARY KEY (study, position), UNIQUE (study, decision, part), UNIQUE (study, mark))""",
)
"""`cb_served` has the ends of each log: its last position and its last decision. `mark` is the digest of an ask's key;
`part` is 0 for an ask and counts from 1 for what is told of a decision, so that two workers cannot both be next."""

BEGIN = sa.text("INSERT INTO cb_served VALUES (:study, 0, 0)")
REMOVE_HEAD = sa.text("DELETE FROM cb_served WHERE study = :study")
REMOVE_ROWS = sa.text("DELETE FROM cb_appended WHERE study = :study")


def found_log(connection: sa.Connection) -> bool:
    """Whether this database has an append log."""
    if connection.dialect.name != "postgresql":
        return False
    return connection.execute(sa.text("SELECT to_regclass('cb_appended')")).scalar() is not None


def make_log(connection: sa.Connection, study: int) -> None:
    """Make the log of a new study, and the tables with the first one."""
    if not found_log(connection):
        connection.execute(sa.select(sa.func.pg_advisory_xact_lock(ADVISORY_LOCK)))
        for text in TABLES:
            connection.exec_driver_sql(text)
    connection.execute(BEGIN, {"study": study})

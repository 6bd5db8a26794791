"""Databases that are edited behind a study's back."""

import contextlib
import sqlite3


def change(storage: str, command: str, *values: object) -> None:
    """Behind a study's back."""
    with contextlib.closing(sqlite3.connect(storage.removeprefix("sqlite:///"))) as connection, connection:
        assert connection.execute(command, values).rowcount

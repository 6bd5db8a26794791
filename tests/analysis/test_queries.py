"""Tables from databases: DuckDB, PostgreSQL and SQLite through SQLAlchemy, PostgreSQL and SQLite through ADBC."""

import csv
import json
import sqlite3
from collections.abc import Callable, Iterator
from importlib import resources
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

import causal_bandits as cb
from causal_bandits.cli import app
from causal_bandits.errors import MissingExtraError, OptionError
from causal_bandits.product.analysis import Query
from tests.studies.postgres import Server

ROLES: dict[str, Any] = {"target": "purchase", "interventions": ["banner", "discount"]}
TABLE = "CREATE TABLE checkout (banner TEXT, discount TEXT, clicked INTEGER, cart TEXT, purchase INTEGER)"
Make = Callable[[], str]


def rows() -> list[tuple[Any, ...]]:
    text = (resources.files("causal_bandits.core.datasets") / "checkout.csv").read_text()
    found = [*csv.DictReader(text.splitlines())]
    kinds = {"banner": str, "discount": str, "clicked": int, "cart": str, "purchase": int}
    return [tuple(kind(row[name]) if row[name] else None for name, kind in kinds.items()) for row in found]


@pytest.fixture(scope="module")
def addresses(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Callable[[str], str]]:
    """The packaged table in a database of each kind; made when first asked for."""
    folder, made, servers = tmp_path_factory.mktemp("queries"), dict[str, str](), list[Server]()

    def sqlite() -> str:
        with sqlite3.connect(folder / "shop.db") as connection:
            connection.execute(TABLE)
            connection.executemany("INSERT INTO checkout VALUES (?, ?, ?, ?, ?)", rows())
        connection.close()
        return f"sqlite:///{folder}/shop.db"

    def duckdb() -> str:
        import duckdb

        with duckdb.connect(str(folder / "shop.duckdb")) as connection:
            connection.execute(TABLE)
            connection.executemany("INSERT INTO checkout VALUES (?, ?, ?, ?, ?)", rows()[:400])
        return f"duckdb:///{folder}/shop.duckdb"

    def postgresql() -> str:
        import psycopg

        servers.append(Server())
        with psycopg.connect(servers[-1].url, autocommit=True) as connection:
            connection.execute(TABLE.encode())
            with connection.cursor().copy("COPY checkout FROM STDIN") as copy:
                for row in rows():
                    copy.write_row(row)
        return servers[-1].url

    kinds: dict[str, Make] = {"sqlite": sqlite, "duckdb": duckdb, "postgresql": postgresql}

    def address(kind: str) -> str:
        base = kind.removeprefix("adbc+")
        if base not in made:
            made[base] = kinds[base]()
        return made[base] if kind == base else f"adbc+{made[base]}"

    yield address
    for server in servers:
        server.__exit__(None, None, None)


@pytest.mark.parametrize("kind", ["sqlite", "duckdb", "postgresql", "adbc+sqlite", "adbc+postgresql"])
def test_a_query_gives_what_the_file_gives(kind: str, addresses: Callable[[str], str]) -> None:
    if kind == "duckdb":
        pytest.importorskip("duckdb_engine", reason="duckdb-engine is not installed; `make setup` installs it")
    if kind.startswith("adbc"):
        pytest.importorskip("adbc_driver_manager", reason="ADBC is not installed; `make setup` installs it")
    limit = 400
    sql = f"SELECT *, '100%:' AS same FROM checkout LIMIT {limit}; -- all of them"
    found = Query(sql, addresses(kind)).read()
    assert found.columns == ["banner", "discount", "clicked", "cart", "purchase", "same"]
    assert found.drop("same").rows() == rows()[:limit]
    assert found["same"].unique().to_list() == ["100%:"]


def test_analyze_takes_a_query(addresses: Callable[[str], str]) -> None:
    url = addresses("sqlite")
    sql = "SELECT banner, discount, clicked, cart, purchase FROM checkout"
    found = cb.analyze(Query(sql, url), **ROLES)
    assert found.recommendation.arm == cb.analyze("example", **ROLES).recommendation.arm
    given = ["--query", sql, "--from", url]
    result = CliRunner().invoke(
        app, ["analyze", *given, "--target", "purchase", "--interventions", "banner,discount", "--json"]
    )
    assert result.exit_code == 0, result.output
    assert json.loads(result.stdout)["rows"] == len(rows())
    proposed = CliRunner().invoke(app, ["analyze", *given, "--json"])
    assert f"--query '{sql}' --from {url}" in json.loads(proposed.stdout)["command"]


@pytest.mark.parametrize(
    ("sql", "words"),
    [
        ("DROP TABLE checkout", "begins with 'DROP'; expected one SELECT"),
        ("  /* SELECT */ DELETE FROM checkout", "begins with 'DELETE'"),
        ("SELECT 1; DROP TABLE checkout", "several statements; expected one SELECT"),
        ("WITH gone AS (DELETE FROM checkout RETURNING *) SELECT * FROM gone", "the word 'DELETE'"),
        ("SELECT * INTO copy FROM checkout", "the word 'INTO'"),
        ("", "expected a SELECT"),
        ("-- SELECT", "expected one SELECT"),
        ("PRAGMA query_only = OFF", "begins with 'PRAGMA'"),
    ],
)
def test_what_is_not_a_select_is_refused(sql: str, words: str, tmp_path: Path) -> None:
    with pytest.raises(OptionError) as caught:
        Query(sql, f"sqlite:///{tmp_path}/shop.db")
    assert words in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT 'DELETE; DROP' AS a, \"update\" FROM t",
        "(SELECT 1)",
        "WITH a AS (SELECT 1 AS x) SELECT x, updated_at, replace(x, 'a', 'b') FROM a -- drop",
        "select $tag$ insert; into $tag$",
    ],
)
def test_words_in_texts_comments_and_names_are_no_statements(sql: str) -> None:
    assert Query(sql, "sqlite:///shop.db").sql == sql


def test_mistakes_get_one_sentence(addresses: Callable[[str], str], tmp_path: Path) -> None:
    url = addresses("sqlite")
    for sql, words in {
        "SELECT absent FROM checkout": "the query failed (no such column: absent)",
        "SELECT banner, cart AS banner FROM checkout": "two columns called 'banner'",
        "SELECT banner FROM checkout WHERE 1 = 0": "returned no rows",
    }.items():
        with pytest.raises(OptionError) as caught:
            Query(sql, url).read()
        assert words in str(caught.value)
    with pytest.raises(OptionError, match="--from is not a database URL"):
        Query("SELECT 1", "nonsense")
    with pytest.raises(MissingExtraError, match="no driver for nosuch databases"):
        Query("SELECT 1", "nosuch://host/x").read()
    with pytest.raises(OptionError) as caught:
        Query("SELECT 1", "postgresql+psycopg://me:very-secret@127.0.0.1:1/x").read()
    assert "very-secret" not in str(caught.value)
    assert "very-secret" not in str(Query("SELECT 1", "postgresql://me:very-secret@host/x"))
    for given in (["data.csv", "--query", "SELECT 1"], ["--query", "SELECT 1"], []):
        result = CliRunner().invoke(app, ["analyze", *given])
        assert "name either a file, or --query" in str(result.exception)


def test_a_database_is_not_changed_by_what_slips_through(
    addresses: Callable[[str], str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("causal_bandits.product.queries.check_select", lambda _: None)
    for kind in ("sqlite", "postgresql"):
        with pytest.raises(OptionError, match="the query failed"):
            Query("DELETE FROM checkout", addresses(kind)).read()
        assert Query("SELECT * FROM checkout", addresses(kind)).read().height == len(rows())


@pytest.mark.parametrize("kind", ["sqlite", "duckdb", "adbc+sqlite"])
def test_a_missing_file_is_not_created(kind: str, tmp_path: Path) -> None:
    file = tmp_path / "nothing.db"
    with pytest.raises(OptionError, match=r"there is no database file .*nothing\.db'; check --from"):
        cb.analyze(Query("SELECT 1", f"{kind}:///{file}"), **ROLES)
    assert not file.exists()


def test_a_sqlite_file_is_opened_for_reading_only(tmp_path: Path) -> None:
    file = tmp_path / "a file#1.db"
    with sqlite3.connect(file) as connection:
        connection.execute("CREATE TABLE t AS SELECT 1 AS one")
    file.chmod(0o400)
    assert Query("SELECT one FROM t", f"sqlite:///{file}").read()["one"].to_list() == [1]

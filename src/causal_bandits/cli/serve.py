"""`causal-bandits serve`: studies over HTTP, with pages to watch them."""

from pathlib import Path
from typing import Annotated

import typer

from .root import app
from .streams import finish, say
from .study import DEFAULT_STORAGE, Storage


@app.command("serve")
def serve_command(
    storage: Storage = DEFAULT_STORAGE,
    host: Annotated[str, typer.Option(help="Address to listen on; any but loopback needs --token-file.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(min=0, max=65535, help="Port to listen on; 0 for a free one.")] = 8080,
    token_file: Annotated[
        Path | None,
        typer.Option(
            envvar="CAUSAL_BANDITS_TOKEN_FILE",
            help="File with tokens, one per line, each after its scope: read, decide or admin.",
        ),
    ] = None,
    allow_host: Annotated[
        list[str] | None,
        typer.Option(
            help="Name under which the server is reached, such as bandits.example.com; repeat it for several."
        ),
    ] = None,
    root_path: Annotated[str, typer.Option(help="Prefix under which a proxy shows the server, such as /bandits.")] = "",
    proxy: Annotated[
        list[str] | None,
        typer.Option(
            help="Address or network of a proxy to trust for X-Forwarded-For and X-Forwarded-Proto, such as 10.0.0.5 "
            "or 172.16.0.0/12, besides this machine; repeat it for several."
        ),
    ] = None,
    max_connections: Annotated[int, typer.Option(min=1, help="Most open connections per process.")] = 1000,
    max_connections_per_address: Annotated[
        int, typer.Option(min=1, help="Most open connections from one address that is not a proxy's.")
    ] = 250,
    workers: Annotated[int, typer.Option(min=1, help="Number of processes.")] = 1,
    access_log: Annotated[bool, typer.Option("--access-log", help="Log every request.")] = False,
) -> None:
    """Serve all studies of a storage over HTTP: an API under /api/v1, and pages to watch."""
    from ..service import ServiceSettings, read_tokens, serve
    from ..service.settings import LOOPBACK_PROXIES, Limits
    from ..service.tokens import NO_TOKENS

    tokens = NO_TOKENS if token_file is None else read_tokens(token_file)
    named = () if host in ("0.0.0.0", "::") else (f"[{host}]" if ":" in host else host,)
    settings = ServiceSettings(
        storage,
        tokens,
        (*named, *(allow_host or ())),
        root_path,
        proxies=(*LOOPBACK_PROXIES, *(proxy or ())),
        limits=Limits(connections=max_connections, connections_per_address=max_connections_per_address),
    )

    def started(address: str) -> None:
        say(f"Serving at {address} (Ctrl-C to stop)")
        finish()

    serve(settings, host=host, port=port, workers=workers, access_log=access_log, started=started)

"""`causal-bandits serve`: studies over HTTP, with a dashboard."""

from pathlib import Path
from typing import Annotated, Any

import typer

from ..product.service.settings import ServerOptions, server_options
from .deferred import service
from .options import ENVIRONMENT, takes
from .root import app
from .streams import finish, say


@app.command("serve")
@takes(ServerOptions, environment=True)
def serve_command(
    config: Annotated[
        Path | None,
        typer.Option(
            envvar=f"{ENVIRONMENT}CONFIG",
            show_envvar=False,
            help="TOML file with these options; flags and environment variables override it.",
        ),
    ] = None,
    **options: Any,
) -> None:
    """Serve all studies of a database over HTTP, with a dashboard.

    The API is under /api/v1. Every option is also an environment variable (CAUSAL_BANDITS_PORT for --port) and a key
    of the file (port = 8080).
    """
    process, settings = server_options(options, config)

    def started(address: str) -> None:
        say(f"Serving at {address} (Ctrl-C to stop)")
        finish()

    service.serve(settings, process, started=started)

"""`causal-bandits serve|alarms|storage`: run and maintain a server and its database."""

from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any, TypeVar

import typer

from ..core.markup import counted
from ..errors import StorageError, UnreadableStudyError
from ..product.options import AlarmOptions
from ..product.service.settings import ServerOptions, server_options
from .deferred import service, studies
from .options import ENVIRONMENT, takes
from .root import app
from .streams import finish, say
from .study import DEFAULT_STORAGE, AsJson, Storage, report


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


T = TypeVar("T")


@app.command("alarms")
@takes(AlarmOptions, environment=True)
def alarms_command(storage: Storage = DEFAULT_STORAGE, as_json: AsJson = False, **options: Any) -> None:
    """Check all studies once, and log and post new alarms.

    Run it from cron if you do not run a server. Studies that were checked less than --check-seconds ago, by this
    command or by a server, are skipped.

    Every option is also an environment variable (CAUSAL_BANDITS_WEBHOOK for --webhook).
    """
    store = studies.Store(storage, create=False)

    def look(name: str, work: Callable[["studies.Study"], T]) -> T:
        return work(studies.Study.load(name, storage=store))

    monitor = studies.Monitor(lambda: store, look, AlarmOptions(**options))
    new, delivered = monitor.check_all(), monitor.deliver()
    waiting = monitor.waiting()
    words = f"{counted(new, 'new alarm')}, {counted(delivered, 'message')} delivered, {waiting} waiting for a webhook"
    report(as_json, {"new": new, "delivered": delivered, "waiting": waiting}, words)


storages = typer.Typer(
    no_args_is_help=True, rich_markup_mode=None, help="Upgrade, check or back up a database of studies."
)
app.add_typer(storages, name="storage")

URL = Annotated[str, typer.Argument(help="Database URL: sqlite:///FILE or postgresql://...")]


@storages.command("upgrade")
def upgrade_command(url: URL, as_json: AsJson = False) -> None:
    """Upgrade a database written by an older version.

    First stop all processes that use it, and back it up.
    """

    before, after = studies.storage.store.upgrade(url)
    words = f"schema {after} is up to date" if before == after else f"upgraded from schema {before} to schema {after}"
    report(as_json, {"before": before, "after": after}, words)


@storages.command("backup")
def backup_command(
    url: URL, to: Annotated[str, typer.Argument(metavar="FILE", help="New file for the copy.")], as_json: AsJson = False
) -> None:
    """Copy a database while it is in use.

    SQLite is copied to a database file, PostgreSQL with pg_dump (restore with pg_restore).
    """

    made = studies.storage.store.backup(url, to)
    report(as_json, {"file": str(made), "bytes": made.stat().st_size}, f"backed up to {made}")


@storages.command("check")
def check_command(url: URL, as_json: AsJson = False) -> None:
    """Check every event of every study, and fail if one is corrupt."""

    store = studies.storage.store.opened(url)
    found: dict[str, str | None] = {}
    for row in studies.Study.list(storage=store):
        found[row.name] = row.error
        if row.error is None:
            try:
                studies.Study.load(row.name, storage=store)._session.check()
            except UnreadableStudyError as error:
                found[row.name] = str(error)
    lines = [f"{name}: {error or 'ok'}" for name, error in found.items()]
    report(as_json, [{"name": name, "error": error} for name, error in found.items()], "\n".join(lines) or "no studies")
    corrupt = sum(error is not None for error in found.values())
    if corrupt:
        raise StorageError(f"{corrupt} of {len(found)} studies in storage {store.address} cannot be read")

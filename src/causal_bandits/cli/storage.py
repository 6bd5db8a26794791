"""`causal-bandits storage ...`: maintain a database of studies."""

from typing import Annotated

import typer

from ..errors import StorageError, UnreadableStudyError
from .deferred import studies
from .root import app
from .study import AsJson, report

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
        raise StorageError(f"{corrupt} of {len(found)} studies in storage {store.place} cannot be read")

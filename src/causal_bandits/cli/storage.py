"""`causal-bandits storage ...`: look after a database of studies."""

from typing import Annotated

import typer

from ..errors import StorageError, UnreadableStudyError
from .root import app
from .study import AsJson, report

storages = typer.Typer(no_args_is_help=True, help="Upgrade or check a database of studies.")
app.add_typer(storages, name="storage")

URL = Annotated[str, typer.Argument(help="Database URL: sqlite:///FILE or postgresql://...")]


@storages.command("upgrade")
def upgrade_command(url: URL, as_json: AsJson = False) -> None:
    """Upgrade a database that an older version wrote. Stop all processes that use it and make a copy first."""
    from ..studies import storage

    before, after = storage.upgrade(url)
    words = f"schema {after} is up to date" if before == after else f"upgraded from schema {before} to schema {after}"
    report(as_json, {"before": before, "after": after}, words)


@storages.command("check")
def check_command(url: URL, as_json: AsJson = False) -> None:
    """Read every event of every study, and fail if one is damaged."""
    from ..studies import Study, storage

    store = storage.opened(url)
    found: dict[str, str | None] = {}
    for row in Study.list(storage=store):
        found[row.name] = row.error
        if row.error is None:
            try:
                Study.load(row.name, storage=store)._session.check()
            except UnreadableStudyError as error:
                found[row.name] = str(error)
    lines = [f"{name}: {error or 'ok'}" for name, error in found.items()]
    report(as_json, [{"name": name, "error": error} for name, error in found.items()], "\n".join(lines) or "no studies")
    damaged = sum(error is not None for error in found.values())
    if damaged:
        raise StorageError(f"{damaged} of {len(found)} studies in storage {store.place} cannot be read")

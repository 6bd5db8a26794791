"""`causal-bandits compare`: the field, by what each policy is told."""

import json
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from ..experiments import FAMILIES, compare_field
from ..reporting import sheet_of, terminal_table
from ..simulate import FIELD
from .long_work import run_long, show_places
from .root import app, console


def _names(text: str) -> list[str]:
    return [name.strip() for name in text.split(",") if name.strip()]


def _list(wanted: bool) -> None:
    if wanted:
        terminal = Console(highlight=False, soft_wrap=True)
        terminal.print("[bold]policies[/]  " + ", ".join(FIELD))
        for name, family in FAMILIES.items():
            terminal.print(f"[bold]{name}[/]  {family.title} ({family.worlds} worlds)")
        raise typer.Exit


@app.command("compare")
def compare_command(
    policies: Annotated[
        str, typer.Option(help="Names with commas between them; 'all' takes every policy that applies.")
    ] = "all",
    worlds: Annotated[str, typer.Option(help="Families of worlds, with commas between them.")] = "dags4,structureless",
    horizon: Annotated[int, typer.Option(help="Rounds.")] = 2000,
    runs: Annotated[int, typer.Option(help="Runs per world.")] = 5,
    seed: Annotated[int, typer.Option(help="The same seed gives the same numbers.")] = 0,
    jobs: Annotated[int | None, typer.Option(help="Processes to use; all cores by default.")] = None,
    out: Annotated[Path, typer.Option(help="Folder for the results; finished work in it is kept and used.")] = Path(
        "comparison"
    ),
    engine: Annotated[str, typer.Option(help="local: processes of this machine; dask: a Dask cluster.")] = "local",
    scheduler: Annotated[
        str | None, typer.Option(help="Address of a Dask scheduler, tcp://...; without it Dask starts workers here.")
    ] = None,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="Print nothing but errors.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print the summaries as JSON and nothing else.")] = False,
    show_list: Annotated[
        bool, typer.Option("--list", callback=_list, is_eager=True, help="List policies and worlds, and exit.")
    ] = False,
) -> None:
    """Compare policies over families of worlds: a table by tier with simple and cumulative regret, figure, report."""
    terminal = console(quiet=quiet or as_json)
    terminal.print("Looking which policies apply. The first use of a release compiles for a minute.", highlight=False)
    found = run_long(
        terminal,
        lambda told: compare_field(
            None if policies == "all" else _names(policies),
            _names(worlds),
            horizon=horizon,
            runs=runs,
            seed=seed,
            out=out,
            jobs=jobs,
            engine=engine,
            scheduler=scheduler,
            told=told,
        ),
    )
    for each in found:
        terminal.print(terminal_table(sheet_of(each.summary, each.about)))
        show_places(terminal, each)
    terminal.print(f"Report: {out / 'report.html'}", highlight=False, soft_wrap=True)
    if as_json:
        typer.echo(json.dumps({each.summary["figure"]: each.summary for each in found}, indent=1))

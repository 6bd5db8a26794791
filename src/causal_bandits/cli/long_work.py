"""Work that takes long: its options, bars while it runs, a word when it is stopped, and what came of it."""

import signal
from collections.abc import Callable
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from ..experiments import Reproduced, Told, judge
from ..processes import Terminated, stopped_once
from ..reporting import claims_sheet, progress, sheet_of, terminal_table
from .root import console
from .streams import say_json

Seed = Annotated[int, typer.Option(help="The same seed gives the same numbers.")]
Jobs = Annotated[int | None, typer.Option(help="Processes to use; all cores by default.")]
Out = Annotated[Path, typer.Option(help="Folder for the results; finished work in it is kept and used.")]
Engine = Annotated[str, typer.Option(help="local: processes of this machine; dask: a Dask cluster.")]
Scheduler = Annotated[
    str | None, typer.Option(help="Address of a Dask scheduler, tcp://...; without it Dask starts workers here.")
]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="Print nothing but errors.")]
AsJson = Annotated[bool, typer.Option("--json", help="Print the summaries as JSON and nothing else.")]


def run_long(terminal: Console, work: Callable[[Told], list[Reproduced]]) -> list[Reproduced]:
    """Run it with progress on the terminal, and warnings and the last word on standard error."""
    errors = console(errors=True)
    try:
        with stopped_once(), progress(terminal) as done:
            return work(Told(done, lambda text: errors.print(text, style="yellow", soft_wrap=True)))
    except KeyboardInterrupt as stopped:
        errors.print("Stopped. Finished work is kept; the same command goes on from there.")
        number = signal.SIGTERM if isinstance(stopped, Terminated) else signal.SIGINT
        raise typer.Exit(128 + number) from None


def show(terminal: Console, found: list[Reproduced], out: Path, *, as_json: bool) -> None:
    """The tables and where the figures are, what became of the claims, where the report is; or JSON by figure."""
    for each in found:
        terminal.print(terminal_table(sheet_of(each.summary, each.about)))
        terminal.print(f"Figure: {each.folder / 'figure.png'}", soft_wrap=True)
    verdicts = [verdict for each in found for verdict in judge(each.summary)]
    if verdicts:
        terminal.print(terminal_table(claims_sheet(verdicts)))
    terminal.print(f"Report: {out / 'report.html'}", soft_wrap=True)
    if as_json:
        say_json({each.summary["figure"]: each.summary for each in found}, indent=1)

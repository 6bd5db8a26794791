"""Long-running commands: their options, progress bars, and what is printed when they are stopped."""

import signal
from collections.abc import Callable
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from ..core.processes import Terminated, stopped_once
from .deferred import experiments, summary_sheets, terminals
from .root import console
from .streams import say_json

Seed = Annotated[int, typer.Option(help="Random seed; the same seed gives the same numbers.")]
Jobs = Annotated[int | None, typer.Option(help="Number of processes; all cores by default.")]
Out = Annotated[Path, typer.Option(help="Results folder; finished work in it is reused.")]
Engine = Annotated[str, typer.Option(help="local: processes on this machine; dask: a Dask cluster; slurm: Slurm jobs.")]
Scheduler = Annotated[
    str | None, typer.Option(help="Dask scheduler address, tcp://...; by default Dask starts local workers.")
]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="Print only errors.")]
AsJson = Annotated[bool, typer.Option("--json", help="Print only the summaries, as JSON.")]


def run_long(
    terminal: Console, work: "Callable[[experiments.Progress], list[experiments.Reproduced]]"
) -> "list[experiments.Reproduced]":
    """Run it with progress on the terminal, and warnings and errors on standard error."""
    errors = console(errors=True)
    try:
        with stopped_once(), terminals.progress(terminal) as done:
            return work(experiments.Progress(done, lambda text: errors.print(text, style="yellow", soft_wrap=True)))
    except KeyboardInterrupt as stopped:
        errors.print("Stopped. Finished work is kept; run the same command again to resume.")
        number = signal.SIGTERM if isinstance(stopped, Terminated) else signal.SIGINT
        raise typer.Exit(128 + number) from None


def show(terminal: Console, found: "list[experiments.Reproduced]", out: Path, *, as_json: bool) -> None:
    """Print the tables, the paths of figures and report, and the verdicts on claims; or JSON by figure."""
    for each in found:
        if "matrix" not in each.summary:
            terminal.print(terminals.TerminalTable(summary_sheets.sheet_of(each.summary, each.about)))
        elif by_reading := experiments.figure_files.claims_by_reading(
            # the report says once what the matrix leaves out
            experiments.figure_files.read_summaries(out, lambda _: None),
            each.summary["figure"],
        ):
            terminal.print(*map(terminals.TerminalTable, summary_sheets.matrix_sheets(by_reading.rows)), sep="\n")
            terminal.print(by_reading.words)
        terminal.print(f"Figure: {each.folder / 'figure.png'}", soft_wrap=True)
    verdicts = [verdict for each in found for verdict in experiments.judge(each.summary)]
    if verdicts:
        terminal.print(terminals.TerminalTable(summary_sheets.claims_sheet(verdicts)))
    terminal.print(f"Report: {out / 'report.html'}", soft_wrap=True)
    if as_json:
        say_json({each.summary["figure"]: each.summary for each in found}, indent=1)

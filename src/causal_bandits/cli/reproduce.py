"""`causal-bandits reproduce`: the paper's figures."""

from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from ..experiments import ALL, EXPERIMENTS, Reproduced, find_experiments, judge, reproduce
from ..reporting import claims_sheet, sheet_of, terminal_table, written
from .long_work import AsJson, Engine, Jobs, Out, Quiet, Scheduler, Seed, print_summaries, run_long, show_places
from .root import app, console


@app.command("reproduce")
def reproduce_command(
    figure: Annotated[str, typer.Argument(help=f"Which figure: {', '.join([*EXPERIMENTS, ALL])} (all: the paper's).")],
    scale: Annotated[
        str, typer.Option(help="smoke: seconds; quick: a minute or two on two cores; paper: the full design.")
    ] = "quick",
    seed: Seed = 0,
    jobs: Jobs = None,
    out: Out = Path("results"),
    runs: Annotated[int | None, typer.Option(help="Runs per world; overrides the scale.")] = None,
    weighted: Annotated[
        bool, typer.Option("--weighted", help="Weight each class of graphs by its number of labelled graphs.")
    ] = False,
    engine: Engine = "local",
    scheduler: Scheduler = None,
    quiet: Quiet = False,
    as_json: AsJson = False,
) -> None:
    """Reproduce a figure of the paper, or all: OUT/FIGURE/summary.json, runs.parquet, figure.png and figure.svg.

    OUT/report.html shows every figure in OUT with the paper's claims and their verdicts. To resume an interrupted
    command, run it again.
    """
    terminal = console(quiet=quiet or as_json)
    for experiment in find_experiments(figure):
        size = experiment.size(scale, runs)
        chunks = len(experiment.chunks(size, seed))
        terminal.print(written(experiment.title, "bold"))
        terminal.print(f"{experiment.question} ({chunks} parts)")
    terminal.print("The first run of a release compiles for some seconds.")
    found = run_long(
        terminal,
        lambda told: reproduce(
            figure,
            scale=scale,
            seed=seed,
            jobs=jobs,
            out=out,
            runs=runs,
            weighted=weighted,
            engine=engine,
            scheduler=scheduler,
            told=told,
        ),
    )
    _show(terminal, found, out)
    if as_json:
        print_summaries(found)


def _show(terminal: Console, found: list[Reproduced], out: Path) -> None:
    for each in found:
        terminal.print(terminal_table(sheet_of(each.summary)))
        show_places(terminal, each)
    verdicts = [verdict for each in found for verdict in judge(each.summary)]
    if verdicts:
        terminal.print(terminal_table(claims_sheet(verdicts)))
    terminal.print(f"Report: {out / 'report.html'}", soft_wrap=True)

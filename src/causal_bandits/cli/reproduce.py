"""`causal-bandits reproduce`: the paper's figures."""

from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from ..errors import OptionError
from .deferred import experiments, terminals
from .long_work import AsJson, Engine, Jobs, Out, Quiet, Scheduler, Seed, run_long, show
from .root import app, console

Weighted = Annotated[
    bool, typer.Option("--weighted", help="Weight each class of graphs by its number of labeled graphs.")
]
Reading = Annotated[
    list[str] | None,
    typer.Option(
        "--reading",
        help="Judge the claims under this reading, such as test=marginal or unit=pairs; repeat it for several.",
    ),
]


def _list(wanted: bool) -> None:
    if wanted:
        terminal = console()
        for name, experiment in experiments.EXPERIMENTS.items():
            terminal.print(terminals.written(name, "bold"), "", experiment.title, soft_wrap=True)
        raise typer.Exit


@app.command("reproduce")
def reproduce_command(
    figure: Annotated[
        str, typer.Argument(help="Figure, such as fig2a; 'all' runs every figure of the paper; see --list.")
    ],
    scale: Annotated[
        str, typer.Option(help="smoke: seconds; quick: a minute or two on two cores; paper: the full design.")
    ] = "quick",
    seed: Seed = 0,
    jobs: Jobs = None,
    out: Out = Path("results"),
    runs: Annotated[int | None, typer.Option(help="Runs per world; overrides the scale.")] = None,
    weighted: Weighted = False,
    reading: Reading = None,
    engine: Engine = "local",
    scheduler: Scheduler = None,
    quiet: Quiet = False,
    as_json: AsJson = False,
    show_list: Annotated[
        bool, typer.Option("--list", callback=_list, is_eager=True, help="List the figures, and exit.")
    ] = False,
) -> None:
    """Reproduce a figure of the paper, or all of them.

    Writes summary.json, runs.parquet, figure.png and figure.svg to OUT/FIGURE. OUT/report.html shows every figure in
    OUT with the paper's claims and their verdicts. If OUT has
    "readings", the report starts with the verdicts that depend on choices the paper leaves open. To resume an
    interrupted command, run it again.
    """
    terminal = console(quiet=quiet or as_json)
    given = _readings(reading or [])
    _announce(terminal, [(each, each.size(scale, runs)) for each in experiments.find_experiments(figure, given)], seed)
    found = run_long(
        terminal,
        lambda progress: experiments.reproduce(
            figure,
            scale=scale,
            seed=seed,
            jobs=jobs,
            out=out,
            runs=runs,
            weighted=weighted,
            reading=given,
            engine=engine,
            scheduler=scheduler,
            progress=progress,
        ),
    )
    show(terminal, found, out, as_json=as_json)


def _readings(given: list[str]) -> dict[str, str]:
    """FACTOR=VALUE as a mapping."""
    for each in given:
        if "=" not in each:
            raise OptionError(f"--reading {each!r} is not understood; expected FACTOR=VALUE, such as test=marginal")
    return {name.strip(): value.strip() for name, value in (each.split("=", 1) for each in given)}


def _announce(terminal: Console, plan: "list[tuple[experiments.Experiment, experiments.Scale]]", seed: int) -> None:
    for experiment, size in plan:
        terminal.print(terminals.written(experiment.title, "bold"))
        terminal.print(f"{experiment.question} ({len(experiment.chunks(size, seed))} parts)")
    terminal.print("The first run of a release compiles for some seconds.")

"""The command line: parses and prints, computes nothing."""

import sys
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from . import __version__
from .errors import CausalBanditsError
from .experiments import EXPERIMENTS, find_experiment, reproduce
from .reporting import progress, regret_table

app = typer.Typer(
    name="causal-bandits",
    help="Causal bandits without prior knowledge: discover separating sets while playing, share what every arm learns.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _version(wanted: bool) -> None:
    if wanted:
        Console().print(f"causal-bandits {__version__}", highlight=False)
        raise typer.Exit


def _console() -> Console:
    """The terminal as wide as it is; a file or a pipe wide enough for a table."""
    console = Console()
    return console if console.is_terminal else Console(width=110)


@app.callback()
def root(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Show the version and exit.")
    ] = False,
) -> None:
    """Causal bandits without prior knowledge."""


@app.command("reproduce")
def reproduce_command(
    figure: Annotated[str, typer.Argument(help=f"Which figure of the paper: {', '.join(EXPERIMENTS)}.")],
    scale: Annotated[
        str, typer.Option(help="smoke: seconds; quick: a minute or two on two cores; paper: the full design.")
    ] = "quick",
    seed: Annotated[int, typer.Option(min=0, help="The same seed gives the same numbers.")] = 0,
    jobs: Annotated[int | None, typer.Option(min=1, help="Processes to use; all cores by default.")] = None,
    out: Annotated[Path, typer.Option(help="Folder for the results; finished work in it is kept and used.")] = Path(
        "results"
    ),
    weighted: Annotated[
        bool, typer.Option("--weighted", help="Weigh each class of graphs by the number of labelled graphs in it.")
    ] = False,
) -> None:
    """Run a figure of the paper: summary.json, runs.parquet, figure.png and figure.svg in OUT/FIGURE."""
    console = _console()
    experiment = find_experiment(figure)
    size = experiment.scale(scale)
    console.print(f"[bold]{experiment.title}[/]\n{experiment.question}", highlight=False)
    console.print(
        f"{experiment.worlds} worlds x {size.runs} runs x {len(experiment.series)} policies, "
        f"{size.horizon} rounds each, seed {seed}. The first use compiles for some seconds.",
        highlight=False,
    )
    try:
        with progress(console, figure) as on_done:
            summary, folder = reproduce(
                figure, scale=scale, seed=seed, jobs=jobs, out=out, weighted=weighted, on_done=on_done
            )
    except KeyboardInterrupt:
        console.print("Stopped. Finished work is kept; the same command goes on from there.")
        raise typer.Exit(130) from None
    console.print(regret_table(summary, [2 * size.horizon // 5, size.horizon]))
    console.print(f"Figure: {folder / 'figure.png'}", highlight=False, soft_wrap=True)


def main() -> None:
    """Run the command line; an error on purpose is one line, not a traceback."""
    try:
        app(prog_name="causal-bandits")
    except CausalBanditsError as error:
        Console(stderr=True).print(f"Error: {error}", style="red", highlight=False, markup=False, soft_wrap=True)
        sys.exit(2)


if __name__ == "__main__":
    main()

"""`causal-bandits reproduce`: the paper's figures."""

from pathlib import Path
from typing import Annotated

import typer

from ..experiments import EXPERIMENTS, find_experiment, reproduce
from ..reporting import progress, regret_table
from .root import app, console


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
    terminal = console()
    experiment = find_experiment(figure)
    size = experiment.scale(scale)
    terminal.print(f"[bold]{experiment.title}[/]\n{experiment.question}", highlight=False)
    terminal.print(
        f"{experiment.worlds} worlds x {size.runs} runs x {len(experiment.series)} policies, "
        f"{size.horizon} rounds each, seed {seed}. The first use compiles for some seconds.",
        highlight=False,
    )
    try:
        with progress(terminal, figure) as on_done:
            summary, folder = reproduce(
                figure, scale=scale, seed=seed, jobs=jobs, out=out, weighted=weighted, on_done=on_done
            )
    except KeyboardInterrupt:
        terminal.print("Stopped. Finished work is kept; the same command goes on from there.")
        raise typer.Exit(130) from None
    terminal.print(regret_table(summary, [2 * size.horizon // 5, size.horizon]))
    terminal.print(f"Figure: {folder / 'figure.png'}", highlight=False, soft_wrap=True)

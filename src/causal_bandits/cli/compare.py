"""`causal-bandits compare`: compare policies, by what each is given."""

from pathlib import Path
from typing import Annotated

import typer

from ..errors import OptionError
from .deferred import experiments, simulation, terminals
from .long_work import AsJson, Engine, Jobs, Out, Quiet, Scheduler, Seed, run_long, show
from .root import app, console, names_in


def _names(option: str, text: str) -> list[str]:
    names = names_in(text)
    if not names:
        raise OptionError(f"{option} {text!r} is empty; see causal-bandits compare --list for the names")
    return names


def _list(wanted: bool) -> None:
    if wanted:
        terminal = console()
        terminal.print(terminals.written("policies", "bold"), "", ", ".join(simulation.entries()), soft_wrap=True)
        for name, family in experiments.FAMILIES.items():
            terminal.print(
                terminals.written(name, "bold"),
                "",
                f"{family.title} ({family.worlds} world{'s' if family.worlds > 1 else ''})",
                soft_wrap=True,
            )
        raise typer.Exit


DELAY = (
    "Rounds after which a reward is known: 500, geometric:500, or zero=2000,other=geometric:50. "
    "Mediators are known at once."
)


@app.command("compare")
def compare_command(
    policies: Annotated[
        str, typer.Option(help="Policy names, separated by commas; 'all' takes every policy that applies.")
    ] = "all",
    worlds: Annotated[str, typer.Option(help="Families of worlds, separated by commas.")] = "dags4,structureless",
    horizon: Annotated[int, typer.Option(help="Number of rounds.")] = 2000,
    runs: Annotated[int, typer.Option(help="Runs per world.")] = 5,
    delay: Annotated[str | None, typer.Option(help=DELAY)] = None,
    seed: Seed = 0,
    jobs: Jobs = None,
    out: Out = Path("comparison"),
    engine: Engine = "local",
    scheduler: Scheduler = None,
    quiet: Quiet = False,
    as_json: AsJson = False,
    show_list: Annotated[
        bool, typer.Option("--list", callback=_list, is_eager=True, help="List policies and worlds, and exit.")
    ] = False,
) -> None:
    """Compare policies over families of simulated worlds.

    Writes a table of regret by tier, a figure and a report.
    """
    late = None if delay is None else simulation.delays.delay_in(delay)
    terminal = console(quiet=quiet or as_json)
    terminal.print("Checking which policies apply. The first run of a release compiles for about a minute.")
    found = run_long(
        terminal,
        lambda progress: experiments.compare_field(
            None if policies == "all" else _names("--policies", policies),
            _names("--worlds", worlds),
            progress=progress,
            horizon=horizon,
            runs=runs,
            seed=seed,
            delay=late,
            out=out,
            jobs=jobs,
            engine=engine,
            scheduler=scheduler,
        ),
    )
    show(terminal, found, out, as_json=as_json)

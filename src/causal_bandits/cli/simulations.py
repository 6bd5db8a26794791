"""`causal-bandits reproduce|compare|plan`: simulations."""

import signal
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Annotated, NoReturn

import typer
from rich.console import Console

from ..core.markup import counted
from ..core.processes import Interrupts, Terminated
from ..errors import OptionError
from .deferred import experiments, plots, sheets, simulation, summary_sheets, terminals
from .root import app, console, names_in, say, say_json, waiting
from .study import AsJson, problem_in

Seed = Annotated[int, typer.Option(help="Random seed; the same seed gives the same numbers.")]
Jobs = Annotated[int | None, typer.Option(help="Number of processes; all cores by default.")]
Out = Annotated[Path, typer.Option(help="Results folder; finished work in it is reused.")]
Engine = Annotated[str, typer.Option(help="local: processes on this machine; dask: a Dask cluster.")]
Scheduler = Annotated[
    str | None, typer.Option(help="Dask scheduler address, tcp://...; by default Dask starts local workers.")
]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="Print only errors.")]
OnlyJson = Annotated[bool, typer.Option("--json", help="Print only the summaries, as JSON.")]


def run_long(
    terminal: Console, work: "Callable[[experiments.Progress], list[experiments.Reproduced]]"
) -> "list[experiments.Reproduced]":
    """Run it with progress on the terminal, and warnings and errors on standard error."""
    errors = console(errors=True)
    try:
        with Interrupts(command=True), terminals.progress(terminal) as done:
            return work(experiments.Progress(done, lambda text: errors.print(text, style="yellow", soft_wrap=True)))
    except KeyboardInterrupt as stopped:
        errors.print("Stopped. Finished work is kept; run the same command again to resume.")
        number = signal.SIGTERM if isinstance(stopped, Terminated) else signal.SIGINT
        raise typer.Exit(128 + number) from None


def show(terminal: Console, found: "list[experiments.Reproduced]", out: Path, *, as_json: bool) -> None:
    """Print the tables, the paths of figures and report, and the verdicts on claims; or JSON by figure."""
    for each in found:
        if "matrix" not in each.summary:
            sheet = summary_sheets.sheet_of(each.summary, each.about)
            shown = sheets.first_rows(sheet, rest="all are in summary.json")
            terminal.print(terminals.TerminalTable(shown))
        elif by_reading := experiments.figure_files.claims_by_reading(
            # the report says once what the matrix leaves out
            experiments.figure_files.read_summaries(out, lambda _: None)
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


Weighted = Annotated[
    bool, typer.Option("--weighted", help="Weight each class of graphs by its number of labeled graphs.")
]


def _list_figures(wanted: bool) -> None:
    if wanted:
        _list((name, experiment.title) for name, experiment in experiments.EXPERIMENTS.items())


def _list(lines: Iterable[tuple[str, str]]) -> NoReturn:
    terminal = console()
    for name, title in lines:
        terminal.print(terminals.written(name, "bold"), "", title, soft_wrap=True)
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
    engine: Engine = "local",
    scheduler: Scheduler = None,
    quiet: Quiet = False,
    as_json: OnlyJson = False,
    show_list: Annotated[
        bool, typer.Option("--list", callback=_list_figures, is_eager=True, help="List the figures, and exit.")
    ] = False,
) -> None:
    """Reproduce a figure of the paper, or all of them.

    Writes summary.json, runs.parquet, figure.png and figure.svg to OUT/FIGURE. OUT/report.html shows every figure in
    OUT with the paper's claims and their verdicts. If OUT has
    "readings", the report starts with the verdicts that depend on choices the paper leaves open. To resume an
    interrupted command, run it again.
    """
    terminal = console(quiet=quiet or as_json)
    _announce(terminal, [(each, each.size(scale, runs)) for each in experiments.find_experiments(figure)], seed)
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
            engine=engine,
            scheduler=scheduler,
            progress=progress,
        ),
    )
    show(terminal, found, out, as_json=as_json)


def _announce(terminal: Console, plan: "list[tuple[experiments.Experiment, experiments.Scale]]", seed: int) -> None:
    for experiment, size in plan:
        terminal.print(terminals.written(experiment.title, "bold"))
        terminal.print(f"{experiment.question} ({len(experiment.chunks(size, seed))} parts)")
    terminal.print("The first run of a release compiles for some seconds.")


def _names(option: str, text: str) -> list[str]:
    names = names_in(text)
    if not names:
        raise OptionError(f"{option} {text!r} is empty; see causal-bandits compare --list for the names")
    return names


def _list_policies(wanted: bool) -> None:
    if wanted:
        families = experiments.FAMILIES.items()
        worlds = ((name, f"{family.title} ({counted(family.worlds, 'world')})") for name, family in families)
        _list([("policies", ", ".join(simulation.entries())), *worlds])


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
    as_json: OnlyJson = False,
    show_list: Annotated[
        bool, typer.Option("--list", callback=_list_policies, is_eager=True, help="List policies and worlds, and exit.")
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


def _mediators(given: list[str]) -> dict[str, float | None] | None:
    """Names, some with a rate: clicked, or clicked=0.1."""
    found: dict[str, float | None] = {}
    for text in given:
        name, sign, rate = text.rpartition("=") if "=" in text else (text, "", "")
        try:
            found[name.strip()] = float(rate) if sign else None
        except ValueError:
            raise OptionError(f"--mediator {text!r}: {rate!r} is not a rate; write name or name=0.1") from None
    return found or None


MEDIATOR = (
    "Observed variable that carries effects, as NAME or NAME=RATE at the control; repeat it for several. "
    "All discrete ones by default."
)


@app.command("plan")
def plan_command(
    problem: Annotated[Path, typer.Argument(help="JSON file with the problem, as for `study create`.")],
    rate: Annotated[float, typer.Option(help="Reward rate of the control, such as 0.02.")],
    lift: Annotated[float, typer.Option(help="Smallest lift of the best arm that matters: 0.2 for 20%.")],
    mediator: Annotated[list[str] | None, typer.Option(help=MEDIATOR)] = None,
    direct: Annotated[bool, typer.Option("--direct", help="Levers also act on the reward directly.")] = False,
    policy: Annotated[str, typer.Option(help="safe or best-arm.")] = "safe",
    stopped: Annotated[float, typer.Option(help="Share of simulated studies that must have stopped.")] = 0.9,
    tolerance: Annotated[
        float, typer.Option(help="Expected loss that is good enough, as a share of the control's mean.")
    ] = 0.01,
    runs: Annotated[int, typer.Option(help="Number of simulated studies.")] = 100,
    longest: Annotated[int, typer.Option(help="Maximum decisions per simulated study.")] = 100_000,
    seed: Annotated[int, typer.Option(help="Random seed; the same seed gives the same numbers.")] = 0,
    figure: Annotated[Path, typer.Option(help="Figure to write: .png, .svg or .pdf.")] = Path("plan.png"),
    as_json: AsJson = False,
) -> None:
    """Simulate how many decisions a study needs until it can stop.

    A study stops with a proof, or when the recommended arm is good enough.
    """
    described, file = problem_in(problem), plots.figure_file(figure)
    with waiting() as tell:
        found = experiments.plan(
            described,
            rate=rate,
            lift=lift,
            mediators=_mediators(mediator or []),
            direct=direct,
            policy=policy,
            confidence=stopped,
            tolerance=tolerance,
            runs=runs,
            longest=longest,
            seed=seed,
            progress=tell,
        )
    written = found.save_figure(file)
    if as_json:
        say_json({**found.to_dict(), "figure": str(written)}, indent=1)
    else:
        say(f"{found}\nFigure: {written}")

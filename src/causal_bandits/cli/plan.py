"""`causal-bandits plan`: how many decisions a study will need."""

from pathlib import Path
from typing import Annotated

import typer

from ..errors import OptionError
from .deferred import experiments, plots
from .root import app
from .streams import say, say_json
from .study import AsJson, problem_in
from .waiting import waiting


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

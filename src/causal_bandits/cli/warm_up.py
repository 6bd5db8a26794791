"""`causal-bandits warm-up`: compile ahead of time, for example in a container image."""

from pathlib import Path
from typing import Annotated

import typer

from ..product.options import json_in
from .deferred import problems, studies
from .root import app
from .study import AsJson, problem_in, report
from .waiting import waiting


def of_each_kind() -> tuple["problems.Problem", ...]:
    """A problem with a reward of 0 or 1, and one with a real-valued one."""
    return (
        problems.Problem("reward", {"seen": 2, "cut": problems.bins(quantiles=2)}, {"lever": 2}),
        problems.Problem("reward", {"seen": float}, {"lever": 2}, reward=float),
    )


@app.command("warm-up")
def warm_up_command(
    problem: Annotated[
        Path | None,
        typer.Option(help="JSON file with the problem; by default one with a reward of 0 or 1 and a real-valued one."),
    ] = None,
    policy: Annotated[
        list[str] | None, typer.Option(help="Preset or policy name; repeat it for several. safe by default.")
    ] = None,
    options: Annotated[str | None, typer.Option(help="Policy options as JSON.")] = None,
    as_json: AsJson = False,
) -> None:
    """Compile everything that studies need into the cache.

    Run it when you build a container image; later processes load the compiled code. The cache is in NUMBA_CACHE_DIR if
    that is set, otherwise next to the package. Compiled code works on this kind of processor only; set
    NUMBA_CPU_NAME=generic if the image runs on other kinds.
    """
    given = json_in("--options", options) if options else None
    wanted_for = of_each_kind() if problem is None else (problem_in(problem),)
    wanted: list[str | None] = [*policy] if policy else [None]
    with waiting() as tell:
        made = [(name, each) for name in wanted for each in wanted_for]
        done = [studies.warm_up(each, policy=name, options=given, progress=tell) for name, each in made]
    folder = studies.kept_in()
    lines = [f"{each.policy}: ready, {each.seconds:.1f} s" for each in done]
    nowhere = "Nothing could be cached; set NUMBA_CACHE_DIR to a writable folder"
    lines.append(nowhere if folder is None else f"Cached in {folder}")
    values = {"policies": [each._asdict() for each in done], "kept_in": folder}
    report(as_json, values, "\n".join(lines))

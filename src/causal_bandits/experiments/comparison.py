"""Own experiments: policies against each other in worlds, with the same table, figure, resume and engines."""

import os
import pickle
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import polars as pl
from rich.console import Console

from ..errors import OptionError, listing, whole_number
from ..reporting import draw, sheet_of, terminal_table
from ..simulation.run import World
from ..simulation.runs import PolicyFactory, bare
from .base import Scale, Summary
from .curves import Curves, Panel, method_of, told_nothing
from .engines import make_engine
from .folder import ResultsFolder
from .identity import policy_identity, world_identity
from .report import write_report
from .reproduction import make_files
from .run import SILENT, Told

Worlds = Sequence[World] | Mapping[str, World | Sequence[World]]


@dataclass(frozen=True)
class Comparison:
    """What came of a comparison; printed, it is a table."""

    summary: Summary
    """As in summary.json."""
    runs: pl.DataFrame
    """One row per line, world, run and checkpoint: series, world, run, t, regret."""
    folder: Path | None
    """Where the files are, if they were kept."""

    def draw(self, path: str | os.PathLike[str]) -> None:
        """Draw the regret over rounds; PNG or SVG by the path's ending."""
        draw(self.summary, Path(path))

    def to_frame(self) -> pl.DataFrame:
        """The table: one row per policy and panel with regret at the end, its standard error, ratio to the baseline."""
        return pl.DataFrame(
            [
                {
                    "policy": found["label"],
                    "worlds": found["panel"],
                    "tier": found.get("tier"),
                    "told": found["knows"],
                    "t": found["t"][-1],
                    "regret": found["mean"][-1],
                    "se": found["se"][-1],
                    "ratio": found["ratio"][-1],
                    "ratio_se": found["ratio_se"][-1],
                }
                for found in self.summary["series"].values()
            ],
            schema_overrides={"tier": pl.Int64},
        )

    def __repr__(self) -> str:
        console = Console(width=110, color_system=None)
        with console.capture() as capture:
            console.print(terminal_table(sheet_of(self.summary)))
        return capture.get().rstrip()


def compare(
    policies: Mapping[str, PolicyFactory],
    worlds: Worlds,
    *,
    horizon: int,
    runs: int,
    seed: int = 0,
    observational: int = 0,
    baseline: str | None = None,
    name: str = "comparison",
    out: str | os.PathLike[str] | None = None,
    jobs: int | None = 1,
    engine: str = "local",
    scheduler: str | None = None,
    told: Told = SILENT,
) -> Comparison:
    """Play every policy in every world with the same random numbers and compare their regret.

    `policies` are classes, or `functools.partial`s of them, by label; their `hints` and `tier` say what they were told.
    `worlds` is a list, averaged over; or a mapping from a name to a world or a list, each with a panel of its own.
    Ratios are to `baseline`, the first policy unless given. With `out` everything is kept there as `causal-bandits
    reproduce` does, with a report, and the same call goes on after an interruption. `jobs=None` uses all cores;
    `engine` and `scheduler` as in `reproduce`.

    >>> import causal_bandits as cb
    >>> found = compare(
    ...     {"TS": cb.ThompsonSampling, "Causal TS": cb.CausalThompsonSampling},
    ...     [cb.example_world("S3")], horizon=300, runs=20)
    >>> found.to_frame()["policy"].to_list(), found.summary["series"]["causal-ts"]["runs"]
    (['TS', 'Causal TS'], 20)
    """
    size = Scale(whole_number("horizon", horizon, 1), whole_number("runs", runs, 1))
    seed = whole_number("seed", seed, 0)
    experiment = _experiment(policies, worlds, size, observational, baseline, name, kept=out is not None)
    with tempfile.TemporaryDirectory() as temporary, make_engine(engine, jobs=jobs, scheduler=scheduler) as workers:
        if workers.elsewhere:
            _check_sendable(experiment, size)
        root = ResultsFolder(Path(temporary) if out is None else out)
        made = make_files(experiment, size, {"seed": seed, "weighted": False}, root, workers, told)
        if out is not None:
            write_report(root, f"Comparison: {name}", "Policies played the same worlds with the same random numbers.")
        rows = pl.read_parquet(made.folder / "runs.parquet")
    return Comparison(made.summary, rows, None if out is None else made.folder)


def _experiment(
    policies: Mapping[str, PolicyFactory],
    worlds: Worlds,
    size: Scale,
    observational: int,
    baseline: str | None,
    name: str,
    *,
    kept: bool,
) -> Curves:
    _check_policies(policies)
    if not name or Path(name).name != name:
        raise OptionError(f"name={name!r}; expected a plain name for a folder")
    grouped = _grouped(worlds)
    first = next(iter(grouped.values()))[0]
    made = {label: factory(first.problem, seed=0) for label, factory in policies.items()}
    keys = {label: label.replace(" ", "-").lower() for label in policies}
    base = next(iter(policies)) if baseline is None else baseline
    if base not in policies or len(set(keys.values())) < len(keys):
        raise OptionError(f"baseline={base!r}; expected one of the policies {listing(policies)}, with distinct names")
    identity = [policy_identity(policies[label], made[label]) for label in made] if kept else []
    identity += [world_identity(world) for found in grouped.values() for world in found] if kept else []
    return Curves(
        name=name,
        title=f"{' and '.join(filter(None, [', '.join(list(policies)[:-1]), list(policies)[-1]]))}",
        question=f"Who has the least regret after {size.horizon} rounds?",
        scales={},
        methods=tuple(
            method_of(keys[label], label, made[label], told_nothing(factory)) for label, factory in policies.items()
        ),
        panels=tuple(
            Panel(
                f"-{title}" if title else "",
                title,
                len(found),
                tuple(bare(world) for world in found),
                whole_number("observational", observational, 0),
                (place,),
            )
            for place, (title, found) in enumerate(grouped.items())
        ),
        baseline=keys[base],
        identity=tuple(identity),
    )


def _check_policies(policies: Mapping[str, PolicyFactory]) -> None:
    if not isinstance(policies, Mapping) or not policies:
        raise OptionError(f"policies={policies!r}; expected a mapping such as {{'TS': ThompsonSampling}}")
    for label, factory in policies.items():
        if not isinstance(label, str) or not label.strip() or not callable(factory):
            raise OptionError(
                f"policies[{label!r}]={factory!r}; expected a name, and a policy class or a functools.partial of one"
            )


def _grouped(worlds: Worlds) -> dict[str, list[World]]:
    """Worlds by panel."""
    named = worlds if isinstance(worlds, Mapping) else {"": worlds}
    grouped: dict[str, list[World]] = {}
    for title, found in named.items():
        given: list[Any] = list(found) if isinstance(found, Sequence) else [found]
        grouped[str(title)] = given
        for world in given:
            if not hasattr(world, "pull") or not hasattr(world, "means"):
                raise OptionError(f"world {world!r}; expected a world, such as paper_world(...) or LoggedWorld(...)")
    if not grouped or not all(grouped.values()):
        raise OptionError(f"worlds={worlds!r}; expected at least one world")
    return grouped


def _check_sendable(experiment: Curves, size: Scale) -> None:
    try:
        for chunk in experiment.chunks(size, 0):
            pickle.dumps(chunk)
    except (pickle.PicklingError, AttributeError, TypeError) as error:
        raise OptionError(
            f"a policy or a world cannot be sent to another process ({error}); "
            "use functools.partial(PolicyClass, option=...) instead of a lambda, or jobs=1"
        ) from None

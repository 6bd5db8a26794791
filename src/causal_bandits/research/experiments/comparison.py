"""Compare a user's policies over a user's worlds."""

from __future__ import annotations

import functools
import hashlib
import inspect
import json
import os
import pickle
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console

from ...core.files import replacing
from ...core.markup import printable, titled_table
from ...core.policies import Policy
from ...errors import OptionError, brief, listing, whole_number
from ...libraries import pl
from ...reporting.sheets import first_rows
from ...reporting.summaries import Summary
from ...reporting.summary_plots import draw
from ...reporting.summary_sheets import sheet_of
from ...reporting.terminal import TerminalTable
from ..simulation.delays import Delay, check_delay
from ..simulation.many_runs import PolicyFactory, bare, check_sendable
from ..simulation.one_run import MOST_ROUNDS, World, check_world
from ..worlds.world import SimulatedWorld
from .base import checked_scale
from .curves import Curves
from .engines import make_engine
from .figure_files import make_files, write_report
from .methods import Panel, method_of, told_nothing
from .store import SILENT, Progress, ResultsFolder

# Identities of a user's policies and worlds: the same identity gives the same numbers


OURS = __name__.split(".")[0]


def policy_identity(factory: Any, policy: Any) -> str:
    """A policy's class and options; for a class of the user's, its source too."""
    parts = [type(policy).__module__, type(policy).__qualname__]
    if isinstance(policy, Policy):
        parts.append(json.dumps(policy.options(), sort_keys=True, default=str))
    elif isinstance(factory, functools.partial):
        parts.append(_pickled((factory.args, sorted(factory.keywords.items()))))
    made = factory.func if isinstance(factory, functools.partial) else factory
    return _digest([*parts, _source(type(policy)), "" if isinstance(factory, type) else _source(made)])


def world_identity(world: World) -> str:
    """A world's problem, means and how it draws."""
    if isinstance(world, SimulatedWorld):
        arrays = [np.asarray(part) for part in (world.means, *world.sampler)]
        drawn = hashlib.sha256(b"".join(f"{a.dtype}{a.shape}".encode() + a.tobytes() for a in arrays)).hexdigest()
        chances = [str(world.segment_chances.tolist())] if world.problem.segments else []
        return _digest([json.dumps(world.problem.to_dict(), default=str), drawn, _source(type(world)), *chances])
    return _digest([type(world).__qualname__, _source(type(world)), _pickled(world)])


def _source(thing: Any) -> str:
    """The source of a user's class or function; ours is fixed by the release."""
    if getattr(thing, "__module__", "").split(".")[0] == OURS:
        return ""
    try:
        return inspect.getsource(thing)
    except (OSError, TypeError):
        return ""


def _pickled(thing: object) -> str:
    try:
        return hashlib.sha256(pickle.dumps(thing)).hexdigest()
    except (pickle.PicklingError, AttributeError, TypeError) as error:
        raise OptionError(
            f"{thing!r} cannot be identified ({error}), so its results cannot be stored; "
            "leave out `out`, or use functools.partial(PolicyClass, option=...) instead of a lambda"
        ) from None


def _digest(parts: list[str]) -> str:
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()[:16]


LONGEST_FOLDER = 100
TAILS = ("q95", "q99", "cvar95", "over")
PLAYED = "Policies played the same worlds with the same random numbers."
Worlds = Sequence[World] | Mapping[str, World | Sequence[World]]


@dataclass(frozen=True)
class Comparison:
    """The result of a comparison; it prints as a table."""

    summary: Summary
    """As in summary.json."""
    runs: pl.DataFrame
    """One row per line, world, run and checkpoint: series, world, run, t, regret."""
    folder: Path | None
    """Where the files are, if they were kept."""

    def draw(self, path: str | os.PathLike[str]) -> None:
        """Draw the regret over rounds; PNG or SVG by the path's ending."""
        target = Path(path)
        if target.suffix not in (".png", ".svg"):
            raise OptionError(f"path={str(target)!r}; expected a name that ends in .png or .svg")
        with replacing(target) as temporary:
            draw(self.summary, temporary)

    def to_frame(self) -> pl.DataFrame:
        """The table: one row per policy and panel with regret at the end, ratio to the baseline, tails."""
        return pl.DataFrame(
            [
                {
                    "policy": found["label"],
                    "worlds": found["panel"],
                    "tier": found.get("tier"),
                    "given": found["knows"],
                    "t": found["t"][-1],
                    "regret": found["mean"][-1],
                    "se": found["se"][-1],
                    "ratio": found["ratio"][-1],
                    "ratio_se": found["ratio_se"][-1],
                    **{name: dict(found.get("tails", {})).get(name) for name in TAILS},
                }
                for found in self.summary["series"].values()
            ],
            schema_overrides={"tier": pl.Int64, **dict.fromkeys(TAILS, pl.Float64)},
        )

    def __repr__(self) -> str:
        console = Console(width=110, color_system=None)
        with console.capture() as capture:
            console.print(TerminalTable(first_rows(sheet_of(self.summary), rest="to_frame() has all")))
        return capture.get().rstrip()

    def _repr_html_(self) -> str:
        sheet = sheet_of(self.summary)
        return titled_table(sheet.title, sheet.columns, sheet.rows, numeric=sheet.numbers)


def compare(
    policies: Mapping[str, PolicyFactory],
    worlds: Worlds,
    *,
    horizon: int,
    runs: int,
    seed: int = 0,
    observational: int = 0,
    delay: Delay | None = None,
    baseline: str | None = None,
    name: str = "comparison",
    out: str | os.PathLike[str] | None = None,
    jobs: int | None = 1,
    engine: str = "local",
    scheduler: str | None = None,
    progress: Progress = SILENT,
) -> Comparison:
    """Play every policy in every world with the same random numbers and compare their regret.

    Args:
        policies: Label -> policy class or `functools.partial` of one; its `hints` and `tier` declare what it is given.
        worlds: A list, averaged over; or a mapping name -> world or list, each with its own panel.
        horizon: Number of rounds.
        runs: Runs per world.
        seed: Seed of all runs.
        observational: Rows of the control that every policy gets first, without regret.
        delay: Rounds until a reward is known: a number, `Geometric(mean)` or `ByOutcome(zero, other)`.
        baseline: Policy that ratios are relative to; the first by default.
        name: Name of the comparison and of its folder.
        out: Folder for all files and a report; the same call resumes after an interruption. By default nothing is kept.
        jobs: Number of processes; None uses all cores.
        engine: "local" processes or "dask".
        scheduler: Address of a Dask scheduler.
        progress: Callbacks for progress and warnings.

    >>> import causal_bandits as cb
    >>> found = compare(
    ...     {"TS": cb.ThompsonSampling, "Causal TS": cb.CausalThompsonSampling},
    ...     [cb.worlds.example_world("S3")], horizon=100, runs=2)
    >>> found.to_frame()["policy"].to_list(), found.summary["series"]["causal-ts"]["runs"]
    (['TS', 'Causal TS'], 2)
    """
    size = checked_scale(horizon, runs, 2)
    seed = whole_number("seed", seed, 0, None)
    before = whole_number("observational", observational, 0, MOST_ROUNDS)
    if delay is not None:
        check_delay(delay)
    _check_policies(policies)
    _check_folder(name)
    if baseline is not None and baseline not in policies:
        raise OptionError(f"baseline={baseline!r}; expected one of the policies {listing(policies)}")
    grouped = _grouped(worlds)
    first = next(iter(grouped.values()))[0]
    made = {label: factory(first.problem, seed=0) for label, factory in policies.items()}
    keys = {label: label.replace(" ", "-").lower() for label in policies}
    suffixes = {title: f"-{title}" if title else "" for title in grouped}
    _check_lines(keys, suffixes)
    *labels, last = policies
    identity = list[str]()
    if out is not None:  # distinguishes this comparison from another one with the same names
        identity = [policy_identity(policies[label], made[label]) for label in made]
        identity += [world_identity(world) for found in grouped.values() for world in found]
    experiment = Curves(
        name=name,
        title=" and ".join(filter(None, [", ".join(labels), last])),
        question=f"Who has the least regret after {size.horizon} rounds?",
        scales={},
        methods=tuple(
            method_of(keys[label], label, made[label], told_nothing(factory)) for label, factory in policies.items()
        ),
        panels=tuple(
            Panel(suffixes[title], title, len(found), tuple(map(bare, found)), before, (place,), delay=delay)
            for place, (title, found) in enumerate(grouped.items())
        ),
        baseline=keys[next(iter(policies)) if baseline is None else baseline],
        identity=tuple(identity),
    )
    experiment.checked(size)
    with make_engine(engine, jobs=jobs, scheduler=scheduler) as workers, tempfile.TemporaryDirectory() as temporary:
        if workers.elsewhere:
            for chunk in experiment.chunks(size, 0):
                check_sendable("a policy or a world", chunk)
        root = ResultsFolder(temporary if out is None else out)
        files = make_files(experiment, size, {"seed": seed, "weighted": False}, root, workers, progress)
        if out is not None:
            write_report(root, [name], progress.warn, f"Comparison: {name}", PLAYED)
        rows = pl.read_parquet(files.folder / "runs.parquet", glob=False)  # a name may hold [brackets]
    return Comparison(files.summary, rows, None if out is None else files.folder)


def _check_folder(name: str) -> None:
    """Reject a name that is a path elsewhere, or that other result files use."""
    taken = ("", ".", "..", "report.html", "manifest.json")
    plain = isinstance(name, str) and name not in taken and printable(name) == name and not set(name) & set("/\\")
    if not plain or len(name.encode()) > LONGEST_FOLDER:
        raise OptionError(f"name={name!r}; expected a plain name for a folder, of at most {LONGEST_FOLDER} bytes")


def _check_lines(keys: Mapping[str, str], suffixes: Mapping[str, str]) -> None:
    """Every policy in every panel is a line, and lines are identified by their keys."""
    lines: dict[str, str] = {}
    for label, key in keys.items():
        for title, suffix in suffixes.items():
            here = f"policy {label!r} in worlds {title!r}" if title else f"policy {label!r}"
            other = lines.setdefault(key + suffix, here)
            if other != here:
                raise OptionError(f"{here} and {other} have the same key {key + suffix!r}; rename one of them")


def _check_text(what: str, text: str) -> None:
    try:
        text.encode()
    except UnicodeEncodeError:
        raise OptionError(f"{what} {text!r} is not valid Unicode; rename it") from None


def _check_policies(policies: Mapping[str, PolicyFactory]) -> None:
    if not isinstance(policies, Mapping) or not policies:
        raise OptionError(f"policies={brief(policies)}; expected a mapping such as {{'TS': ThompsonSampling}}")
    for label, factory in policies.items():
        if not isinstance(label, str) or not label.strip() or not callable(factory):
            raise OptionError(
                f"policies[{brief(label)}]={brief(factory)}; "
                "expected a name, and a policy class or a functools.partial of one"
            )
        _check_text("policy", label)


def _grouped(worlds: Worlds) -> dict[str, list[World]]:
    """Worlds by panel."""
    named = worlds if isinstance(worlds, Mapping) else {"": worlds}
    grouped: dict[str, list[World]] = {}
    for title, found in named.items():
        given: list[Any] = list(found) if isinstance(found, Sequence) else [found]
        _check_text("worlds", str(title))
        if str(title) in grouped:
            raise OptionError(f"worlds {str(title)!r} are named twice; rename one of them")
        grouped[str(title)] = given
        for world in given:
            check_world(world)
    if not grouped or not all(grouped.values()):
        raise OptionError(f"worlds={brief(worlds)}; expected at least one world")
    return grouped

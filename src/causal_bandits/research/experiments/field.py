"""Compare every policy that applies, given what it needs, over families of worlds, in a table by tier."""

import os
import time
from collections.abc import Sequence
from functools import partial

import numpy as np

from ...core.seeds import stream
from ...errors import OptionError, listing, whole_number
from ...reporting.summaries import About
from ..simulation import entries, field, play, told
from ..simulation.delays import Delay, check_delay, delay_words
from ..simulation.one_run import World
from .base import Scale, checked_scale
from .curves import Curves
from .engines import make_engine
from .families import FAMILIES, Family
from .figure_files import Reproduced, make_files, write_report
from .methods import BOTH_REGRETS, Method, Panel, method_of
from .store import SILENT, Progress, ResultsFolder

TIMED_ROUNDS = 1000
ORACLES = ("told-means", "causal-ts-known")
"""Oracles: regret is also shown as a multiple of that of the first one that plays."""
INTRODUCTION = (
    "Every policy that applies to a family of worlds, given what it needs to know and no more. Compare within a tier: "
    "a policy that is given the graph is not a peer of one that is given nothing. Policies made to find the best arm "
    "at the end (explore, then commit) are meant for simple regret: that of the arm they finally recommend."
)


def compare_field(
    policies: Sequence[str] | None,
    worlds: Sequence[str],
    *,
    horizon: int,
    runs: int,
    seed: int = 0,
    delay: Delay | None = None,
    out: str | os.PathLike[str] = "comparison",
    jobs: int | None = None,
    engine: str = "local",
    scheduler: str | None = None,
    progress: Progress = SILENT,
) -> list[Reproduced]:
    """Compare policies by name (all that apply, if none are named) over families of worlds by name.

    Files as in `reproduce`: one folder per family, and a report over all of them. With a `delay` rewards come this many
    rounds after the mediators, for every policy.
    """
    size = checked_scale(horizon, runs, 2)
    seed = whole_number("seed", seed, 0, None)
    if delay is not None:
        check_delay(delay)
    for name in worlds:
        if name not in FAMILIES:
            raise OptionError(f"worlds {name!r} are not known; expected some of {listing(FAMILIES, 20)}")
    found = []
    with make_engine(engine, jobs=jobs, scheduler=scheduler) as workers:
        experiments = [field_experiment(name, policies, size, seed, delay) for name in worlds]
        for experiment in experiments:
            experiment.checked(size)
        root = ResultsFolder(out)
        for experiment in experiments:
            made = make_files(experiment, size, {"seed": seed, "weighted": False}, root, workers, progress)
            about: About = {**made.about, "microseconds": _microseconds(experiment, size, seed)}
            root.record(experiment.name, about)
            found.append(made._replace(about=about))
    write_report(root, worlds, progress.warn, "Causal bandits, by what they are given", INTRODUCTION)
    return found


def field_experiment(
    name: str, policies: Sequence[str] | None, size: Scale, seed: int, delay: Delay | None = None
) -> Curves:
    """The experiment of one family; policies that are named must apply to all its worlds."""
    family = FAMILIES[name]
    chosen = _applying(family, size, seed) if policies is None else _named(policies, family, size, seed)
    sample = _first(family, size, seed, 0)
    methods = [_method(policy, family, size.horizon, sample) for policy in chosen]
    oracles = () if family.misleading else ORACLES
    late = f" with rewards that come late ({delay_words(delay)})" if delay else ""
    return Curves(
        name=name,
        title=family.title,
        question=f"Who has the least regret after {size.horizon} rounds{late}, given what it knows?",
        scales={},
        methods=tuple(sorted(methods, key=lambda method: method.tier or 0)),
        panels=(Panel("", "", family.worlds, family.maker(size.horizon), delay=delay),),
        baseline=family.baseline,
        oracle=next((each for each in oracles if each in chosen), ""),
        measure=BOTH_REGRETS,
        by_tier=True,
    )


def _first(family: Family, size: Scale, seed: int, number: int) -> World:
    """The world of the first run."""
    root = stream(seed, number, 0)
    return family.maker(size.horizon)(number, root.spawn(1)[0])


def _applying(family: Family, size: Scale, seed: int) -> list[str]:
    """The policies that apply to every world of a family, in the order of the field."""
    left = [name for name in entries() if name not in family.too_slow]
    for number in range(family.worlds):
        world = _first(family, size, seed, number)
        applies, _ = field(world, horizon=size.horizon, separating=family.claimed, among=left)
        left = [name for name in left if name in applies]
    return left


def _named(policies: Sequence[str], family: Family, size: Scale, seed: int) -> list[str]:
    """The named policies and the baseline; a policy whose knowledge some world lacks is rejected."""
    chosen = list(dict.fromkeys([family.baseline, *policies]))
    for number in range(family.worlds):
        world = _first(family, size, seed, number)
        for name in chosen:
            told(name, world, horizon=size.horizon, separating=family.claimed)(world.problem, seed=0)
    return chosen


def _method(name: str, family: Family, horizon: int, world: World) -> Method:
    made = partial(told, name, horizon=horizon, separating=family.claimed)
    return method_of(name, name, made(world)(world.problem, seed=0), made)


def _microseconds(experiment: Curves, size: Scale, seed: int) -> dict[str, float]:
    """Time per round (choose, pull, learn), compiled where it is; the least of three, in the first world."""
    world = experiment.panels[0].maker(0)(0, np.random.SeedSequence(seed))
    rounds = min(size.horizon, TIMED_ROUNDS)
    times = {}
    for method in experiment.methods:
        taken = []
        for _ in range(3):
            policy = method.policy(world)(world.problem, seed=0)
            start = time.perf_counter()
            play(policy, world, rounds, np.random.default_rng(0))
            taken.append(time.perf_counter() - start)
        times[method.key] = round(1e6 * min(taken) / rounds, 2)
    return times

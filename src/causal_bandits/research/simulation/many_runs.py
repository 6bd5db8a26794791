"""Play a policy in a world many times; regret and its tails."""

from __future__ import annotations

import contextlib
import pickle
from collections.abc import Callable, Sequence
from concurrent.futures import BrokenExecutor
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...core.compiled import compiling_first
from ...core.markup import number, titled_table
from ...core.problem import Problem
from ...core.processes import MOST_JOBS, Interrupts, open_pool, stop_pool, unnoticed_by_children
from ...errors import EngineError, OptionError, brief, flag, whole_number
from ...libraries import pl
from ..worlds import ContinuousWorld, DiscreteWorld
from .delays import Delay, check_delay
from .one_run import LONG, MOST_ROUNDS, Policy, Run, World, best_means, check_world, observe, play, regret_by_segment

RUNS_OF_Q95, RUNS_OF_Q99 = 20, 100
"""With fewer runs a quantile is beyond the largest run."""


class Tails(NamedTuple):
    """The tails of regret: quantiles at the end, and how often regret is large."""

    median: float
    q95: float
    q99: float | None
    """None with fewer than 100 runs."""
    cvar95: float
    """Mean of the worst 5% of the runs."""
    over: float
    """Share of the runs with more than twice a reference, such as the median of Thompson sampling."""
    over_se: float


def tail_exponent(regret: NDArray[np.float64], share: float = 0.05) -> tuple[float, float]:
    """a in P(R > x) ~ x^-a, from the largest `share` of the runs, and its standard error (Hill 1975).

    >>> round(tail_exponent(1 / (1 - (np.arange(20_000) + 0.5) / 20_000))[0], 1)
    1.0
    """
    largest = np.sort(regret)[-max(10, round(share * len(regret))) :]
    logs = np.log(largest[1:] / largest[0])
    exponent = 1 / max(float(logs.mean()), 1e-12)
    return exponent, exponent / float(np.sqrt(len(logs)))


def tails_of(regret: NDArray[np.float64], reference: float | None = None) -> Tails:
    """Tails of the regret of runs; `reference` is the regret of which twice is large, their own median by default.

    >>> tails_of(np.arange(1.0, 101.0))._replace(over_se=0)
    Tails(median=50.5, q95=95.05, q99=99.01, cvar95=98.0, over=0.0, over_se=0)
    """
    if len(regret) < RUNS_OF_Q95:
        raise OptionError(
            f"{len(regret)} runs; a 95% quantile needs at least {RUNS_OF_Q95}, a 99% quantile {RUNS_OF_Q99}"
        )
    worst = np.sort(regret)[-max(1, round(0.05 * len(regret))) :]
    median = float(np.median(regret))
    over = float((regret > 2 * (median if reference is None else reference)).mean())
    return Tails(
        median=median,
        q95=round(float(np.quantile(regret, 0.95)), 12),
        q99=round(float(np.quantile(regret, 0.99)), 12) if len(regret) >= RUNS_OF_Q99 else None,
        cvar95=float(worst.mean()),
        over=over,
        over_se=float(np.sqrt(over * (1 - over) / len(regret))),
    )


@dataclass(frozen=True, repr=False)
class Simulation:
    """Regret of all runs at the checkpoints; arms and rewards of every round where they were kept."""

    problem: Problem
    checkpoints: NDArray[np.int64]
    regret: NDArray[np.float64]
    """(runs, checkpoints): cumulative pseudo-regret."""
    realized_regret: NDArray[np.float64]
    arms: NDArray[np.int64] | None = None
    """(runs, rounds), with `keep_arms=True`."""
    by_segment: NDArray[np.float64] | None = None
    """(segments, runs, checkpoints): the part of the regret in each segment, if the problem has segments."""

    @property
    def runs(self) -> int:
        """The number of runs."""
        return len(self.regret)

    def to_frame(self) -> pl.DataFrame:
        """One row per run and checkpoint: run, t, regret, realized_regret."""
        runs, points = self.regret.shape
        return pl.DataFrame(
            {
                "run": np.repeat(np.arange(runs), points),
                "t": np.tile(self.checkpoints, runs),
                "regret": self.regret.ravel(),
                "realized_regret": self.realized_regret.ravel(),
            }
        )

    def summary(self) -> pl.DataFrame:
        """Per checkpoint: mean regret over runs and its standard error."""
        spread = self.regret.std(axis=0, ddof=1) if self.runs > 1 else np.full(len(self.checkpoints), np.nan)
        return pl.DataFrame(
            {"t": self.checkpoints, "mean": self.regret.mean(axis=0), "se": spread / np.sqrt(self.runs)}
        )

    def tails(self, reference: float | None = None) -> Tails:
        """The tails of regret at the end: median, 95% and 99% quantile, mean of the worst 5% of runs.

        Args:
            reference: Regret above twice this counts as large, such as `tails().median` of Thompson sampling in the
                same world; the median of these runs by default.

        >>> import causal_bandits as cb
        >>> played = cb.simulate(cb.ThompsonSampling, cb.worlds.hillstrom_world(), 200, runs=40, seed=1)
        >>> played.tails().q99 is None, played.tails().q95 <= played.tails().cvar95
        (True, True)
        """
        return tails_of(self.regret[:, -1], reference)

    def segments(self) -> pl.DataFrame:
        """Per segment: its part of the regret at the end, averaged over runs, and the standard error."""
        shown = [",".join(f"{n}={level}" for n, level in each.items()) for each in self.problem.segment_settings]
        last = self.regret[None, :, -1] if self.by_segment is None else self.by_segment[:, :, -1]
        spread = last.std(axis=1, ddof=1) if self.runs > 1 else np.full(len(last), np.nan)
        return pl.DataFrame({"segment": shown, "regret": last.mean(axis=1), "se": spread / np.sqrt(self.runs)})

    def plot(self, axes: Any = None, *, name: str | None = None) -> Any:
        """Draw the mean regret on matplotlib axes, new ones by default, and return the axes; `name` is the label."""
        from ...reporting.plots import plot_simulation

        return plot_simulation(self, axes, name=name)

    def __repr__(self) -> str:
        last = self.summary().tail(1).to_dicts()
        if not last:
            return f"Simulation({self.runs} runs of 0 rounds)"
        error = f" ± {last[0]['se']:.2f}" if self.runs > 1 else ""
        return f"Simulation({self.runs} runs, regret {last[0]['mean']:.2f}{error} at t = {last[0]['t']})"

    def _repr_html_(self) -> str:
        found = self.summary().rows()
        shown = found if len(found) <= 10 else [found[round(place * (len(found) - 1) / 9)] for place in range(10)]
        rows = [(f"{t:,}", number(mean), number(None if np.isnan(se) else se)) for t, mean, se in shown]
        return titled_table(repr(self), ("t", "regret", "standard error"), rows, numeric=(0, 1, 2))


MOST_RUNS = 1_000_000
"""Runs per world; each is a row of every table that is kept."""
PolicyFactory = Callable[..., Policy]
"""Called as factory(problem, seed=seed): a policy class, or a functools.partial of one."""


def simulate(
    policy: PolicyFactory,
    world: World,
    horizon: int,
    *,
    runs: int = 1,
    seed: int = 0,
    jobs: int = 1,
    observational: int = 0,
    delay: Delay | None = None,
    whole_rows: bool = False,
    checkpoints: Sequence[int] | None = None,
    keep_arms: bool = False,
) -> Simulation:
    """Play a policy in a world several times and measure its regret.

    World and policy get separate random streams, spawned from the seed; the result does not depend on `jobs`.

    Args:
        policy: A policy class or a `functools.partial` of one.
        world: The world to play in.
        horizon: Number of rounds.
        runs: Number of independent runs.
        seed: Seed of all runs.
        jobs: Number of processes.
        observational: Rows of the control that the policy gets before it plays, without regret.
        delay: Rounds until a reward is known: a number, `Geometric(mean)` or `ByOutcome(zero, other)`; until then the
            policy has only the observed variables.
        whole_rows: With a delay, report a row only when its reward is known.
        checkpoints: Rounds at which regret is recorded; 100 even steps by default.
        keep_arms: Keep the arm of every round.

    >>> from functools import partial
    >>> import causal_bandits as cb
    >>> world = cb.worlds.example_world("S3")
    >>> told = partial(cb.CausalThompsonSampling, discovery=cb.KnownSets([["S3"]]))
    >>> cb.simulate(told, world, horizon=200, runs=3, seed=1).regret.shape
    (3, 100)
    """
    horizon = whole_number("horizon", horizon, 0, MOST_ROUNDS)
    runs = whole_number("runs", runs, 1, MOST_RUNS)
    jobs = whole_number("jobs", jobs, 1, MOST_JOBS)
    if horizon * runs > MOST_ROUNDS:
        raise OptionError(f"{runs:,} runs of {horizon:,} rounds exceed the limit of {MOST_ROUNDS:,} rounds; use fewer")
    seed = whole_number("seed", seed, 0, None)
    observational = whole_number("observational", observational, 0, MOST_ROUNDS)
    if not callable(policy):
        raise OptionError(f"policy={brief(policy)}; pass a policy class or a functools.partial of one, not an instance")
    check_world(world)
    if delay is not None:
        check_delay(delay)
    points = _checkpoints(horizon, checkpoints)
    seeds = np.random.SeedSequence(seed).spawn(runs)
    game: dict[str, Any] = {
        "observational": observational,
        "delay": delay,
        "whole_rows": flag("whole_rows", whole_rows),
    }
    if jobs > 1:
        played = _over_processes(partial(_play, policy, bare(world), horizon, **game), seeds, jobs)
    else:
        with compiling_first("the simulation") if horizon * runs >= LONG else contextlib.nullcontext():
            played = [_play(policy, world, horizon, each, **game) for each in seeds]
    return _measured(world, points, played, keep_arms=keep_arms)


def _measured(world: World, points: NDArray[np.int64], played: list[Run], *, keep_arms: bool) -> Simulation:
    at, best = points - 1, best_means(world)
    regret = np.array([run.regret(world.means, best)[at] for run in played])
    realized = np.array([run.realized_regret(world.means, best)[at] for run in played])
    arms = np.array([run.arms for run in played]) if keep_arms else None
    if not world.problem.segments:
        return Simulation(world.problem, points, regret, realized, arms)
    by_segment = np.stack([regret_by_segment(run, world)[:, at] for run in played], axis=1)
    return Simulation(world.problem, points, regret, realized, arms, by_segment)


def even_checkpoints(horizon: int) -> NDArray[np.int64]:
    """At most 100 even steps, the last at the horizon."""
    return np.linspace(0, horizon, min(horizon, 100) + 1).round().astype(np.int64)[1:]


def _checkpoints(horizon: int, given: Sequence[int] | None) -> NDArray[np.int64]:
    if given is None:
        return even_checkpoints(horizon)
    try:
        points = np.asarray(given, dtype=np.int64)
    except (ArithmeticError, MemoryError, RecursionError, TypeError, ValueError):
        raise OptionError(f"checkpoints={brief(given)}; expected increasing rounds from 1 to {horizon}") from None
    if points.ndim != 1 or np.any(points < 1) or np.any(points > horizon) or np.any(np.diff(points) <= 0):
        raise OptionError(f"checkpoints={brief(given)}; expected increasing rounds between 1 and {horizon}")
    return points


def _play(
    factory: PolicyFactory, world: World, horizon: int, seed: np.random.SeedSequence, *, observational: int, **late: Any
) -> Run:
    of_world, of_policy, of_observations = seed.spawn(3)
    policy = factory(world.problem, seed=of_policy)
    observe(policy, world, observational, np.random.default_rng(of_observations))
    return play(policy, world, horizon, np.random.default_rng(of_world), **late)


def _compiled(game: Callable[[np.random.SeedSequence], Run], seed: np.random.SeedSequence) -> Run:
    with compiling_first("the simulation"):
        return game(seed)


def bare(world: World) -> World:
    """A world without what only its maker needs: mechanisms may be lambdas, the arrays are all that is played."""
    for kind in (DiscreteWorld, ContinuousWorld):
        if isinstance(world, kind) and type(world).pull is kind.pull:
            plain = kind(world.problem, world.sampler, world.means)
            plain.segment_chances = world.segment_chances
            return plain
    return world


def check_sendable(what: str, work: object) -> None:
    """Reject work that cannot be sent to another process."""
    try:
        pickle.dumps(work)
    except (pickle.PicklingError, AttributeError, TypeError) as error:
        raise OptionError(
            f"{what} cannot be sent to another process ({error}); "
            "use functools.partial(PolicyClass, option=...) instead of a lambda, or jobs=1"
        ) from None


def _over_processes(
    game: Callable[[np.random.SeedSequence], Run], seeds: list[np.random.SeedSequence], jobs: int
) -> list[Run]:
    check_sendable("the policy or the world", game)
    with Interrupts() as interrupts:
        pool = open_pool(min(jobs, len(seeds)))
        try:
            with interrupts.held(), unnoticed_by_children():
                played = pool.map(partial(_compiled, game), seeds, chunksize=max(1, len(seeds) // (4 * jobs)))
            return list(played)
        except BrokenExecutor:
            raise EngineError("a worker process died (out of memory?); use fewer jobs") from None
        finally:
            with interrupts.held():
                stop_pool(pool)

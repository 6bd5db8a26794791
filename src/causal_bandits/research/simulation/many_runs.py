"""Many runs with independent seeds, over processes if wanted."""

import pickle
from collections.abc import Callable, Sequence
from concurrent.futures import BrokenExecutor
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...core.compiled import compiling_first
from ...core.processes import MOST_JOBS, Interrupts, open_pool, stop_pool, unnoticed_by_children
from ...errors import EngineError, OptionError, brief, flag, whole_number
from ..worlds import ContinuousWorld, DiscreteWorld
from .delays import Delay, check_delay
from .one_run import LONG, MOST_ROUNDS, Policy, Run, World, check_world, observe, play
from .results import Simulation
from .segments import best_means, regret_by_segment

MOST_RUNS = 1_000_000
"""Runs per world; each is a row of every table that is kept."""
PolicyFactory = Callable[..., Policy]
"""Called as factory(problem, seed=seed): a policy class, or a functools.partial of one."""


class _Task(NamedTuple):
    factory: PolicyFactory
    world: World
    horizon: int
    observational: int
    delay: Delay | None
    whole_rows: bool
    seed: np.random.SeedSequence


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
    """Play a policy in a world, several times, and measure regret.

    World and policy get separate random streams, spawned from the seed; the result does not depend on `jobs`.

    Args:
        policy: A policy class or a `functools.partial` of one.
        world: The world to play in.
        horizon: Number of rounds.
        runs: Number of independent runs.
        seed: Seed of all runs.
        jobs: Number of processes.
        observational: Rows of the idle arm given to the policy before it plays, without regret.
        delay: After how many more rounds a reward is known: a number, `Geometric(mean)` or `ByOutcome(zero, other)`;
            until then the policy has the observed variables alone.
        whole_rows: With a delay, tell a row only when its reward is known.
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
    tasks = [
        _Task(policy, world, horizon, observational, delay, flag("whole_rows", whole_rows), child) for child in seeds
    ]
    if jobs > 1:
        played = _over_processes(tasks, jobs)
    else:
        played = [(_play_compiled if horizon * runs >= LONG else _play)(task) for task in tasks]
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


def _play(task: _Task) -> Run:
    of_world, of_policy, of_observations = task.seed.spawn(3)
    policy = task.factory(task.world.problem, seed=of_policy)
    observe(policy, task.world, task.observational, np.random.default_rng(of_observations))
    rng = np.random.default_rng(of_world)
    return play(policy, task.world, task.horizon, rng, delay=task.delay, whole_rows=task.whole_rows)


def _play_compiled(task: _Task) -> Run:
    with compiling_first("the simulation"):
        return _play(task)


def bare(world: World) -> World:
    """A world without what only its maker needs: mechanisms may be lambdas, the arrays are all that is played."""
    for kind in (DiscreteWorld, ContinuousWorld):
        if isinstance(world, kind) and type(world).pull is kind.pull:
            plain = kind(world.problem, world.sampler, world.means)
            plain.segment_chances = world.segment_chances
            return plain
    return world


def _over_processes(tasks: list[_Task], jobs: int) -> list[Run]:
    tasks = [task._replace(world=bare(task.world)) for task in tasks]
    try:
        pickle.dumps(tasks[0])
    except (pickle.PicklingError, AttributeError, TypeError) as error:
        raise OptionError(
            f"the policy or the world cannot be sent to another process ({error}); "
            "use functools.partial(PolicyClass, option=...) instead of a lambda, or jobs=1"
        ) from None
    with Interrupts() as interrupts:
        pool = open_pool(min(jobs, len(tasks)))
        try:
            with interrupts.held(), unnoticed_by_children():
                played = pool.map(_play_compiled, tasks, chunksize=max(1, len(tasks) // (4 * jobs)))
            return list(played)
        except BrokenExecutor:
            raise EngineError("a worker process died (out of memory?); use fewer jobs") from None
        finally:
            with interrupts.held():
                stop_pool(pool)

"""Many runs with independent seeds, over processes if wanted."""

import multiprocessing
import pickle
from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..environments import ContinuousWorld, DiscreteWorld
from ..errors import OptionError, whole_number
from .results import Simulation
from .run import Policy, Run, World, observe, play

PolicyFactory = Callable[..., Policy]
"""Called as factory(problem, seed=seed): a policy class, or a functools.partial of one."""


class _Task(NamedTuple):
    factory: PolicyFactory
    world: World
    horizon: int
    observational: int
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
    checkpoints: Sequence[int] | None = None,
    keep_arms: bool = False,
) -> Simulation:
    """Play a policy in a world, several times, and measure regret.

    World and policy get random streams of their own, spawned from the seed; the answer does not depend on `jobs`.
    Checkpoints are 100 even steps unless given. `observational` rows of the idle arm are given to the policy before it
    plays, without regret.

    >>> from functools import partial
    >>> import causal_bandits as cb
    >>> world = cb.example_world("S3")
    >>> told = partial(cb.CausalThompsonSampling, discovery=cb.KnownSets([["S3"]]))
    >>> cb.simulate(told, world, horizon=200, runs=3, seed=1).regret.shape
    (3, 100)
    """
    horizon, runs, jobs = (
        whole_number(name, value, least)
        for name, value, least in (("horizon", horizon, 0), ("runs", runs, 1), ("jobs", jobs, 1))
    )
    seed, observational = whole_number("seed", seed, 0), whole_number("observational", observational, 0)
    if not callable(policy):
        raise OptionError(f"policy={policy!r}; pass a policy class or a functools.partial of one, not an instance")
    if not hasattr(world, "pull") or not hasattr(world, "means"):
        raise OptionError(f"world={world!r}; expected a world, such as paper_world(...) or LoggedWorld(...)")
    points = _checkpoints(horizon, checkpoints)
    seeds = np.random.SeedSequence(seed).spawn(runs)
    tasks = [_Task(policy, world, horizon, observational, child) for child in seeds]
    played = [_play(task) for task in tasks] if jobs == 1 else _over_processes(tasks, jobs)
    return _measured(world, points, played, keep_arms=keep_arms)


def _measured(world: World, points: NDArray[np.int64], played: list[Run], *, keep_arms: bool) -> Simulation:
    at = points - 1
    regret = np.array([run.regret(world.means)[at] for run in played])
    realised = np.array([run.realised_regret(world.means)[at] for run in played])
    arms = np.array([run.arms for run in played]) if keep_arms else None
    return Simulation(world.problem, points, regret, realised, arms)


def even_checkpoints(horizon: int) -> NDArray[np.int64]:
    """At most 100 even steps, the last at the horizon."""
    return np.linspace(0, horizon, min(horizon, 100) + 1).round().astype(np.int64)[1:]


def _checkpoints(horizon: int, given: Sequence[int] | None) -> NDArray[np.int64]:
    if given is None:
        return even_checkpoints(horizon)
    points = np.asarray(given, dtype=np.int64)
    if points.ndim != 1 or np.any(points < 1) or np.any(points > horizon) or np.any(np.diff(points) <= 0):
        raise OptionError(f"checkpoints={list(given)!r}; expected increasing rounds between 1 and {horizon}")
    return points


def _play(task: _Task) -> Run:
    of_world, of_policy, of_observations = task.seed.spawn(3)
    policy = task.factory(task.world.problem, seed=of_policy)
    observe(policy, task.world, task.observational, np.random.default_rng(of_observations))
    return play(policy, task.world, task.horizon, np.random.default_rng(of_world))


def bare(world: World) -> World:
    """A world without what only its maker needs: mechanisms may be lambdas, the arrays are all that is played."""
    for kind in (DiscreteWorld, ContinuousWorld):
        if isinstance(world, kind) and type(world).pull is kind.pull:
            return kind(world.problem, world.sampler, world.means)  # type: ignore[arg-type]
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
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(min(jobs, len(tasks)), mp_context=context) as pool:
        return list(pool.map(_play, tasks, chunksize=max(1, len(tasks) // (4 * jobs))))

"""One run: a policy plays a world for a number of rounds."""

import contextlib
from typing import Any

import numpy as np

from ...core.compiled import compiling_first
from ...core.policies import Policy as AskTell
from ...core.seeds import check_generator
from ...errors import OptionError, brief, flag, whole_number
from ..worlds import ContinuousWorld, DiscreteWorld
from .delays import Delay, check_delay
from .late_run import play_late
from .parts import parts_of
from .rollout import rollout
from .runs import Policy, Run, World
from .segments import ask_in, check_chances, play_in_segments

__all__ = ["MOST_ROUNDS", "Policy", "Run", "World", "check_world", "observe", "play"]

MOST_ROUNDS = 100_000_000
"""What is kept of this many rounds takes some gigabytes."""
LONG = 2000
"""From this many rounds on, compiling first is quicker than playing interpreted."""


def check_world(world: object) -> None:
    """Validate `world`."""
    if not all(hasattr(world, name) for name in ("problem", "pull", "means")) or isinstance(world, type):
        raise OptionError(f"world={brief(world)}; expected a world, such as paper_world(...) or LoggedWorld(...)")


def _check_policy(policy: object) -> None:
    if not all(hasattr(policy, name) for name in ("ask", "tell")) or isinstance(policy, type):
        raise OptionError(f"policy={brief(policy)}; expected a policy, such as ThompsonSampling(world.problem)")


def play(
    policy: Policy,
    world: World,
    horizon: int,
    rng: np.random.Generator,
    *,
    delay: Delay | None = None,
    whole_rows: bool = False,
    compiled: bool = True,
) -> Run:
    """Play `horizon` rounds; `rng` belongs to the world. Both ways of playing choose the same arms.

    Args:
        policy: The policy.
        world: The world, with the policy's problem.
        horizon: Number of rounds.
        rng: Generator for the world's draws.
        delay: After how many more rounds a reward is known: a number, `Geometric(mean)` or `ByOutcome(...)`.
        whole_rows: Tell a row only when its reward is known, not the mediators before.
        compiled: Play in compiled code where that is possible.

    >>> from causal_bandits import CausalThompsonSampling
    >>> from causal_bandits.research.worlds import example_world
    >>> world = example_world("S3")
    >>> run = play(CausalThompsonSampling(world.problem, seed=1), world, 500, np.random.default_rng(2))
    >>> bool(run.arms[-100:].mean() > 0.9)  # arm 1 is the better one
    True
    """
    horizon = whole_number("horizon", horizon, 0, MOST_ROUNDS)
    check_generator(rng)
    check_world(world)
    _check_policy(policy)
    if getattr(policy, "problem", world.problem) != world.problem:
        raise OptionError("policy and world have different problems; create the policy with world.problem")
    check_chances(world)
    with compiling_first("the simulation") if compiled and horizon >= LONG else contextlib.nullcontext():
        return _play(policy, world, horizon, rng, delay, whole_rows=whole_rows, compiled=compiled)


def _play(
    policy: Policy,
    world: World,
    horizon: int,
    rng: np.random.Generator,
    delay: Delay | None,
    *,
    whole_rows: bool,
    compiled: bool,
) -> Run:
    if delay is not None:
        check_delay(delay)
        quick = compiled and isinstance(policy, AskTell) and isinstance(world, DiscreteWorld)
        quick = quick and _rolls_out(policy, world) and not world.problem.segments
        return play_late(policy, world, horizon, rng, delay, whole=flag("whole_rows", whole_rows), compiled=quick)
    ours = isinstance(policy, AskTell) and isinstance(world, DiscreteWorld | ContinuousWorld)
    if compiled and ours and _rolls_out(policy, world):
        play_on = play_in_segments if world.problem.segments else _play_by_rollout
        return play_on(policy, world, horizon, rng)
    return _play_by_ask_and_tell(policy, world, horizon, rng)


def observe(policy: Policy, world: World, rows: int, rng: np.random.Generator) -> None:
    """Give a policy rows of the idle arm before it plays: observational data, without regret.

    Args:
        policy: The policy.
        world: The world that the rows come from.
        rows: Number of rows.
        rng: Generator for the world's draws.

    >>> from causal_bandits import CausalThompsonSampling
    >>> from causal_bandits.research.worlds import example_world
    >>> world = example_world("S3")
    >>> policy = CausalThompsonSampling(world.problem, seed=1)
    >>> observe(policy, world, 100, np.random.default_rng(2))
    >>> policy.rows
    100
    """
    rows = whole_number("rows", rows, 0, MOST_ROUNDS)
    check_generator(rng)
    check_world(world)
    _check_policy(policy)
    if rows == 0:
        return
    check_chances(world)
    if world.problem.segments:
        for _ in range(rows):
            arm = world.problem.arm(world.draw_segment(rng))  # type: ignore[attr-defined]
            policy.tell(arm, world.pull(arm, rng))
        return
    idle = world.problem.arm()
    if isinstance(policy, AskTell) and isinstance(world, DiscreteWorld | ContinuousWorld) and _plain(policy, world):
        policy.learn(world.sample(idle, rows, rng))
        return
    for _ in range(rows):
        policy.tell(idle, world.pull(idle, rng))


def _plain(policy: object, world: object) -> bool:
    """Whether the compiled rules apply: a subclass may override ask, tell or pull."""
    asks, tells = getattr(type(policy), "ask", None), getattr(type(policy), "tell", None)
    pulls = getattr(type(world), "pull", None)
    return (asks, tells) == (AskTell.ask, AskTell.tell) and pulls in (DiscreteWorld.pull, ContinuousWorld.pull)


def _rolls_out(policy: Any, world: Any) -> bool:
    if world.problem.segments and "allowed" not in policy.ready()._fields:
        return False
    return _plain(policy, world) and policy.numbers is world.numbers and policy.rolls_out


def _play_by_ask_and_tell(policy: Policy, world: World, horizon: int, rng: np.random.Generator) -> Run:
    arms = np.empty(horizon, dtype=np.int64)
    rewards = np.empty(horizon, dtype=np.float64 if world.problem.reward_is_real else np.int64)
    for step in range(horizon):
        arm = ask_in(policy, world, rng)
        seen = world.pull(arm, rng)
        policy.tell(arm, seen)
        arms[step] = world.problem.index(arm)
        rewards[step] = world.problem.reward.number(seen[world.problem.target])
    return Run(arms, rewards)


def _play_by_rollout(policy: Any, world: Any, horizon: int, rng: np.random.Generator) -> Run:
    arms, (seen, rewards) = np.empty(horizon, dtype=np.int64), world.room(horizon)
    for part in parts_of(policy, horizon):
        policy.reserve(part.stop - part.start)
        rollout(policy.ready(), world.sampler, policy.rng, rng, arms[part], seen[part], rewards[part])
        policy.remember(world.rows(arms[part], seen[part], rewards[part]))
    return Run(arms, rewards)

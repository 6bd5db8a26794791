"""Play a policy in a world once: at once, with late rewards or by segment, compiled if possible."""

import contextlib
import time
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from ...core.compiled import Floats, Ints, compiling_first
from ...core.policies import Policy as AskTell
from ...core.policies import Recommendation
from ...core.problem import Arm, Level, Problem
from ...core.seeds import check_generator
from ...errors import OptionError, brief, flag, whole_number
from ..worlds import DiscreteWorld
from ..worlds.world import SimulatedWorld
from .delays import Delay, Waits, check_delay, draw_waits
from .rollout import empty_queue, rollout, rollout_late, rollout_segments


class Policy(Protocol):
    """What a policy must do to be played; if it has a `problem`, that must be the world's."""

    def ask(self) -> Arm:
        """The next arm."""

    def tell(self, arm: Arm, observation: Mapping[str, Any]) -> object:
        """Report the outcome; the return value is ignored."""


class World(Protocol):
    """What a world must do to be played in."""

    problem: Problem
    means: NDArray[np.float64]

    def pull(self, arm: Arm, rng: np.random.Generator) -> dict[str, Level]:
        """Every observed variable and the reward."""


class Run(NamedTuple):
    """The arms pulled (by number) and the rewards seen."""

    arms: NDArray[np.int64]
    rewards: NDArray[Any]

    def __repr__(self) -> str:
        mean = f", mean reward {self.rewards.mean():.3g}" if len(self.rewards) else ""
        return f"Run({len(self.arms):,} rounds{mean})"

    def regret(self, means: NDArray[np.float64], best: NDArray[np.float64] | None = None) -> NDArray[np.float64]:
        """Cumulative pseudo-regret after each round: the sum of best mean - mean of the arm pulled.

        `best` has for each arm the best mean in its segment, if there are segments.
        """
        return np.cumsum((means.max() if best is None else best[self.arms]) - means[self.arms])

    def realized_regret(
        self, means: NDArray[np.float64], best: NDArray[np.float64] | None = None
    ) -> NDArray[np.float64]:
        """Cumulative best mean - reward, as the paper writes it with the sign turned."""
        return np.cumsum((means.max() if best is None else best[self.arms]) - self.rewards)


PATIENCE = 0.5
"""Seconds of compiled rounds between two looks at signals."""


def parts_of(policy: AskTell[Any], horizon: int) -> Iterator[slice]:
    """The rounds from one discovery to the next; each part is played before the next one is asked for.

    A signal (Ctrl-C) waits for the end of a part, so a part is as many rounds as take about `PATIENCE` seconds.
    """
    done, most = 0, 100
    while done < horizon:
        policy.ready()
        part = slice(done, min(horizon, done + policy.rounds_to_refresh, done + most))
        start = time.monotonic()
        yield part
        spent = max(time.monotonic() - start, 1e-9)
        most = max(1, int(min(4.0 * most, (part.stop - part.start) * PATIENCE / spent)))
        done = part.stop


# Segments in a run: they are drawn at random, arms are chosen within them, and regret is relative to their best
# arm.


def check_chances(world: Any) -> None:
    """Validate that a world has probabilities of its segments."""
    segments = len(world.problem.segment_settings)
    if world.problem.segments and len(getattr(world, "segment_chances", ())) != segments:
        raise OptionError(
            "the world does not say how probable its segments are; make it with segmented_world(...), or call "
            "world.set_segment_chances([...])"
        )


def best_means(world: World) -> Floats:
    """(arms,): the mean of the best arm in the segment of each."""
    segments = world.problem.arm_segments
    best = np.full(len(world.problem.segment_settings), -np.inf)
    np.maximum.at(best, segments, world.means)
    return best[segments]


def regret_by_segment(run: Run, world: World) -> Floats:
    """(segments, rounds): cumulative regret of the rounds in each segment."""
    lost = (best_means(world) - world.means)[run.arms]
    segments = world.problem.arm_segments[run.arms]
    return np.array([np.cumsum(lost * (segments == each)) for each in range(len(world.problem.segment_settings))])


def simple_regret(world: Any, recommended: Any) -> float:
    """What the recommended arm loses to the best; with segments, on average over them."""
    if isinstance(recommended, Recommendation):
        arm = world.problem.index(recommended.arm)
        return float(world.means.max() - world.means[arm])
    arms = [world.problem.index(each.arm) for each in recommended]
    return float(world.segment_chances @ (best_means(world) - world.means)[arms])


# One run in which rewards come late


def _by_ask_and_tell(policy: Any, world: Any, waits: Waits, rng: np.random.Generator, *, whole: bool) -> Run:
    horizon, target = len(waits.zero), world.problem.target
    arms = np.empty(horizon, dtype=np.int64)
    rewards = np.empty(horizon, dtype=np.float64 if world.problem.reward_is_real else np.int64)
    coming: dict[int, list[Any]] = {}
    for step in range(horizon):
        arm = policy.ask(segment=world.draw_segment(rng)) if world.problem.segments else policy.ask()
        seen = world.pull(arm, rng)
        arms[step], reward = world.problem.index(arm), seen[target]
        rewards[step] = world.problem.reward.number(reward)
        wait = int(waits.zero[step] if rewards[step] == 0 else waits.other[step])
        if wait == 0:
            policy.tell(arm, seen)
        elif whole:
            coming.setdefault(step + wait, []).append((arm, seen))
        else:
            early = {name: value for name, value in seen.items() if name != target}
            coming.setdefault(step + wait, []).append((policy.tell(arm, early), reward))
        for row, said in coming.pop(step, ()):
            if whole:
                policy.tell(row, said)
            else:
                policy.tell(row, reward=said)
    return Run(arms, rewards)


def _late_by_rollout(policy: Any, world: Any, waits: Waits, rng: np.random.Generator, *, whole: bool) -> Run:
    horizon = len(waits.zero)
    arms, (seen, rewards) = np.empty(horizon, dtype=np.int64), world.room(horizon)
    queue, numbers = empty_queue(horizon), np.full(horizon, -1, dtype=np.int64)
    weight = int(policy.uses_pending and not whole)
    if not whole:
        policy.make_room()
    step, come, most, before_it = 0, 0, 100, policy.rows + len(policy.history.pending)
    while step < horizon:
        state = policy.ready()
        start, end, before = time.monotonic(), min(horizon, step + most), come
        limits = np.array([step, end, come, policy.rounds_to_refresh, weight, whole], dtype=np.int64)
        part = slice(step, 0)
        step, come = rollout_late(state, world.sampler, limits, policy.rng, rng, arms, seen, rewards, waits, queue)
        part = slice(part.start, step)
        if not whole:
            _wait(policy, world, part, arms, seen, rewards, waits, numbers)
            late = queue.done[before:come][numbers[queue.done[before:come]] >= 0]
            policy.history.pending.take(numbers[late])
            if hasattr(policy, "note_times"):
                told = np.flatnonzero(numbers[part] >= 0) + part.start
                due = late + np.where(rewards[late] == 0, waits.zero[late], waits.other[late])
                policy.note_times(numbers[told], before_it + told + 1)
                policy.note_times(numbers[late], None, before_it + due + 1, rewards[late])
        done = queue.done[before:come]
        policy.remember(world.rows(arms[done], seen[done], rewards[done]))
        spent = max(time.monotonic() - start, 1e-9)
        most = max(1, int(min(4.0 * most, (part.stop - part.start) * PATIENCE / spent)))
    return Run(arms, rewards)


def _wait(
    policy: Any, world: Any, part: slice, arms: Ints, seen: Any, rewards: Any, waits: Waits, numbers: Ints
) -> None:
    """Keep the rows of a part that were told without their reward, and note their numbers."""
    waited = np.where(rewards[part] == 0, waits.zero[part], waits.other[part]) > 0
    told = np.flatnonzero(waited) + part.start
    numbers[told] = policy.history.pending.add(world.rows(arms[told], seen[told], rewards[told]))


# One run: a policy plays a world for a number of rounds


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
    """Play a policy in a world for `horizon` rounds; compiled and interpreted play choose the same arms.

    Args:
        policy: The policy.
        world: The world, with the policy's problem.
        horizon: Number of rounds.
        rng: Generator for the world's draws.
        delay: Rounds until a reward is known: a number, `Geometric(mean)` or `ByOutcome(...)`.
        whole_rows: Report a row only when its reward is known.
        compiled: Play in compiled code if possible.

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
        whole, waits = flag("whole_rows", whole_rows), draw_waits(delay, horizon, rng)
        quick = compiled and isinstance(world, DiscreteWorld) and not world.problem.segments
        if quick and _rolls_out(policy, world) and getattr(policy, "rolls_out_late", False):
            return _late_by_rollout(policy, world, waits, rng, whole=whole)
        knows = isinstance(policy, AskTell) and type(policy).tell is AskTell.tell  # one's own class may want whole rows
        return _by_ask_and_tell(policy, world, waits, rng, whole=whole or not knows)
    if compiled and _rolls_out(policy, world):
        return _by_rollout(policy, world, horizon, rng)
    return _by_ask_and_tell(policy, world, draw_waits(0, horizon, rng), rng, whole=True)


def observe(policy: Policy, world: World, rows: int, rng: np.random.Generator) -> None:
    """Give a policy rows of the control before it plays: observational data, without regret.

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
    if isinstance(policy, AskTell) and isinstance(world, SimulatedWorld) and _plain(policy, world):
        policy.learn(world.sample(idle, rows, rng))
        return
    for _ in range(rows):
        policy.tell(idle, world.pull(idle, rng))


def _plain(policy: Any, world: Any) -> bool:
    """Whether the compiled rules apply: to our policies and worlds, unless a subclass overrides ask, tell or pull."""
    found = (getattr(type(of), name, None) for of, name in ((policy, "ask"), (policy, "tell"), (world, "pull")))
    return tuple(found) == (AskTell.ask, AskTell.tell, SimulatedWorld.pull)


def _rolls_out(policy: Any, world: Any) -> bool:
    if not _plain(policy, world) or policy.numbers is not world.numbers or not policy.rolls_out:
        return False
    return not world.problem.segments or "allowed" in policy.ready()._fields


def _by_rollout(policy: Any, world: Any, horizon: int, rng: np.random.Generator) -> Run:
    arms, (seen, rewards) = np.empty(horizon, dtype=np.int64), world.room(horizon)
    allowed = policy.allowed.copy()  # a rollout with segments writes into it
    masks = np.array([allowed & world.problem.arms_in(each) for each in world.problem.segment_settings if each])
    for part in parts_of(policy, horizon):
        policy.reserve(part.stop - part.start)
        made = arms[part], seen[part], rewards[part]
        if len(masks):
            state, chances = policy.ready(allowed), world.cumulative_chances
            rollout_segments(state, world.sampler, policy.rng, rng, chances, masks, *made)
        else:
            rollout(policy.ready(), world.sampler, policy.rng, rng, *made)
        policy.remember(world.rows(*made))
    return Run(arms, rewards)

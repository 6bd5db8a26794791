"""One run in which rewards come late."""

import time
from typing import Any

import numpy as np

from ...core.compiled import Ints
from ...core.policies import Policy as AskTell
from .delays import Delay, Waits, draw_waits
from .late_rollout import empty_queue, rollout_late
from .parts import PATIENCE
from .runs import Policy, Run, World
from .segments import ask_in


def play_late(
    policy: Policy, world: World, horizon: int, rng: np.random.Generator, delay: Delay, *, whole: bool, compiled: bool
) -> Run:
    """Play with late rewards; rows are given at once without their reward, or with `whole` when it has come."""
    waits = draw_waits(delay, horizon, rng)
    if compiled and getattr(policy, "rolls_out_late", False):
        return _by_rollout(policy, world, waits, rng, whole=whole)
    knows = isinstance(policy, AskTell) and type(policy).tell is AskTell.tell  # one's own class may want whole rows
    return _by_ask_and_tell(policy, world, waits, rng, whole=whole or not knows)


def _by_ask_and_tell(policy: Any, world: World, waits: Waits, rng: np.random.Generator, *, whole: bool) -> Run:
    horizon, target = len(waits.zero), world.problem.target
    arms = np.empty(horizon, dtype=np.int64)
    rewards = np.empty(horizon, dtype=np.float64 if world.problem.reward_is_real else np.int64)
    coming: dict[int, list[Any]] = {}
    for step in range(horizon):
        arm = ask_in(policy, world, rng)
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


def _by_rollout(policy: Any, world: Any, waits: Waits, rng: np.random.Generator, *, whole: bool) -> Run:
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

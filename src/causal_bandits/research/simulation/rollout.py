"""Compiled rollouts: the policy's functions and the world's sampler in one loop, at once, late, or by segment."""

from typing import Any, NamedTuple

import numpy as np

from ...core.compiled import Floats, Ints, by_reference, compiled
from ...core.policies import choose, expect, learn, record_reward
from ..worlds.sampler import draw, scratch
from ..worlds.world import draw_segment_number


@compiled
def rollout(
    state: Any,
    sampler: Any,
    policy_rng: np.random.Generator,
    world_rng: np.random.Generator,
    arms: Ints,
    seen: Any,
    rewards: Any,
) -> None:
    """Choose, pull, learn, as often as `arms` is long; the three arrays receive what happened."""
    room = scratch(sampler)
    for step in range(len(arms)):
        arm = choose(state, policy_rng)
        reward = draw(sampler, arm, world_rng, room, seen[step])
        learn(state, arm, seen[step], reward)
        arms[step] = arm
        rewards[step] = reward


@by_reference
class Queue(NamedTuple):
    """Rewards on their way: of the rounds whose rewards come after round t, the first, the last, and the next of each.

    -1 is none; what comes after the last round is in no list.
    """

    first: Ints
    last: Ints
    after: Ints
    done: Ints
    """The rounds whose rewards came, in that order."""


def empty_queue(horizon: int) -> Queue:
    """Nothing on its way."""
    none = np.full(horizon, -1, dtype=np.int64)
    return Queue(none, none.copy(), none.copy(), np.empty(horizon, dtype=np.int64))


@compiled
def send(queue: Queue, step: int, due: int) -> None:
    """The reward of a round is on its way; it comes after round `due`, if that is played."""
    if due < len(queue.first):
        if queue.first[due] < 0:
            queue.first[due] = step
        else:
            queue.after[queue.last[due]] = step
        queue.last[due] = step


@compiled
def deliver(state: Any, step: int, come: int, whole: int, arms: Ints, seen: Any, rewards: Any, queue: Any) -> int:
    """Learn the rewards that come after a round; gives how many have come in all."""
    late = queue.first[step]
    while late >= 0:
        if whole == 0:
            record_reward(state, arms[late], seen[late], rewards[late])
        else:
            learn(state, arms[late], seen[late], rewards[late])
        queue.done[come] = late
        come += 1
        late = queue.after[late]
    return come


@compiled
def rollout_late(
    state: Any,
    sampler: Any,
    limits: Ints,
    policy_rng: np.random.Generator,
    world_rng: np.random.Generator,
    arms: Ints,
    seen: Any,
    rewards: Any,
    waits: Any,
    queue: Any,
) -> tuple[int, int]:
    """Choose, pull, and learn what has come; gives the rounds played and the rewards that have come, both in all.

    `limits`: the round to start with and the one before which to end, rewards that came before, rows that may be
    learned (it ends after the round that reaches them), what a pending row counts for there, and whether rows are told
    whole only (1).
    """
    step, end, come, left, weight, whole = limits
    room = scratch(sampler)
    while step < end and left > 0:
        before = come
        arm = choose(state, policy_rng)
        reward = draw(sampler, arm, world_rng, room, seen[step])
        arms[step], rewards[step] = arm, reward
        wait = waits.zero[step] if reward == 0 else waits.other[step]
        if wait == 0:
            learn(state, arm, seen[step], reward)
            queue.done[come] = step
            come += 1
        else:
            if whole == 0:
                expect(state, arm, seen[step])
                left -= weight
            send(queue, step, step + wait)
        come = deliver(state, step, come, whole, arms, seen, rewards, queue)
        left -= come - before
        step += 1
    return step, come


@compiled
def rollout_segments(
    state: Any,
    sampler: Any,
    policy_rng: np.random.Generator,
    world_rng: np.random.Generator,
    cumulative: Floats,
    masks: Any,
    arms: Ints,
    seen: Any,
    rewards: Any,
) -> None:
    """Draw a segment, choose among its arms, pull, learn, as often as `arms` is long.

    `masks` (segments, arms) has the arms that may be chosen in each; the state's own `allowed` is overwritten.
    """
    room = scratch(sampler)
    for step in range(len(arms)):
        segment = draw_segment_number(cumulative, world_rng)
        for arm in range(masks.shape[1]):
            state.allowed[arm] = masks[segment, arm]
        chosen = choose(state, policy_rng)
        reward = draw(sampler, chosen, world_rng, room, seen[step])
        learn(state, chosen, seen[step], reward)
        arms[step] = chosen
        rewards[step] = reward

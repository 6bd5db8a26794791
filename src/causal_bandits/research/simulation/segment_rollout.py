"""Many rounds with segments in one compiled call, made of the same rules that ask and tell use."""

from typing import Any

import numpy as np

from ...core.compiled import Floats, Ints, compiled
from ...core.policies import choose, learn
from ..worlds.drawing import draw, scratch
from ..worlds.segment_draws import draw_segment_number


@compiled
def rollout_segments(
    state: Any,
    sampler: Any,
    policy_rng: np.random.Generator,
    world_rng: np.random.Generator,
    cumulative: Floats,
    masks: Any,
    seen: Any,
    rewards: Any,
    arms: Ints,
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

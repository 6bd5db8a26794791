"""Many rounds in one compiled call, made of the same rules that ask and tell use."""

from typing import Any

import numpy as np

from ...core.compiled import Ints, compiled
from ...core.policies import choose, learn
from ..worlds.drawing import draw, scratch


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

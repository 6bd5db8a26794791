"""Many rounds in one compiled call, made of the same rules that ask and tell use."""

import numpy as np
from numpy.typing import NDArray

from ..compiled import compiled
from ..environments import Sampler, draw
from ..estimators import learn
from ..policies import ThompsonState, choose

Ints = NDArray[np.int64]


@compiled
def rollout(
    state: ThompsonState,
    sampler: Sampler,
    policy_rng: np.random.Generator,
    world_rng: np.random.Generator,
    arms: Ints,
    codes: NDArray[np.int64],
    rewards: Ints,
) -> None:
    """Choose, pull, learn, as often as `arms` is long; the three arrays receive what happened."""
    values = np.empty(sampler.order.shape[1], dtype=np.int64)
    for step in range(len(arms)):
        arm = choose(state, policy_rng)
        reward = draw(sampler, arm, world_rng, values, codes[step])
        learn(state.tables, state.pools, arm, codes[step], reward)
        arms[step] = arm
        rewards[step] = reward

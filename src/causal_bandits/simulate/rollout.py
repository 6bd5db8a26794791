"""Many rounds in one compiled call, made of the same rules that ask and tell use."""

import numpy as np

from ..compiled import Floats, Ints, compiled
from ..data import design_row
from ..environments import RealSampler, Sampler, draw, draw_real
from ..estimators import learn
from ..policies import (
    GraphState,
    RealState,
    Tally,
    ThompsonState,
    choose,
    choose_by_graph,
    choose_real,
    choose_tally,
    learn_graph_row,
    learn_real_row,
    learn_tally,
)


@compiled
def rollout(
    state: ThompsonState,
    sampler: Sampler,
    policy_rng: np.random.Generator,
    world_rng: np.random.Generator,
    arms: Ints,
    codes: Ints,
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


@compiled
def tally_rollout(
    tally: Tally,
    sampler: Sampler,
    policy_rng: np.random.Generator,
    world_rng: np.random.Generator,
    arms: Ints,
    codes: Ints,
    rewards: Ints,
) -> None:
    """The same for the comparators, whose rules read a tally."""
    values = np.empty(sampler.order.shape[1], dtype=np.int64)
    for step in range(len(arms)):
        arm = choose_tally(tally, policy_rng)
        reward = draw(sampler, arm, world_rng, values, codes[step])
        learn_tally(tally, arm, codes[step], reward)
        arms[step] = arm
        rewards[step] = reward


@compiled
def graph_rollout(
    state: GraphState,
    sampler: Sampler,
    policy_rng: np.random.Generator,
    world_rng: np.random.Generator,
    arms: Ints,
    codes: Ints,
    rewards: Ints,
) -> None:
    """The same for the policy that draws causal graphs."""
    values = np.empty(sampler.order.shape[1], dtype=np.int64)
    for step in range(len(arms)):
        arm = choose_by_graph(state, policy_rng)
        reward = draw(sampler, arm, world_rng, values, codes[step])
        learn_graph_row(state, arm, codes[step], reward)
        arms[step] = arm
        rewards[step] = reward


@compiled
def real_rollout(
    state: RealState,
    spans: Ints,
    sampler: RealSampler,
    policy_rng: np.random.Generator,
    world_rng: np.random.Generator,
    arms: Ints,
    values: Floats,
) -> None:
    """The same for real-valued problems; `values` receives observed variables and reward."""
    design = np.empty(state.moments.means.shape[1])
    for step in range(len(arms)):
        arm = choose_real(state, policy_rng)
        draw_real(sampler, arm, world_rng, values[step])
        design_row(spans, values[step], design)
        learn_real_row(state, arm, design)
        arms[step] = arm

"""Segments in a run: they are drawn at random, arms are chosen within them, and regret is relative to their best
arm."""

from typing import Any

import numpy as np

from ...core.compiled import Floats
from ...core.policies import Recommendation
from ...errors import OptionError
from .parts import parts_of
from .runs import Run, World
from .segment_rollout import rollout_segments


def check_chances(world: Any) -> None:
    """Validate that a world has probabilities of its segments."""
    segments = len(world.problem.segment_settings)
    if world.problem.segments and len(getattr(world, "segment_chances", ())) != segments:
        raise OptionError(
            "the world does not say how probable its segments are; make it with segmented_world(...), or call "
            "world.set_segment_chances([...])"
        )


def ask_in(policy: Any, world: Any, rng: np.random.Generator) -> Any:
    """The next arm, after the segment is drawn if there are segments."""
    return policy.ask(segment=world.draw_segment(rng)) if world.problem.segments else policy.ask()


def play_in_segments(policy: Any, world: Any, horizon: int, rng: np.random.Generator) -> Run:
    """Play in compiled code; the policy must be one of those whose state says which arms are allowed."""
    arms, (seen, rewards) = np.empty(horizon, dtype=np.int64), world.room(horizon)
    problem = world.problem
    masks = np.array([policy.allowed & problem.arms_in(each) for each in problem.segment_settings])
    allowed = policy.allowed.copy()  # the rollout writes into it
    for part in parts_of(policy, horizon):
        policy.reserve(part.stop - part.start)
        rollout_segments(
            *(policy.ready(allowed), world.sampler, policy.rng, rng, world.cumulative_chances, masks),
            *(seen[part], rewards[part], arms[part]),
        )
        policy.remember(world.rows(arms[part], seen[part], rewards[part]))
    return Run(arms, rewards)


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

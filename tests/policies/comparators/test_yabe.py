"""Yabe et al. 2018: conditionals and means against worlds, from many rows and from exact counts."""

import numpy as np

from causal_bandits import MixedGraph
from causal_bandits.research.comparators import YabePropagating
from causal_bandits.research.worlds import paper_world
from tests.contracts.kinds import SINGLES
from tests.policies.comparators.plans import rounds


def test_yabe_learns_the_distributions() -> None:
    """With many rows the propagated joint distributions and means are the world's: within 6 standard errors of
    sqrt(1/4 / 4000) = .008 per conditional, that is .05. Seed 1.
    """
    world = paper_world(MixedGraph(["A", "B", "C", "Y"], [("A", "B"), ("B", "Y"), ("C", "Y"), ("C", "B")]), seed=3)
    policy = YabePropagating(world.problem, graph=world.graph, horizon=200_000, budget=60_000, seed=0)
    rounds(policy, world, 60_000)
    joints = policy._joints(policy._state.counts)
    for number, arm in enumerate(world.problem.arms):
        np.testing.assert_allclose(joints[number], world.distribution(arm, "ABC"), atol=0.05)
    np.testing.assert_allclose(policy.scores(), world.means, atol=0.05)
    assert world.means[rounds(policy, world, 1)[0]] >= world.means.max() - 0.02


def test_yabe_with_infinite_rows_is_exact() -> None:
    """Counts in exact proportion to the world's probabilities (times 10^9) give the world's numbers to 1e-6."""
    world = SINGLES
    policy = YabePropagating(world.problem, graph=world.graph, horizon=300, seed=0)
    for number, arm in enumerate(world.problem.arms):
        counts = world.distribution(arm, ["A", "B", "C", "Y"]).reshape(8, 2)
        policy._state.counts.seen[number] = np.round(counts * 10**9)
    np.testing.assert_allclose(policy.scores(), world.means, atol=1e-6)
    chances = policy._parent_chances(policy._joints(policy._state.counts))
    np.testing.assert_allclose(chances[:, :2], np.array([[1, 1], [0, 1], [0, 1], [1, 0], [1, 0]]))  # C is no ancestor
    expected = [world.distribution(arm, ["A", "B"]).ravel() for arm in world.problem.arms]
    np.testing.assert_allclose(chances[:, 2:], expected, atol=1e-6)


def test_yabe_leaves_out_what_the_reward_causes() -> None:
    """As above on a graph in which Y has a child with a lever of its own."""
    world = paper_world(MixedGraph(["A", "B", "C", "Y"], [("A", "B"), ("B", "Y"), ("Y", "C"), ("A", "C")]), seed=3)
    policy = YabePropagating(world.problem, graph=world.graph, horizon=300, seed=0)
    for number, arm in enumerate(world.problem.arms):
        counts = world.distribution(arm, ["A", "B", "C", "Y"]).reshape(8, 2)
        policy._state.counts.seen[number] = np.round(counts * 10**9)
    np.testing.assert_allclose(policy.scores(), world.means, atol=1e-6)

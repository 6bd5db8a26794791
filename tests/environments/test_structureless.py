from typing import Any

import numpy as np
import pytest
from scipy import stats

from causal_bandits import MixedGraph, StructurelessWorld
from causal_bandits.errors import WorldError
from causal_bandits.research.worlds import paper_world

BASE = paper_world(MixedGraph(["A", "B", "Y"], [("A", "Y"), ("Y", "B")]), seed=2)


def test_variables_as_in_the_base_and_a_reward_that_ignores_them() -> None:
    """Null: (A, B) follows the base's P(A, B | arm), also where the old reward caused B, and Y is Bernoulli(mean of
    the arm) independent of (A, B).

    One Pearson test per arm on 5000 rows and up to 8 cells, standard error of a frequency at most 0.0071. Nine arms
    at level 1e-5: false-alarm rate 9e-5. Seed 6.
    """
    means = np.linspace(0.1, 0.9, 9)
    world = StructurelessWorld(BASE, means)
    rng = np.random.default_rng(6)
    for arm, mean in zip(world.problem.arms, means, strict=True):
        rows = world.sample(arm, 5000, rng)
        counts = np.zeros((4, 2), dtype=np.int64)
        np.add.at(counts, (2 * rows.codes[:, 0] + rows.codes[:, 1], rows.rewards), 1)
        chances = np.outer(BASE.distribution(arm, ["A", "B"]).ravel(), [1 - mean, mean])
        possible = chances > 0
        assert not counts[~possible].any()
        assert stats.chisquare(counts[possible], 5000 * chances[possible]).pvalue > 1e-5


def test_means_from_a_seed() -> None:
    one, same, other = (StructurelessWorld(BASE, seed=seed).means for seed in (1, 1, 2))
    np.testing.assert_array_equal(one, same)
    assert not np.array_equal(one, other)
    assert np.all((one > 0) & (one < 1))
    assert one.shape == (9,)


def test_certain_rewards() -> None:
    world = StructurelessWorld(BASE, np.arange(9) % 2)
    rng = np.random.default_rng(0)
    for arm in world.problem.arms:
        assert set(world.sample(arm, 50, rng).rewards) == {world.problem.index(arm) % 2}


def test_the_base_is_left_as_it_was() -> None:
    before = BASE.sample({}, 20, np.random.default_rng(0))
    StructurelessWorld(BASE, seed=0)
    np.testing.assert_array_equal(BASE.sample({}, 20, np.random.default_rng(0)).rewards, before.rewards)


@pytest.mark.parametrize("means", [[0.5], [0.5] * 10, [2.0] * 9, [-0.1] * 9, [np.nan] * 9])
def test_bad_means(means: Any) -> None:
    with pytest.raises(WorldError, match="expected 9 numbers between 0 and 1, one per arm"):
        StructurelessWorld(BASE, means)

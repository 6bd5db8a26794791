"""The best allocation of pulls: closed forms, brute force, and what the papers say of the parallel bandit."""

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from causal_bandits import MixedGraph
from causal_bandits.research.comparators.allocation import allocation_value, best_allocation
from causal_bandits.research.comparators.lattimore import rare_arms
from causal_bandits.research.worlds import paper_world, parallel_world


def test_closed_forms() -> None:
    """Arms that share nothing: even, K. Arms that are all the same: 1. Two of the same count as one."""
    eta, value = best_allocation(np.eye(5))
    assert value == pytest.approx(5, rel=1e-4)
    np.testing.assert_allclose(eta, 0.2, atol=1e-3)
    assert best_allocation(np.full((4, 3), 1 / 3))[1] == pytest.approx(1)
    eta, value = best_allocation(np.array([[1.0, 0], [0, 1.0], [0, 1.0]]))
    np.testing.assert_allclose(eta, [0.5, 0.25, 0.25], atol=1e-3)
    assert value == pytest.approx(2, rel=1e-4)


@given(st.integers(0, 2**32 - 1), st.integers(2, 3), st.integers(2, 4))
@settings(max_examples=30)
def test_nothing_on_a_grid_is_better(seed: int, arms: int, cells: int) -> None:
    """Every allocation in steps of 1/40 has at least the value found, which is that of the allocation found."""
    p = np.random.default_rng(seed).dirichlet([0.7] * cells, size=arms)
    eta, value = best_allocation(p)
    assert eta.sum() == pytest.approx(1)
    assert eta.min() >= 0
    assert allocation_value(p, eta) == pytest.approx(value, rel=1e-9)
    grid = [np.array(each) / 40 for each in itertools.product(range(41), repeat=arms) if sum(each) == 40]
    assert value <= min(allocation_value(p, each) for each in grid) * (1 + 1e-5)


@pytest.mark.parametrize("rare", [0, 1, 3, 5])
def test_the_parallel_bandit(rare: int) -> None:
    """Lattimore et al. 2016, sec. 4: half do(), half over the arms with P(X_i = x) <= 1 / m, has a value of at most
    2 m(q); the best allocation is at least as good, and the arms are those with a rare value.
    """
    world = parallel_world(6, rare=rare, chance=0.04)
    names = world.problem.observed_names
    p = np.array([world.distribution(arm, names).ravel() for arm in world.problem.arms])
    ones = [0.04 if place < rare else 0.5 for place in range(6)]
    chances = np.array([1.0, *(value for one in ones for value in (1 - one, one))])
    settings_ = np.full((13, 6), -1)
    for place in range(6):
        settings_[1 + 2 * place, place], settings_[2 + 2 * place, place] = 0, 1
    few = rare_arms(chances, settings_)
    m = max(2, rare) if rare else 2  # #{i: q_i < 1 / tau} is `rare` for tau < 25
    assert few.tolist() == (chances <= 1 / m).tolist()
    paper = np.where(few, 0.5 / few.sum(), 0.0) if few.any() else np.zeros(13)
    paper[0] = 0.5 if few.any() else 1.0
    least = max(2, rare) if rare > 2 else few.sum() or 2
    assert best_allocation(p)[1] <= allocation_value(p, paper) * (1 + 1e-5)
    assert allocation_value(p, paper) <= 2 * max(least, m) * (1 + 1e-9)


def test_all_arms_of_a_world_with_parents() -> None:
    """Perfect interventions on all parents: their joint values are the cells, so 4 are enough."""
    world = paper_world(MixedGraph(["A", "B", "C", "Y"], [("A", "Y"), ("B", "Y"), ("C", "A")]), seed=4)
    p = np.array([world.distribution(arm, ["A", "B"]).ravel() for arm in world.problem.arms])
    assert best_allocation(p)[1] == pytest.approx(4, rel=1e-4)

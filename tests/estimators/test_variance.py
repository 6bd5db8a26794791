"""Theorem 3.1 and appendix A without chance: every possible data set is walked through."""

import numpy as np
import pytest
from hypothesis import assume, example, given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose

from causal_bandits.core.estimators import (
    VarianceDecomposition,
    alpha_star_of_counts,
    borrowed_share,
    sharing_estimate,
    sharing_variance,
)
from causal_bandits.errors import OptionError
from tests.estimators.strategies import Counts, Floats, count_tables, rewards, shares
from tests.reference.sharing import data_sets

World = tuple[Floats, Floats, list[int]]
"""P(S | arm), E[Y | S], rows of each arm."""


@st.composite
def worlds(draw: st.DrawFn, *, arms: int = 3, cells: int = 3, most_rows: int = 30) -> World:
    rows = draw(st.lists(st.integers(1, most_rows), min_size=arms, max_size=arms))
    return draw(shares(arms, cells)), draw(rewards(cells)), rows


def joint_of(share: Floats, reward: Floats) -> Floats:
    """P(S, Y | arm): (arms, cells, 2)."""
    return share[:, :, None] * np.stack([1 - reward, reward], axis=-1)


def exact_moments(joint: Floats, rows: list[int], groups: Counts) -> tuple[Floats, Floats]:
    """Mean and variance of eq. 2 / eq. 6 for each arm, over all data sets."""
    drawn = [(chance, sharing_estimate(table, groups)) for chance, table in data_sets(joint, rows)]
    chances, estimates = np.array([chance for chance, _ in drawn]), np.array([estimate for _, estimate in drawn])
    mean: Floats = chances @ estimates
    variance: Floats = chances @ (estimates - mean) ** 2
    return mean, variance


def assert_theorem(share: Floats, reward: Floats, rows: list[int], mean: Floats, variance: Floats) -> None:
    assert_allclose(mean, share @ reward, rtol=0, atol=1e-12)
    shared = [sharing_variance(share, reward, rows, arm).shared for arm in range(len(rows))]
    assert_allclose(variance, shared, rtol=0, atol=1e-12)


@given(worlds(arms=2, cells=2, most_rows=3))
@settings(max_examples=25)
def test_theorem_over_all_data_sets_of_two_arms(world: World) -> None:
    share, reward, rows = world
    moments = exact_moments(joint_of(share, reward), rows, np.zeros(2, dtype=np.int64))
    assert_theorem(share, reward, rows, *moments)


@given(worlds(arms=3, cells=2, most_rows=2), rewards(2))
@settings(max_examples=10)
def test_theorem_over_all_data_sets_of_a_partial_set(world: World, other_reward: Floats) -> None:
    """Eq. 6: the first and last arm share, the one between has rewards of its own. The same holds within the group."""
    share, reward, rows = world
    joint = joint_of(share, reward)
    joint[1] = joint_of(share, other_reward)[1]
    mean, variance = exact_moments(joint, rows, np.array([0, 1, 0]))
    assert_theorem(share[::2], reward, rows[::2], mean[::2], variance[::2])
    assert_theorem(share[1:2], other_reward, rows[1:2], mean[1:2], variance[1:2])


@given(worlds())
def test_own_variance_is_that_of_the_sample_mean(world: World) -> None:
    share, reward, rows = world
    for arm, mean in enumerate(share @ reward):
        assert sharing_variance(share, reward, rows, arm).own == pytest.approx(mean * (1 - mean) / rows[arm], abs=1e-15)


@given(worlds())
def test_alpha_star_is_a_share(world: World) -> None:
    for arm in range(3):
        found = sharing_variance(*world, arm)
        assert 0 <= found.alpha_star < 1
        assert 0 <= found.base <= found.shared <= found.own


@given(worlds(), st.integers(1, 2), st.integers(1, 20))
def test_more_rows_of_another_arm_never_hurt(world: World, other: int, more: int) -> None:
    share, reward, rows = world
    richer = [count + more * (arm == other) for arm, count in enumerate(rows)]
    poor, rich = (sharing_variance(share, reward, n, 0).alpha_star for n in (rows, richer))
    assert rich >= poor - 1e-12
    # and they help exactly where the two arms meet in an s that leaves something to learn
    if np.any(share[0] * share[other] * reward * (1 - reward) > 0):
        assert rich > poor


def no_gain(found: VarianceDecomposition) -> bool:
    return found.alpha_star == 0 and found.shared == found.own


@given(worlds(), st.data())
def test_no_gain_when_the_reward_is_a_function_of_s(world: World, data: st.DataObject) -> None:
    """alpha* is 0/0 and counts as 0 (paper-notes 2.14)."""
    share, _, rows = world
    reward = np.array([data.draw(st.integers(0, 1)) for _ in range(3)])
    assert no_gain(sharing_variance(share, reward, rows, arm=0))


@given(worlds(cells=4))
def test_no_gain_when_supports_are_disjoint(world: World) -> None:
    share, reward, rows = world
    apart = np.concatenate([share[:1], np.zeros((1, 4))]), np.concatenate([np.zeros((1, 4)), share[1:2]])
    disjoint = np.concatenate(apart, axis=1)
    assert no_gain(sharing_variance(disjoint, np.tile(reward, 2), rows[:2], arm=0))


@given(worlds())
def test_no_gain_when_nobody_else_has_rows(world: World) -> None:
    share, reward, rows = world
    assert no_gain(sharing_variance(share, reward, [rows[0], 0, 0], arm=0))


def test_one_value_of_s_pools_all_rows() -> None:
    """S = {}: the variance is that of the mean of all rows."""
    found = sharing_variance([[1], [1], [1]], [0.3], [2, 5, 13], arm=0)
    assert found.base == 0
    assert found.shared == pytest.approx(0.3 * 0.7 / 20, rel=1e-12)


def test_probabilities_that_round_to_more_than_one() -> None:
    """The marginals of a world may be 1 + 2e-16."""
    share = np.array([[np.nextafter(1, 2), 0], [0.5, 0.5]])
    exact = sharing_variance(share.round(9), [0.3, 0.4], [5, 5], arm=0)
    assert sharing_variance(share, [0.3, 0.4], [5, 5], arm=0).shared == pytest.approx(exact.shared, rel=1e-12)


# Given the counts


@given(count_tables(), st.data())
def test_borrowed_share_by_counting(table: Counts, data: st.DataObject) -> None:
    arm = data.draw(st.integers(0, len(table) - 1))
    others = np.delete(table, arm, axis=0).sum(axis=(0, 2))
    total = table.sum(axis=(0, 2))
    expected = [int(borrowed) / int(of) if of else 0.0 for borrowed, of in zip(others, total, strict=True)]
    assert_allclose(borrowed_share(table, arm), expected, rtol=0, atol=1e-15)


@given(count_tables(), st.data())
def test_bounds_of_alpha_star(table: Counts, data: st.DataObject) -> None:
    """Appendix A: alpha* >= min alpha(s), and alpha* >= c / (c + 1) where others have c times the own rows of every s.

    c is taken over the values of S that the arm has seen: the others do not bound it.
    """
    reward = data.draw(rewards(table.shape[1]))
    own, others = table[0].sum(axis=1), table[1:].sum(axis=(0, 2))
    assume(np.any(own * reward * (1 - reward) > 0))
    alpha_star = alpha_star_of_counts(table, 0, reward)
    assert borrowed_share(table, 0).min() - 1e-12 <= alpha_star < 1
    c = (others[own > 0] / own[own > 0]).min()
    assert alpha_star >= c / (c + 1) - 1e-12


@given(st.lists(st.integers(1, 9), min_size=2, max_size=4), st.integers(0, 5))
@example([3, 1], 2)
def test_bound_is_reached_when_others_have_the_same_multiple_of_every_s(own: list[int], c: int) -> None:
    counts = np.array([own, [c * count for count in own]])
    table = np.stack([counts, np.zeros_like(counts)], axis=-1)
    reward = np.linspace(0.1, 0.9, len(own))
    assert alpha_star_of_counts(table, 0, reward) == pytest.approx(c / (c + 1), abs=1e-12)


def test_alpha_star_of_counts_where_it_would_be_zero_over_zero() -> None:
    table = np.ones((2, 2, 2), dtype=np.int64)
    assert alpha_star_of_counts(table, 0, [0, 1]) == 0  # nothing to learn
    table[0] = 0
    assert alpha_star_of_counts(table, 0, [0.5, 0.5]) == 0  # no rows to learn for


@given(worlds(arms=2, cells=2, most_rows=3))
@settings(max_examples=15)
def test_alpha_star_averages_that_of_the_counts(world: World) -> None:
    """The numerator and denominator of alpha*, averaged over all data sets, are those of the decomposition."""
    share, reward, rows = world
    top = bottom = 0.0
    for chance, table in data_sets(joint_of(share, reward), rows):
        noise = table[0].sum(axis=1) @ (reward * (1 - reward))
        top += chance * noise * alpha_star_of_counts(table, 0, reward)
        bottom += chance * noise
    expected = top / bottom if bottom else 0.0
    assert sharing_variance(share, reward, rows, 0).alpha_star == pytest.approx(expected, abs=1e-12)


def test_an_arm_without_rows_is_refused() -> None:
    with pytest.raises(OptionError, match="arm 0 has 0 rows; the theorem needs at least one"):
        sharing_variance([[0.5, 0.5], [0.5, 0.5]], [0.2, 0.8], [0, 9], arm=0)

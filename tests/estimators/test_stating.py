"""What is stated of arms and sets by degrees: errors that arms share, and odds that were measured."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from causal_bandits.environments import hillstrom_world
from causal_bandits.estimators.averaging import set_weights
from causal_bandits.estimators.cell_draws import disagreement
from causal_bandits.estimators.degrees import SHARED, Graded
from causal_bandits.estimators.graded import refresh, with_room
from causal_bandits.estimators.graded_draws import index_errors, stated_chances
from causal_bandits.estimators.graded_rows import expect_graded, learn_graded
from causal_bandits.estimators.stating import nearly_separates, stated

from .test_graded import empty_state, rows_of


@given(st.lists(st.floats(0, 1), min_size=2, max_size=5, unique=True), st.integers(1, 6))
def test_what_is_stated_of_sets_keeps_their_order(chances: list[float], size: int) -> None:
    """Among sets of one size; of two that are as probable the larger is stated to be at least as probable."""
    sizes = np.full(len(chances), size)
    found = nearly_separates(np.array(sorted(chances)), sizes)
    assert np.all(np.diff(found) >= 0)
    assert np.all((found >= 0) & (found <= 1))
    assert np.all(nearly_separates(np.array(sorted(chances)), sizes + 1) >= found)


def test_what_is_stated_of_sets_is_odds_to_a_power() -> None:
    """Odds of 1, then of 1/9; a set of two variables has 2 ** 1.9 times the odds; {} counts as one; 0.93 at most."""
    found = nearly_separates(np.array([0.5, 0.1, 0.1, 0.1, 1.0]), np.array([1, 1, 2, 0, 3]))
    alone, two = (1 / 9) ** 0.85, (1 / 9) ** 0.85 * 2**1.9
    expected = [0.5, alone / (1 + alone), two / (1 + two), alone / (1 + alone), 1]
    np.testing.assert_allclose(found, 0.93 * np.array(expected), rtol=1e-9)


def _through_sets(pending: bool) -> Graded:
    """E-mails by degrees, every arm through {visit}; some rows are pending."""
    world = hillstrom_world()
    state = with_room(empty_state(world.problem)) if pending else empty_state(world.problem)
    for row in rows_of(world, 2000, 4):
        learn_graded(state, *row)
    if pending:
        for arm, codes, _ in rows_of(world, 300, 5):
            expect_graded(state, arm, codes)
    refresh(state)
    assert state.chosen.all()
    return state


def test_a_disagreement_counts_beyond_chance() -> None:
    """By hand: variance 4 of own rows and 1 through the set, squared distance 9: 3 is chance, half of 6 counts."""
    state = _through_sets(pending=False)
    place = state.chosen[1]
    state.moments[place, 1] = 10.0, 1.0
    for own, added in ((13.0, 3.0), (7.0, 3.0), (11.7, 0.0), (10.0, 0.0)):
        state.moments[0, 1] = own, 4.0
        assert disagreement(state, 1) == pytest.approx(added, abs=1e-12)
    state.chosen[1] = 0
    assert disagreement(state, 1) == 0.0


@pytest.mark.parametrize("pending", [False, True])
def test_errors_of_the_index_add_up_to_their_part_of_the_variance(pending: bool) -> None:
    """Cell by cell: an arm's error is the mean over its rows of the cells' errors, so its variance is POOLED."""
    state = _through_sets(pending)
    errors = index_errors(state)
    for arm, place in enumerate(state.chosen):
        rows = state.tables.table(int(place))[arm].sum(axis=1).astype(float)
        if pending:
            first = state.tables.starts[place] // 2 + arm * len(rows)
            rows += state.tables.pending[first : first + len(rows)]
        start = state.starts[place]
        variance = ((rows / rows.sum()) ** 2 * errors[start : start + len(rows)] ** 2).sum()
        assert variance == pytest.approx(state.parts[arm, SHARED], rel=1e-12)
    assert not errors[: state.starts[1]].any()


def test_what_the_index_is_wrong_by_is_no_difference_between_arms() -> None:
    """Cells drawn a hundred times as wide as they are: arms move up and down together, their differences hardly.

    Visits differ between e-mails by a few percent of rows, so arms' errors agree but for a fifth. 2000 draws, seed 6;
    drawn apart, the ratio of the two standard deviations would be the square root of 2, with standard error 0.03.
    """
    state = _through_sets(pending=False)
    everything, moments = np.ones(3, dtype=np.bool_), stated(state, 1.0)
    rng = np.random.default_rng(6)
    state.own.own[:] = 0  # no own rows: nothing keeps draws inside their bounds
    wide, weights = 100 * index_errors(state), set_weights(state)
    draws = np.array([stated_chances(state, everything, moments, wide, weights, rng) for _ in range(2000)])
    level, apart = draws.std(axis=0), (draws[:, 1] - draws[:, 2]).std()
    assert apart < 0.3 * level.max()

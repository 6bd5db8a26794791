"""What all sets together say of an arm, beside the same average in numpy."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from causal_bandits.environments import practice_world
from causal_bandits.estimators.averaging import average_over_sets, draw_set, said_of_arm, set_weights
from causal_bandits.estimators.degrees import SEPARATES, Graded, own_bounds
from causal_bandits.estimators.graded import refresh
from causal_bandits.estimators.graded_draws import stated_chances
from causal_bandits.estimators.graded_rows import learn_graded
from causal_bandits.estimators.stating import FEW, THROUGH, UNEVEN, stated, unevenness

from .test_graded import empty_state, rows_of


def _by_sets(seed: int = 1, per_arm: int = 400) -> Graded:
    """A funnel by degrees."""
    world = practice_world("mediated", rate=0.3, arms=6, seed=seed)
    state = empty_state(world.problem)
    for row in rows_of(world, per_arm, seed):
        learn_graded(state, *row)
    refresh(state)
    assert state.chosen.any()
    return state


def _average(state: Graded, arm: int) -> tuple[float, float]:
    """The twin: numpy's weighted average and variance of what the sets say that own rows do not contradict."""
    if state.chosen[arm] == 0:
        return state.moments[0, arm, 0], 0.0
    means, probable = state.moments[:, arm, 0], state.separates.copy()
    probable[0] = 0
    low, high = own_bounds(*state.own.own[arm])
    said = (probable >= SEPARATES) & (means >= low) & (means <= high)
    weights = probable[said] / state.moments[said, :, 1].mean(axis=1)
    mean = np.average(means[said], weights=weights)
    return mean, np.average((means[said] - mean) ** 2, weights=weights)


@given(st.integers(0, 20), st.floats(0, 1))
def test_the_average_is_that_of_numpy(seed: int, far: float) -> None:
    """In funnels of all kinds, and where means are moved so that own rows contradict some."""
    state = _by_sets(seed % 3, 60)
    rng = np.random.default_rng(seed)
    state.moments[1:, :, 0] += far * rng.normal(size=state.moments[1:, :, 0].shape)
    weights = set_weights(state)
    for arm in range(len(state.chosen)):
        found = said_of_arm(state, arm, weights)
        place = state.chosen[arm]
        low, high = own_bounds(*state.own.own[arm])
        if place == 0 or np.any((weights > 0) & (state.moments[:, arm, 0] >= low) & (state.moments[:, arm, 0] <= high)):
            np.testing.assert_allclose(found, _average(state, arm), rtol=1e-9, atol=1e-12)
        else:
            assert found == (state.moments[place, arm, 0], 0.0)


def test_sets_that_are_improbable_have_no_say() -> None:
    """Nor has the empty set; without any other the chosen one alone counts."""
    state = _by_sets()
    arm = int(np.flatnonzero(state.chosen)[0])
    state.separates[:] = 0.09
    assert not set_weights(state).any()
    assert said_of_arm(state, arm, set_weights(state)) == (state.moments[state.chosen[arm], arm, 0], 0.0)
    state.separates[0] = 1.0
    assert not set_weights(state).any()


def test_shifts_lead_to_the_average() -> None:
    """They are there after a refresh; without room for them nothing is averaged."""
    state = _by_sets()
    for arm, place in enumerate(state.chosen):
        assert state.moments[place, arm, 0] + state.shifts[arm] == pytest.approx(_average(state, arm)[0], rel=1e-12)
    assert np.abs(state.shifts).max() > 1e-4
    without = state._replace(shifts=np.zeros(0))
    average_over_sets(without)
    assert not len(without.shifts)


def test_what_is_stated_is_the_average_and_how_far_sets_are_apart() -> None:
    """By hand: a factor of the variance through the set, and the variance between sets."""
    state = _by_sets()
    found, uneven = stated(state, 1.0), UNEVEN * unevenness(state.own.own[:, 0])
    fewer = 1 + FEW / len(state.chosen)
    for arm in np.flatnonzero(state.chosen):
        mean, apart = _average(state, int(arm))
        variance = fewer * (THROUGH + uneven) * state.moments[state.chosen[arm], arm, 1] + apart
        np.testing.assert_allclose(found[arm], [mean, variance], rtol=1e-9)


def test_sets_are_drawn_by_weight() -> None:
    """20,000 draws, seed 3: each share within four standard errors (false alarms: 3 in 10,000); 0 without weights."""
    weights, rng = np.array([0.0, 3.0, 0.0, 1.0, 4.0]), np.random.default_rng(3)
    shares = np.bincount([draw_set(weights, rng) for _ in range(20_000)], minlength=5) / 20_000
    expected = weights / weights.sum()
    assert np.all(np.abs(shares - expected) <= 4 * np.sqrt(expected * (1 - expected) / 20_000))
    assert draw_set(np.zeros(3), rng) == 0


def test_a_draw_takes_the_word_of_one_set_for_all_arms() -> None:
    """Two sets that are far apart, in opposite directions in two arms: draws of these arms go apart together.

    Correlation over 2000 draws, seed 4; it would be positive, as errors are common, if sets did not count.
    """
    state = _by_sets()
    first, second = (int(arm) for arm in np.flatnonzero(state.chosen)[:2])
    state.own.own[:] = 0  # no own rows: nothing keeps draws inside their bounds
    for place in np.flatnonzero(state.separates >= SEPARATES):
        if place:
            state.moments[place, first, 0] += 0.2 if place % 2 else -0.2
            state.moments[place, second, 0] -= 0.2 if place % 2 else -0.2
    average_over_sets(state)
    everything, rng = np.ones(len(state.chosen), dtype=np.bool_), np.random.default_rng(4)
    weights, moments = set_weights(state), stated(state, 1.0)
    nothing = np.zeros(len(state.indices))
    draws = np.array([stated_chances(state, everything, moments, nothing, weights, rng) for _ in range(2000)])
    assert np.corrcoef(draws[:, first], draws[:, second])[0, 1] < -0.5

"""Best-arm identification with post-action context: the stopping rule, what is tracked, and what is promised."""

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from causal_bandits import Problem
from causal_bandits.errors import OptionError
from causal_bandits.research.comparators import PostActionNonSeparator, PostActionSeparator
from causal_bandits.research.comparators.tracking import (
    VARIANCE,
    best_shares,
    enough_evidence,
    evidence_cost,
    evidence_of_gap,
    hardest_gap,
    pulls_towards,
)
from causal_bandits.research.simulation import play
from causal_bandits.research.worlds import bilodeau_world
from tests.contracts.kinds import PARENTS, WORLD
from tests.reference import newer_comparators as slow

TWO = Problem("Y", {"A": 2}, {"I": ["none", "on"]})
TOLD: dict[str, Any] = {"separating": ["A"], "chances": [[0.9, 0.1], [0.2, 0.8]]}


def test_the_statistic_by_hand() -> None:
    """m = (.2, .7), N = (50, 10): means .25 and .6, p - p' = (.7, -.7): .35^2 / (2 v .49 (1/50 + 1/10)) = 4.1667."""
    policy = PostActionSeparator(TWO, **TOLD, delta=0.1, seed=0)
    rows = {"A": [0] * 50 + [1] * 10, "Y": [1] * 10 + [0] * 40 + [1] * 7 + [0] * 3}
    policy.tell_many({"I": ["none"] * 60, **rows})
    standing = policy.standing()
    assert standing.best == 1
    assert standing.evidence.tolist() == pytest.approx([0.35**2 / (2 * 0.25 * 0.49 * 0.12)])
    cells = 2 * (math.log(4 + math.log(50)) + math.log(4 + math.log(10)))
    assert standing.enough.tolist() == pytest.approx([cells + 2 * evidence_cost(math.log(10) / 2)])
    assert not standing.is_proven


def test_the_statistic_of_own_rows_by_hand() -> None:
    """One arm's cells are not the other's: (.9 * .2 + .1 * .5) = .23 and (.2 * 0 + .8 * .5) = .4."""
    policy = PostActionNonSeparator(TWO, **TOLD, delta=0.1, seed=0)
    policy.tell_many({"I": ["none"] * 14, "A": [0] * 10 + [1] * 4, "Y": [1] * 2 + [0] * 8 + [1, 1, 0, 0]})
    policy.tell_many({"I": ["on"] * 12, "A": [0] * 4 + [1] * 8, "Y": [0] * 4 + [1] * 4 + [0] * 4})
    spread = 0.9**2 / 10 + 0.1**2 / 4 + 0.2**2 / 4 + 0.8**2 / 8
    assert policy.standing().evidence.tolist() == pytest.approx([0.17**2 / (2 * 0.25 * spread)])
    enough = 2 * sum(math.log(4 + math.log(n)) for n in (10, 4, 4, 8)) + 4 * evidence_cost(math.log(10) / 4)
    assert policy.standing().enough.tolist() == pytest.approx([enough])


@given(st.integers(2, 5), st.integers(0, 10**6))
@settings(max_examples=15, deadline=None)
def test_evidence_is_the_distance_to_the_nearest_world_without_a_gap(cells: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    weights, means = rng.normal(size=cells), rng.random(cells)
    rows = rng.integers(1, 50, size=cells)
    gap = float(weights @ means)
    weights = weights * (1 if gap > 0 else -1)
    slowly = slow.evidence(weights.tolist(), means.tolist(), rows.tolist(), VARIANCE)
    assert evidence_of_gap(gap, weights, rows) == pytest.approx(slowly, rel=1e-3, abs=1e-6)


@pytest.mark.parametrize("x", [0.05, 0.4, 3.0, 30.0])
def test_the_cost_of_evidence(x: float) -> None:
    assert evidence_cost(x) == pytest.approx(slow.evidence_cost(x), rel=1e-4)
    if x > 2:
        assert evidence_cost(x) == pytest.approx(x + math.log(x), rel=0.25)


@given(st.integers(2, 9), st.integers(2, 6), st.integers(0, 10**6))
@settings(max_examples=15, deadline=None)
def test_shares_are_nearly_the_best(arms: int, cells: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    p, means = rng.dirichlet(np.full(cells, 0.5), size=arms).clip(1e-4), rng.random(cells)
    p /= p.sum(axis=1, keepdims=True)
    best = int((p @ means).argmax())
    gaps = np.maximum((p @ means)[best] - p @ means, 1e-3)
    weights = np.delete((p - p[best]) / gaps[:, None], best, axis=0)
    found = best_shares(weights, p)
    assert found.sum() == pytest.approx(1)
    assert hardest_gap(weights, found @ p) <= 1.1 * slow.least_hardest_gap(weights, p, found)


def test_shares_by_hand() -> None:
    """Two arms: sum_z d_z^2 / w_z is least for w_z proportional to |d_z|, if a mixture reaches it."""
    assert best_shares(np.array([[1.0, 3.0]]), np.eye(2)) == pytest.approx([0.25, 0.75], abs=0.01)


def test_pulls_go_where_the_contexts_are_missing() -> None:
    p = np.array([[0.9, 0.1], [0.2, 0.8]])
    assert pulls_towards(np.array([0.5, 0.5]), np.array([20, 0]), p, 5).tolist() == [0, 5]
    pulls = pulls_towards(np.array([0.55, 0.45]), np.zeros(2), p, 1000)
    assert pulls @ p / 1000 == pytest.approx([0.55, 0.45], abs=0.01)


def test_cells_without_rows_prove_nothing() -> None:
    assert evidence_of_gap(0.5, np.array([0.5, -0.5]), np.array([100, 0])) == 0
    assert PostActionSeparator(TWO, **TOLD, seed=0).standing().evidence.tolist() == [0]


def test_the_context_helps_to_stop_and_arms_alike_are_one() -> None:
    """With the context told it stops in a world of 20 arms, 19 of them alike, where own rows have not yet."""
    world = bilodeau_world("benign", horizon=2000)
    told: dict[str, Any] = {"separating": ["Z"], "chances": [world.distribution(a, ["Z"]) for a in world.problem.arms]}
    through = PostActionSeparator(world.problem, **told, seed=0)
    play(through, world, 1500, np.random.default_rng(0))
    assert through.standing().is_proven
    assert through.ask() == world.problem.arms[int(world.means.argmax())]
    assert through.recommend().arm == world.problem.arms[int(world.means.argmax())]
    own = PostActionNonSeparator(world.problem, **told, seed=0)
    play(own, world, 1500, np.random.default_rng(0))
    assert not own.standing().is_proven


@pytest.mark.statistical
def test_a_wrong_arm_is_proven_no_more_often_than_delta() -> None:
    """Null: with four contexts and arms 0.05 apart, a wrong arm is ever proven in more than delta = 20% of runs.

    600 runs of 400 rounds with a context at random, looked at every 20 rounds; the standard error of a share of .2 is
    .016, and the test passes below .12, so a false pass is rarer than 1e-6. Measured: none at all, so the bound is far
    on the safe side; a false alarm is rarer than 1e-6. Seed 5.
    """
    rng = np.random.default_rng(5)
    means, p = np.array([0.3, 0.5, 0.4, 0.6]), np.array([[0.4, 0.1, 0.3, 0.2], [0.25, 0.25, 0.25, 0.25]])
    assert (p @ means)[1] - (p @ means)[0] == pytest.approx(0.04)
    wrong = 0
    for _ in range(600):
        contexts = rng.integers(4, size=400)
        rewards = rng.random(400) < means[contexts]
        for rows in range(20, 401, 20):
            seen = np.bincount(contexts[:rows], minlength=4)
            found = np.bincount(contexts[:rows], rewards[:rows], minlength=4) / np.maximum(seen, 1)
            gap = float((p[0] - p[1]) @ found)
            if gap > 0 and evidence_of_gap(gap, p[0] - p[1], seen) > enough_evidence(seen, 0.2):
                wrong += 1
                break
    assert wrong / 600 < 0.12


def test_bad_options() -> None:
    wrong: list[Any] = [0, 1, "small", None]
    for delta in wrong:
        with pytest.raises(OptionError, match="delta="):
            PostActionSeparator(WORLD.problem, **PARENTS, delta=delta)

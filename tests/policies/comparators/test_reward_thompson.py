"""Thompson Sampling from own rows: its fit against dense formulas, neglected arms, saving, and odd rewards."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.stats import multivariate_normal

from causal_bandits import Problem, load_policy
from causal_bandits.core.policies import RewardThompson
from causal_bandits.core.policies.reward_thompson import intercept_given
from causal_bandits.errors import ProblemError
from tests.policies.cases import full_state
from tests.policies.test_safe_rewards import REWARDS, VALUES, problem_of, table_of


def test_the_intercept_is_that_of_the_normal_model() -> None:
    rng = np.random.default_rng(0)
    values, precision = rng.normal(0, 0.3, 5), rng.uniform(5, 50, 5)
    mean, variance, evidence = intercept_given(values, precision, 2.0, 0.1)
    noise = np.diag(1 / precision + 0.1)
    covariance = 2.0 + noise
    assert mean == pytest.approx(2.0 * np.ones(5) @ np.linalg.solve(covariance, values))
    assert variance == pytest.approx(2.0 - 4.0 * np.linalg.inv(covariance).sum())
    density = multivariate_normal.logpdf(values, np.zeros(5), covariance)
    assert evidence - 2.5 * np.log(2 * np.pi) == pytest.approx(density)
    without = intercept_given(np.append(values, 9.0), np.append(precision, 0.0), 2.0, 0.1)
    assert without == (mean, variance, evidence)  # an arm without rows


def neglecting() -> RewardThompson:
    """Two rows of the first arm, 150 of every other."""
    policy = RewardThompson(problem_of("count"), seed=0)
    for number, arm in enumerate(policy.problem.arms):
        policy.tell_many([{"A": 1, "B": "low", "Y": 5 * (number > 0)}] * (2 if number == 0 else 150), arm=arm)
    return policy


def test_a_neglected_arm_comes_next() -> None:
    """After 100 rows per arm an arm with fewer than 5 rows is played, and nothing is compared."""
    policy = neglecting()
    first = policy.problem.arms[0]
    compared = policy.indices(np.random.default_rng(0))
    assert compared is not None
    assert np.isnan(compared).all()
    for _ in range(3):
        assert policy.ask() == first
        policy.tell(first, {"A": 1, "B": "low", "Y": 0})
    assert first not in policy.ask(20)


def test_only_allowed_arms_are_neglected_and_pending_rows_do_not_count() -> None:
    policy = neglecting()
    for _ in range(3):
        policy.tell({}, {"A": 1, "B": "low"})
    assert set(policy.ask(20)) == {policy.problem.arms[0]}
    policy.restrict(policy.problem.arms[1:])
    assert policy.problem.arms[0] not in policy.ask(20)


@pytest.mark.parametrize("kind", REWARDS)
def test_save_and_load_go_on_with_the_same_arms(kind: str, tmp_path: Path) -> None:
    policy = RewardThompson(problem_of(kind), seed=1)
    policy.tell_many(table_of(kind, 90))
    policy.ask(3)
    policy.tell({"I": 1}, {"A": 1, "Y": VALUES[kind][-1]}, missing=True)
    policy.save(tmp_path / "policy")
    loaded = load_policy(tmp_path / "policy")
    assert full_state(loaded) == full_state(policy)
    for each in (policy, loaded):
        each.tell_many(table_of(kind, 60, seed=1))
    assert loaded.ask(40) == policy.ask(40)
    assert list(loaded.estimates()) == list(policy.estimates())


@pytest.mark.parametrize("kind", REWARDS)
def test_estimates_lie_where_rewards_can(kind: str) -> None:
    """Without rows, with one row per arm at most, and with all rewards equal."""
    lowest = VALUES[kind][0]
    tables: list[dict[str, list[Any]]] = [
        table_of(kind, 0),
        table_of(kind, 3),
        {**table_of(kind, 60), "Y": [lowest] * 60},
    ]
    for table in tables:
        policy = RewardThompson(problem_of(kind), seed=1)
        policy.tell_many(table)
        for row in policy.estimates():
            assert -np.inf < row.low < row.mean < row.high < np.inf
            assert kind == "real" or row.low >= 0
            assert kind != "levels" or row.high <= 5
        compared = policy.indices(np.random.default_rng(0))
        assert compared is not None
        assert np.isfinite(compared).all()


def test_rewards_of_0_and_1_are_refused() -> None:
    with pytest.raises(ProblemError, match="the reward 'Y' is 0 or 1; use ThompsonSampling"):
        RewardThompson(Problem("Y", {"A": 2}, {"I": 2}))

"""One posterior for everything that is said: fitted once, it does not change, and a quantity has one value."""

import copy
import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import causal_bandits as cb
from causal_bandits.core.policies import Policy
from causal_bandits.reporting.courses import chances_over_time
from tests.contracts.kinds import fresh, kind_of, policies

NAMES = ("ts", "causal-ts", "safe", "main-effects-ts", "gaussian-ts", "ucb1")


def told(name: str) -> Policy[Any]:
    policy = fresh(name)
    policy.tell_many(kind_of(name).table(90, 3))
    return policy


@pytest.mark.parametrize("name", NAMES)
def test_the_same_quantity_is_the_same_number(name: str) -> None:
    policy = told(name)
    posterior, level = policy.posterior(), 0.9
    low, high = posterior.interval(level)
    rows = policy.estimates(level=level, control=policy.problem.arms[0])
    np.testing.assert_array_equal([row.mean for row in rows], posterior.means)
    np.testing.assert_array_equal([[row.low, row.high] for row in rows], np.stack([low, high], axis=1))
    draws = posterior.draws
    best = policy.ranking()[0]
    arm = policy.problem.index(best.best.arm)
    assert arm == int(np.argmax(posterior.means)) == policy.highest_mean()
    first = draws >= draws.max(axis=1, keepdims=True) * (1 - 1e-12)
    assert best.best.probability_best == pytest.approx(np.mean(first[:, arm] / first.sum(axis=1)))
    behind = draws.max(axis=1) - draws[:, arm]
    assert best.best.expected_loss == pytest.approx(behind.mean())
    assert best.best.probability_close == pytest.approx(np.mean(behind <= best.best.margin))
    course = chances_over_time(policy, range(len(policy.problem.arms)))
    np.testing.assert_array_equal(course["chances"][-1], best.probability_best)
    for number, row in enumerate(rows[1:], 1):
        assert row.lift is not None
        apart = draws[:, number] - draws[:, 0]
        assert row.lift.probability_better == pytest.approx(np.mean(apart > 0) + np.mean(apart == 0) / 2)
        assert row.lift.absolute == pytest.approx(posterior.means[number] - posterior.means[0])
        np.testing.assert_allclose([row.lift.low, row.lift.high], np.quantile(apart, [0.05, 0.95]))


@pytest.mark.parametrize("name", NAMES)
def test_it_is_fitted_once_for_the_rows(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    policy, fits = told(name), list[int]()
    fit = policy._fit

    def counted(*, pending: bool) -> Any:
        fits.append(policy.rows)
        return fit(pending=pending)

    monkeypatch.setattr(policy, "_fit", counted)
    for _ in range(2):
        policy.posterior()
        policy.estimates(control=policy.problem.arms[0])
        policy.effects()
        policy.recommend()
        policy.advice()
    assert fits == [90]
    policy.tell_many(kind_of(name).table(30, 4))
    policy.recommend()
    assert fits == [90, 120]


@policies()
def test_rows_that_come_later_do_not_change_it(name: str) -> None:
    """Nor does looking at it change the arms that come next."""
    policy, other = told(name), told(name)
    before, expected = policy.posterior(), other.posterior()
    for each in (policy, other):
        each.tell_many(kind_of(name).table(40, 5))
    np.testing.assert_array_equal(before.sample_means(1, 50), expected.sample_means(1, 50))
    np.testing.assert_array_equal(before.draws, told(name).posterior().draws)
    assert before.draws.shape == (4000, len(policy.problem.arms))
    unread = told(name)
    unread.tell_many(kind_of(name).table(40, 5))
    assert policy.ask(20) == unread.ask(20)


def test_a_study_has_the_posterior_of_its_policy(tmp_path: Path) -> None:
    problem = cb.Problem("buys", {"clicked": 2}, {"banner": ["none", "red"]})
    study = cb.Study.create("shop", problem, storage=f"sqlite:///{tmp_path}/shop.db", seed=1)
    for _ in range(20):
        study.tell(study.ask(), {"clicked": 1}, reward=1)
    posterior = study.posterior()
    assert posterior.rows == 20
    assert posterior.sample_means(0, 7).shape == (7, 2)
    assert [row.mean for row in study.estimates()] == posterior.means.tolist()


@pytest.mark.parametrize("name", NAMES)
def test_a_copy_has_its_own(name: str) -> None:
    """After as many rows as the other, but other ones."""
    policy = told(name)
    policy.posterior()
    for other in (copy.deepcopy(policy), pickle.loads(pickle.dumps(policy))):
        np.testing.assert_array_equal(other.posterior().draws, policy.posterior().draws)
        other.tell_many(kind_of(name).table(40, 6))
    policy.tell_many(kind_of(name).table(40, 7))
    assert not np.array_equal(other.posterior().means, policy.posterior().means)


def test_values_that_come_late_are_fitted_again() -> None:
    """The number of rows is the same, and the posterior is not."""
    problem = cb.Problem("buys", {"clicked": 2}, {"banner": ["none", "red"]})
    policy = cb.CausalThompsonSampling(problem, discovery=cb.KnownSets([["clicked"]]), seed=0)
    policy.tell_many([{"banner": "none", "clicked": 1, "buys": 1}, {"banner": "red", "clicked": 0, "buys": 0}] * 10)
    policy.tell({"banner": "red"}, {"buys": 1}, missing=True)
    before = policy.posterior()
    policy.fill(20, policy.history.encode({"banner": "red"}, {"clicked": 1, "buys": 1}))
    assert policy.posterior() is not before
    late = policy.posterior()
    row = policy.tell({"banner": "red"}, {"clicked": 1})
    waiting = policy.posterior()
    assert waiting is not late
    assert row is not None
    policy.drop(row)
    assert policy.posterior() is not waiting
    np.testing.assert_allclose(policy.posterior().means, late.means)

from random import Random
from typing import NamedTuple

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

from causal_bandits.core.data import History
from causal_bandits.core.estimators import information_sharing, pool, sample_mean, sharing_estimate
from causal_bandits.core.problem import Problem
from causal_bandits.errors import UnknownVariableError
from tests.estimators.strategies import Counts, count_tables, groups_of
from tests.reference.sharing import Row, sharing

PROBLEM = Problem("Y", observed={"A": 2, "B": 3, "C": ["low", "high"]}, interventions={"I_A": 3, "J": ["off", "on"]})
LEVELS = {variable.name: variable.levels for variable in (*PROBLEM.interventions, *PROBLEM.observed)}
ROWS = st.lists(
    st.fixed_dictionaries(
        {**{name: st.sampled_from(levels) for name, levels in LEVELS.items()}, "Y": st.integers(0, 1)}
    ),
    max_size=40,
)


class Case(NamedTuple):
    rows: list[Row]
    S: tuple[str, ...]
    separated: tuple[str, ...]


CASES = st.builds(
    Case,
    ROWS,
    st.sets(st.sampled_from(PROBLEM.observed_names)).map(tuple),
    st.sets(st.sampled_from(PROBLEM.intervention_names)).map(tuple),
)


def history_of(rows: list[Row]) -> History:
    history = History(PROBLEM)
    if rows:
        history.extend(history.encode_many(rows))
    return history


def mean_reward(rows: list[Row]) -> float:
    return sum(row["Y"] == 1 for row in rows) / len(rows)


@given(CASES)
def test_agrees_with_recounting_the_rows(case: Case) -> None:
    """Eq. 6 for any I', eq. 2 where nothing is said of I'; NaN for an arm without rows."""
    history = history_of(case.rows)
    partial = [sharing(case.rows, arm, case.S, case.separated) for arm in PROBLEM.arms]
    assert_allclose(information_sharing(history, case.S, case.separated), partial, rtol=1e-12)
    full = [sharing(case.rows, arm, case.S, PROBLEM.intervention_names) for arm in PROBLEM.arms]
    assert_allclose(information_sharing(history, case.S), full, rtol=1e-12)


@given(CASES, st.randoms(use_true_random=False))
def test_order_of_rows_and_names_does_not_matter(case: Case, random: Random) -> None:
    expected = information_sharing(history_of(case.rows), case.S, case.separated)
    rows = random.sample(case.rows, len(case.rows))
    assert_array_equal(information_sharing(history_of(rows), case.S[::-1], case.separated[::-1]), expected)


@given(ROWS.filter(len))
def test_empty_set_pools_everything(rows: list[Row]) -> None:
    history = history_of(rows)
    played = [any(dict(arm).items() <= row.items() for row in rows) for arm in PROBLEM.arms]
    expected = np.where(played, mean_reward(rows), np.nan)
    assert_allclose(information_sharing(history, []), expected, rtol=1e-12)


def test_short_names_of_intervention_variables() -> None:
    history = history_of([{"I_A": i, "J": "off", "A": 0, "B": 0, "C": "low", "Y": int(i > 0)} for i in range(3)])
    assert_array_equal(information_sharing(history, ["A"], ["A"]), information_sharing(history, ["A"], ["I_A"]))


@pytest.mark.parametrize(("S", "separated"), [(["Y"], None), (["A", "Q"], None), (["A"], ["Q"]), (["J"], None)])
def test_sets_that_cannot_be(S: list[str], separated: list[str] | None) -> None:
    with pytest.raises(UnknownVariableError):
        information_sharing(History(PROBLEM), S, separated)


@given(count_tables().flatmap(lambda table: st.tuples(st.just(table), groups_of(len(table)), st.integers(0, 10**6))))
def test_numbering_does_not_matter(case: tuple[Counts, Counts, int]) -> None:
    """Renumber arms, values of S and groups: the estimates move with their arms and do not change."""
    table, groups, seed = case
    rng = np.random.default_rng(seed)
    arms, cells, names = (rng.permutation(n) for n in (table.shape[0], table.shape[1], int(groups.max()) + 1))
    moved = sharing_estimate(table[arms][:, cells], names[groups][arms])
    assert_allclose(moved, sharing_estimate(table, groups)[arms], rtol=1e-12)


@given(count_tables())
def test_sample_mean_when_every_arm_is_its_own_group(table: Counts) -> None:
    assert_allclose(sharing_estimate(table, np.arange(len(table))), sample_mean(table), rtol=1e-14)


@given(count_tables(), st.data())
def test_sample_mean_when_only_one_arm_has_rows(table: Counts, data: st.DataObject) -> None:
    arm = data.draw(st.integers(0, len(table) - 1))
    alone = np.zeros_like(table)
    alone[arm] = table[arm]
    estimate = sharing_estimate(alone, np.zeros(len(table), dtype=np.int64))
    assert_allclose(estimate, sample_mean(alone), rtol=1e-14)
    assert np.isnan(np.delete(estimate, arm)).all()


@given(count_tables(), st.data())
def test_sample_mean_when_supports_are_disjoint(table: Counts, data: st.DataObject) -> None:
    owner = np.array([data.draw(st.integers(0, len(table) - 1)) for _ in range(table.shape[1])])
    disjoint = np.where(owner[None, :, None] == np.arange(len(table))[:, None, None], table, 0)
    assert_allclose(sharing_estimate(disjoint, np.zeros(len(table), dtype=np.int64)), sample_mean(disjoint), rtol=1e-14)


def test_sharing_changes_the_estimate() -> None:
    """The tests above would pass for an estimator that never pools; by hand, mu = (1/4, 2/4)."""
    table = np.array([[[1, 0], [0, 1]], [[2, 1], [2, 1]]])
    assert_allclose(sharing_estimate(table, np.zeros(2, dtype=np.int64)), [3 / 8, 3 / 8])
    assert_allclose(sample_mean(table), [1 / 2, 1 / 3])


@given(count_tables().flatmap(lambda table: st.tuples(st.just(table), groups_of(len(table)))))
def test_pool_sums_the_arms_of_each_group(case: tuple[Counts, Counts]) -> None:
    table, groups = case
    expected = [table[groups == group].sum(axis=0) for group in range(int(groups.max()) + 1)]
    assert_array_equal(pool(table, groups), expected)

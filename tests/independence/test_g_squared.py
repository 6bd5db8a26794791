import itertools
import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import array_shapes, arrays
from numpy.typing import NDArray
from scipy import stats

from causal_bandits import History, Problem
from causal_bandits.core.compiled import interpreted
from causal_bandits.core.independence import ArmTests, IndependenceResult, g_squared, g_squared_of_arms, p_values
from causal_bandits.core.independence.g_squared import g_squared_statistic
from causal_bandits.errors import ObservationError
from tests.problem.strategies import logs
from tests.reference import independence as reference

SPARSE = st.integers(0, 300) | st.just(0) | st.integers(0, 2)
TABLES = arrays(np.int64, array_shapes(min_dims=3, max_dims=3, min_side=1, max_side=4), elements=SPARSE)


def agree(ours: IndependenceResult, theirs: IndependenceResult) -> None:
    assert ours.dof == theirs.dof
    assert ours.statistic == pytest.approx(theirs.statistic, rel=1e-9, abs=1e-9)
    # Near G2 = 0 a p-value moves like its square root, so the tail is taken at our own statistic.
    assert ours.p_value == pytest.approx(stats.chi2.sf(ours.statistic, ours.dof) if ours.dof else 1.0, rel=1e-9)


@given(TABLES)
def test_agrees_with_scipy(table: NDArray[np.int64]) -> None:
    agree(g_squared(table), reference.g_squared(table))
    agree(g_squared(table[0].tolist()), reference.g_squared(table[:1]))


@given(TABLES, st.randoms(use_true_random=False))
def test_order_and_orientation_do_not_matter(table: NDArray[np.int64], random: Any) -> None:
    other = table
    for axis in range(3):
        order = list(range(table.shape[axis]))
        random.shuffle(order)
        other = other.take(order, axis=axis)
    agree(g_squared(other), g_squared(table))
    agree(g_squared(other.swapaxes(1, 2)), g_squared(table))
    agree(g_squared(np.concatenate([table, np.zeros_like(table)])), g_squared(table))


@given(TABLES)
def test_compiled_equals_interpreted(table: NDArray[np.int64]) -> None:
    (statistic, dof), slow = g_squared_statistic(table), interpreted(g_squared_statistic)(table)
    assert statistic == pytest.approx(slow[0], rel=1e-12, abs=1e-12)
    assert dof == slow[1]


@pytest.mark.parametrize("dof", [1, 2, 7, 100])
def test_p_value_is_the_chi_squared_tail(dof: int) -> None:
    statistic = np.array([0.0, 1e-9, 0.5, 3.84, 50.0, 1e4])
    np.testing.assert_allclose(p_values(statistic, np.full(6, dof)), stats.chi2.sf(statistic, dof), rtol=1e-9)


@pytest.mark.parametrize("table", [[[5, 0], [9, 0]], [[3, 4]], [[0, 0], [0, 0]], [[[4, 0], [0, 0]], [[0, 0], [0, 7]]]])
def test_no_degrees_of_freedom_is_no_evidence(table: Any) -> None:
    assert g_squared(table) == (0.0, 0, 1.0)


@pytest.mark.parametrize(
    "table",
    [
        [1, 2, 3],
        np.zeros((1, 1, 1, 1)),
        [[-1, 2], [3, 4]],
        [[0.5, 2], [3, 4]],
        [[math.nan, 2], [3, 4]],
        [[math.inf, 2], [3, 4]],
        [["many", 2], [3, 4]],
        [[1, 2], [3]],
        None,
        7,
    ],
)
def test_what_is_not_a_table_of_counts(table: Any) -> None:
    with pytest.raises(ObservationError, match="is not a table of counts; expected whole numbers from 0"):
        g_squared(table)


def test_size_under_the_null() -> None:
    """Null: rows and columns are independent within each of three strata, so p <= 0.05 with probability 0.05.

    10000 tables of 3 strata, 3 x 2 cells and 1000 rows per stratum, cell chances from 0.05 up, where the chi-squared
    law is accurate to under 0.0005. Standard error of the rejection rate sqrt(0.05 x 0.95 / 10000) = 0.0022.
    Exact binomial test, false-alarm rate 1e-4. Seed 11.
    """
    rng = np.random.default_rng(11)
    replicates = 10_000
    strata = [np.outer([0.25, 0.35, 0.4], [1 - p, p]).ravel() for p in (0.2, 0.5, 0.7)]
    tables = np.stack([rng.multinomial(1000, cells, size=replicates) for cells in strata], axis=1)
    found = [g_squared_statistic(table) for table in tables.reshape(replicates, 3, 3, 2)]
    rejected = int(np.sum(p_values(np.array([g for g, _ in found]), np.array([dof for _, dof in found])) <= 0.05))
    assert {dof for _, dof in found} == {6}
    assert stats.binomtest(rejected, replicates, 0.05).pvalue > 1e-4


@given(logs())
def test_tests_of_arms_agree_with_scipy_on_raw_rows(log: tuple[Problem, list[dict[str, Any]]]) -> None:
    problem, rows = log
    history = History(problem)
    for row in rows:
        arm = {name: row[name] for name in problem.intervention_names}
        history.extend(history.encode(arm, {name: row[name] for name in (*problem.observed_names, "Y")}))
    levers = problem.intervention_names
    subsets = [s for size in range(1, len(levers) + 1) for s in itertools.combinations(levers, size)]
    readings = [(tested, [name for name in levers if name not in tested]) for tested in subsets]  # conditional, joint
    readings += [(tested, []) for tested in subsets]  # marginal
    statistic, dof = g_squared_of_arms(history.tables(), ArmTests.of(problem, readings))
    p_value = p_values(statistic, dof)
    sets = [s for size in range(4) for s in itertools.combinations(problem.observed_names, size)]
    for place, names in enumerate(sets):
        for number, (tested, conditioned) in enumerate(readings):
            ours = IndependenceResult(statistic[place, number], dof[place, number], p_value[place, number])
            agree(ours, reference.g_squared_of_rows(rows, tested, [*names, *conditioned]))


def test_tests_of_arms_compiled_equals_interpreted() -> None:
    problem = Problem("Y", {"A": 2, "B": 3}, {"I": 3, "J": 2})
    rng = np.random.default_rng(0)
    history = History(problem)
    sizes = {"I": 3, "J": 2, "A": 2, "B": 3, "Y": 2}
    history.extend(history.encode_many({name: rng.integers(size, size=200) for name, size in sizes.items()}))
    tests = ArmTests.of(problem, [(["I"], ["J"]), (["J"], []), (["I", "J"], [])])
    for ours, theirs in zip(
        g_squared_of_arms(history.tables(), tests), interpreted(g_squared_of_arms)(history.tables(), tests), strict=True
    ):
        np.testing.assert_allclose(ours, theirs, rtol=1e-12, atol=1e-12)

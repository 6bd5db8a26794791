"""The permutation test: against Fisher's exact test, against enumeration of all deals, and its level."""

import itertools

import numpy as np
import pytest
from scipy import stats

from causal_bandits.core.compiled import Ints
from causal_bandits.core.independence import g_squared, permutation_test
from causal_bandits.core.independence.g_squared import g_squared_statistic
from causal_bandits.errors import ObservationError, OptionError


def every_deal(table: Ints) -> float:
    """P(G2 as large as observed) by listing every way to deal the column labels of every stratum."""
    observed = g_squared_statistic(table)[0]
    deals = []
    for stratum in table:
        rows = np.repeat(np.arange(len(stratum)), stratum.sum(axis=1))
        columns = np.repeat([0, 1], stratum.sum(axis=0))
        deals.append([np.array(order) for order in itertools.permutations(columns)])
        assert len(rows) == len(columns)
    hit = total = 0
    for chosen in itertools.product(*deals):
        made = np.zeros_like(table)
        for place, (stratum, columns) in enumerate(zip(table, chosen, strict=True)):
            np.add.at(made[place], (np.repeat(np.arange(len(stratum)), stratum.sum(axis=1)), columns), 1)
        hit += g_squared_statistic(made)[0] >= observed - 1e-9
        total += 1
    return hit / total


@pytest.mark.parametrize("table", [[[[2, 1], [0, 2]]], [[[2, 0], [0, 2]], [[1, 1], [1, 0]]]])
def test_it_is_the_share_of_all_deals(table: list[list[list[int]]]) -> None:
    """Standard error of a share of 20,000 deals at most .0036: 4 of them, false alarms 1e-4. Seed 1."""
    found = permutation_test(table, draws=20_000, seed=1).p_value
    assert abs(found - every_deal(np.array(table))) < 4 * 0.0036


def test_one_stratum_of_two_by_two_is_near_fishers_exact_test() -> None:
    """Fisher orders tables by their probability, we by G2; with equal margins that is the same order."""
    table = [[14, 6], [6, 14]]
    exact = stats.fisher_exact(table).pvalue
    found = permutation_test(table, draws=20_000, seed=2).p_value
    assert abs(found - exact) < 4 * np.sqrt(exact * (1 - exact) / 20_000)


@pytest.mark.parametrize(("strata", "rows"), [(18, 200), (72, 200)])
def test_it_holds_its_level_where_chi_squared_does_not(strata: int, rows: int) -> None:
    """Null: P(p <= .05) <= .05. 200 tables: standard error .0154; fails above .05 + 3.1 s.e. = .098 (1e-3). Seed 3."""
    rng = np.random.default_rng(3)
    valid = asymptotic = 0
    for _ in range(200):
        table = np.zeros((strata, 3, 2), dtype=np.int64)
        where = rng.integers(strata, size=rows), rng.integers(3, size=rows)
        np.add.at(table, (*where, (rng.random(rows) < 0.3).astype(int)), 1)
        valid += permutation_test(table, draws=199, seed=4).p_value <= 0.05
        asymptotic += g_squared(table).p_value <= 0.05
    assert valid / 200 < 0.098
    assert asymptotic / 200 > 0.2  # the reason why it exists


def test_it_finds_dependence_and_is_repeated_by_its_seed() -> None:
    table = [[[30, 5], [5, 30]], [[20, 10], [10, 20]]]
    assert permutation_test(table).p_value == 0.001
    assert permutation_test(table, seed=7) == permutation_test(table, seed=7)


def test_relabelling_strata_rows_and_columns_changes_nothing_but_luck() -> None:
    """The statistic is the same, the p-value within 4.5 standard errors of a difference. Seeds 5, 6."""
    table = np.array([[[8, 3, 1], [4, 4, 4]], [[2, 5, 5], [1, 1, 9]]])
    first = permutation_test(table, draws=10_000, seed=5)
    other = permutation_test(table[::-1, ::-1, ::-1], draws=10_000, seed=6)
    assert first.statistic == pytest.approx(other.statistic)
    p = first.p_value
    assert abs(p - other.p_value) < 4.5 * np.sqrt(2 * p * (1 - p) / 10_000)


def test_a_table_without_evidence_has_p_value_one() -> None:
    assert permutation_test([[5, 0], [3, 0]]) == (0.0, 0, 1.0)
    assert permutation_test(np.zeros((2, 2, 2), dtype=int)).p_value == 1.0


def test_bad_input_is_refused() -> None:
    with pytest.raises(ObservationError, match="table of counts"):
        permutation_test([[1, -1], [2, 3]])
    with pytest.raises(OptionError, match="draws"):
        permutation_test([[1, 1], [2, 3]], draws=0)

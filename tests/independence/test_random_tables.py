"""Random tables drawn cell by cell are those that dealing labels makes."""

import numpy as np
import pytest
from scipy.stats import chisquare, hypergeom

from causal_bandits.core.independence import g_squared, permutation_test
from causal_bandits.core.independence.permutation import permuted_p_value, random_tables


def test_random_tables_have_the_margins_and_the_law() -> None:
    """Null: a corner cell is hypergeometric, another cell too (outside oracle: scipy). Pearson's test at 0.001, seed 1:
    two false alarms in a thousand."""
    table = np.array([[3, 5, 2], [4, 1, 5]])
    found = random_tables(table, 5000, np.random.default_rng(1))
    assert np.all(found.sum(axis=1) == table.sum(axis=0))
    assert np.all(found.sum(axis=2) == table.sum(axis=1))
    for row, column in ((0, 0), (1, 2)):
        size, column_size = int(table[row].sum()), int(table[:, column].sum())
        values = np.arange(column_size + 1)
        expected = 5000 * hypergeom(int(table.sum()), column_size, size).pmf(values)
        counts = np.bincount(found[:, row, column], minlength=len(values))
        kept = expected > 5
        assert (
            chisquare(
                np.append(counts[kept], counts[~kept].sum()),
                np.append(expected[kept], max(expected[~kept].sum(), 1e-9)),
            ).pvalue
            > 0.001
        )


@pytest.mark.parametrize("strata", [1, 3])
def test_it_is_the_test_that_deals_labels(strata: int) -> None:
    """Both estimate the same p-value from 5,000 draws: their difference has a standard error of at most 0.01; 4 of
    them are exceeded once in 16,000 tables. Seed 2."""
    rng = np.random.default_rng(2)
    for _ in range(5):
        table = rng.poisson(6, size=(strata, 3, 2)) + rng.integers(2)
        dealt = permuted_p_value(table.astype(np.int64), 5000, np.random.default_rng(1))
        assert abs(permutation_test(table, draws=5000, seed=2).p_value - dealt) < 0.04


def test_many_rows_agree_with_the_limit() -> None:
    """With 400,000 rows the chi-squared limit is exact to far below the error of 999 draws, 0.016; 4 of them."""
    rng = np.random.default_rng(3)
    table = rng.multinomial(400_000, np.full(6, 1 / 6)).reshape(3, 2)
    assert abs(permutation_test(table, draws=999).p_value - g_squared(table).p_value) < 0.064

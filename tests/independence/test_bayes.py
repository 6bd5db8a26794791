import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays
from numpy.typing import NDArray
from scipy import integrate

from causal_bandits.core.compiled import interpreted
from causal_bandits.core.independence import bayes, log_bayes_factor
from causal_bandits.errors import ObservationError

Counts = NDArray[np.int64]


def integrated(zeros: int, ones: int) -> float:
    """The chance of a sequence of rewards, integrated numerically over the unknown mean."""
    value, _ = integrate.quad(lambda mu: mu**ones * (1 - mu) ** zeros, 0, 1, epsabs=0, epsrel=1e-10)
    return math.log(value)


def brute_force(table: Counts) -> float:
    """Cell by cell: one mean per stratum against one per stratum and row."""
    pooled = sum(integrated(*stratum.sum(axis=0)) for stratum in table)
    return pooled - sum(integrated(*row) for stratum in table for row in stratum)


tables = arrays.arrays(
    np.int64, st.tuples(st.integers(1, 3), st.integers(1, 4), st.just(2)), elements=st.integers(0, 30)
)


@given(tables)
def test_agrees_with_numerical_integration(table: Counts) -> None:
    assert log_bayes_factor(table) == pytest.approx(brute_force(table), rel=1e-7, abs=1e-7)


@given(tables)
def test_compiled_equals_interpreted(table: Counts) -> None:
    slow = interpreted(bayes.log_bayes_factor_statistic)(table)
    assert bayes.log_bayes_factor_statistic(table) == pytest.approx(slow, rel=1e-12, abs=1e-12)


@given(tables)
def test_order_does_not_matter(table: Counts) -> None:
    """Levels relabeled and rewards swapped: the same evidence."""
    turned = table[::-1, ::-1, ::-1]
    assert log_bayes_factor(turned) == pytest.approx(log_bayes_factor(table), abs=1e-9)


def test_evidence_grows_with_the_rows() -> None:
    """For independence like half the log of their number, against dependence in proportion to it."""
    alike = [log_bayes_factor([[n, n], [n, n]]) for n in (10, 100, 1000, 10_000)]
    assert np.diff(alike) == pytest.approx(np.full(3, math.log(10) / 2), abs=0.05)
    differing = [log_bayes_factor([[6 * n, 4 * n], [4 * n, 6 * n]]) for n in (100, 200)]
    assert differing[1] / differing[0] == pytest.approx(2, abs=0.2)


def test_no_rows_are_no_evidence() -> None:
    assert log_bayes_factor([[0, 0], [0, 0]]) == 0
    assert log_bayes_factor([[5, 7], [0, 0]]) == pytest.approx(0, abs=1e-12)


@pytest.mark.parametrize("table", [[[1, 2, 3]], [[1.5, 2]], [[-1, 2]], "counts", [1, 2]])
def test_bad_tables(table: object) -> None:
    with pytest.raises(ObservationError, match=r"not a table of counts; expected whole numbers .* \(rows, 2\)"):
        log_bayes_factor(table)  # type: ignore[arg-type]

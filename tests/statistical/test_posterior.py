"""The Dirichlet-Beta posterior of Algorithm 1: closed form, Monte Carlo, and the formula of paper-notes 2.4."""

from typing import NamedTuple

import numpy as np
import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from numpy.testing import assert_allclose
from numpy.typing import NDArray

from causal_bandits.core.data import CountTables, TableLayout, count_row, count_rows
from causal_bandits.core.discovery import KnownSets
from causal_bandits.core.estimators import Pools, draw_own, draw_shared, learn_through_sets, make_pools, own_moments
from causal_bandits.core.problem import Problem

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

PROBLEM = Problem("Y", observed={"A": 2, "B": 3}, interventions={"I": 2, "J": 3})
LAYOUT = TableLayout.of(PROBLEM)
DRAWS = 20_000


class Case(NamedTuple):
    """Some data, a set told to separate I', and one arm."""

    counts: Ints
    """(arms, levels of A, levels of B, 2)."""
    S: tuple[str, ...]
    separated: tuple[str, ...]
    arm: int


CASES = st.builds(
    Case,
    hnp.arrays(np.int64, (6, 2, 3, 2), elements=st.integers(0, 12)),
    st.sampled_from(LAYOUT.names),
    st.sampled_from([("I",), ("J",), ("I", "J")]),
    st.integers(0, 5),
)


class Posterior(NamedTuple):
    """p ~ Dirichlet(a), mu(s) ~ Beta(ones, zeros), one value of S after the other."""

    a: Floats
    ones: Floats
    zeros: Floats

    def draw(self, size: int, rng: np.random.Generator) -> Floats:
        p = rng.dirichlet(self.a, size=size)
        mu = rng.beta(self.ones, self.zeros, size=(size, len(self.ones)))
        drawn: Floats = (p * mu).sum(axis=1)
        return drawn

    @property
    def moments(self) -> tuple[float, float]:
        """Mean and variance by paper-notes 2.4."""
        a, A = self.a, self.a.sum()
        total = self.ones + self.zeros
        m, v = self.ones / total, self.ones * self.zeros / (total**2 * (total + 1))
        second = ((a @ m) ** 2 + (a * (a + 1) * (m**2 + v) - a**2 * m**2).sum()) / (A * (A + 1))
        mean = a @ m / A
        return float(mean), float(second - mean**2)


def literal(case: Case) -> Posterior:
    """Algorithm 1, lines 13 and 14."""
    gone = tuple(1 + place for place, name in enumerate(PROBLEM.observed_names) if name not in case.S)
    table = case.counts.sum(axis=gone).reshape(6, -1, 2)
    arm = PROBLEM.arms[case.arm]
    I_NS = [name for name in PROBLEM.intervention_names if name not in case.separated]
    sharing = [all(other[name] == arm[name] for name in I_NS) for other in PROBLEM.arms]
    pooled = table[sharing].sum(axis=0)
    return Posterior(table[case.arm].sum(axis=1) + 1.0, pooled[:, 1] + 1.0, pooled[:, 0] + 1.0)


def rows_of(counts: Ints) -> tuple[Ints, Ints, Ints]:
    """Arms, codes and rewards of the rows that give these counts."""
    rows = np.repeat(np.argwhere(counts >= 0), counts.ravel(), axis=0)
    return rows[:, 0], rows[:, 1:3], rows[:, 3]


def pools_of(case: Case, *, one_by_one: bool = False) -> tuple[CountTables, Pools]:
    tables = LAYOUT.empty()
    told = KnownSets({case.S: case.separated})
    if one_by_one:
        pools = make_pools(told.discover(LAYOUT, tables, 0), tables)
        order = np.random.default_rng(0).permutation(case.counts.sum())
        arms, codes, rewards = rows_of(case.counts)
        for row in order:
            learn_through_sets(tables, pools, arms[row], codes[row], rewards[row], 1)
            count_row(tables, arms[row], codes[row], rewards[row])
        return tables, pools
    count_rows(tables, *rows_of(case.counts))
    return tables, make_pools(told.discover(LAYOUT, tables, int(case.counts.sum())), tables)


def closed_form(case: Case, *, one_by_one: bool = False) -> tuple[float, float]:
    """Mean and variance as the policies have them: F / A, and the kept variance."""
    _, pools = pools_of(case, one_by_one=one_by_one)
    A = literal(case).a.sum()
    return pools.linear[0, case.arm] / A, pools.variance[0, case.arm]


def assert_moments(drawn: Floats, mean: float, variance: float, errors: float) -> None:
    """Both within this many standard errors, the one of the variance from the fourth moment."""
    assert abs(drawn.mean() - mean) < errors * drawn.std() / np.sqrt(len(drawn))
    squared = (drawn - mean) ** 2
    assert abs(squared.mean() - variance) < errors * squared.std() / np.sqrt(len(drawn))


@given(CASES)
def test_closed_form_is_the_formula(case: Case) -> None:
    assert_allclose(closed_form(case), literal(case).moments, rtol=0, atol=1e-12)


@given(CASES)
@settings(max_examples=50)
def test_learning_row_by_row_is_counting_at_once(case: Case) -> None:
    _, at_once = pools_of(case)
    _, learnt = pools_of(case, one_by_one=True)
    for name in ("counts", "linear", "square", "variance"):
        assert_allclose(getattr(learnt, name), getattr(at_once, name), rtol=1e-9, err_msg=name)


@given(CASES)
@settings(max_examples=40, derandomize=True, phases=[Phase.generate])
def test_closed_form_is_what_monte_carlo_converges_to(case: Case) -> None:
    """Null: the closed form is the mean and variance of p . mu.

    Standard errors of the mean and variance of 20,000 draws. Two-sided at 5 standard errors, 40 cases x 2 moments:
    false-alarm rate 5e-5. Seed 8; the cases are fixed too, and not shrunk: that would hunt for false alarms.
    """
    drawn = literal(case).draw(DRAWS, np.random.default_rng(8))
    assert_moments(drawn, *closed_form(case), errors=5)


@given(CASES)
@settings(max_examples=2, derandomize=True, phases=[Phase.generate])
def test_compiled_draws_follow_the_posterior(case: Case) -> None:
    """Null: `draw_shared` and `draw_own` have the posterior's mean and variance.

    As above, 2 cases x 4 moments: false-alarm rate 5e-6. Seed 9.
    """
    tables, pools = pools_of(case)
    rng = np.random.default_rng(9)
    shared = np.array([draw_shared(tables, pools, 0, case.arm, rng) for _ in range(DRAWS)])
    assert_moments(shared, *literal(case).moments, errors=5)
    own = np.array([draw_own(tables, case.arm, rng) for _ in range(DRAWS)])
    assert_moments(own, *own_moments(tables, case.arm), errors=5)


@given(CASES)
def test_own_moments_are_those_of_a_beta(case: Case) -> None:
    tables, _ = pools_of(case)
    zeros, ones = (case.counts[case.arm].sum(axis=(0, 1)) + 1).tolist()
    total = zeros + ones
    assert own_moments(tables, case.arm) == pytest.approx(
        (ones / total, ones * zeros / (total**2 * (total + 1))), rel=1e-12
    )

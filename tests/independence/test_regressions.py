"""The Bayes factor of regressions against two other ways to the same number, and what it must not depend on."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import linalg, stats

from causal_bandits.core.compiled import Floats, interpreted
from causal_bandits.core.independence import regression_factors
from causal_bandits.core.independence import regressions as rules
from tests.reference.regressions import by_contrasts
from tests.reference.residuals import Log, random_log


def factor(log: Log, columns: list[int], strata: list[int] | None = None, cells: list[int] | None = None) -> float:
    """Every arm a level, in one stratum, unless told."""
    chosen = np.zeros((1, log.values.shape[1]), dtype=np.bool_)
    chosen[0, [*columns, -1]] = True
    arms = range(log.arm_count)
    groups = [np.array(each) for each in (strata or [0] * len(arms), cells or list(arms))]
    return float(regression_factors(log.moments, chosen, *groups)[0])


logs = st.builds(
    lambda sizes, columns, seed, difference: random_log(sizes, columns, np.random.default_rng(seed), difference),
    st.lists(st.integers(0, 12), min_size=2, max_size=4).filter(lambda sizes: sum(sizes) > 0),
    st.integers(0, 3),
    st.integers(0, 10_000),
    st.sampled_from([0.0, 0.5, 3.0]),
)


@settings(max_examples=60, deadline=None)
@given(logs)
def test_agrees_with_multivariate_t(log: Log) -> None:
    columns = list(range(log.values.shape[1] - 1))
    assert factor(log, columns) == pytest.approx(by_contrasts(log.values, log.arms), abs=1e-5)


def log_likelihood(sample: Floats, mean: Floats, sigma: Floats) -> Floats:
    """Of normal rows, by their squares around the own mean and its distance from `mean`: one pass for all rows."""
    squares = ((sample - sample.mean()) ** 2).sum() + len(sample) * (mean - sample.mean()) ** 2
    found: Floats = -len(sample) * np.log(sigma * math.sqrt(2 * math.pi)) - squares / (2 * sigma**2)
    return found


def test_log_likelihood_is_the_sum_over_rows() -> None:
    sample, mean, sigma = np.array([0.3, -1.2, 2.0]), np.array([[0.0], [1.5]]), np.array([[0.5, 2.0]])
    expected = stats.norm.logpdf(sample[:, None, None], mean, sigma).sum(axis=0)
    np.testing.assert_allclose(log_likelihood(sample, mean, sigma), expected)


@pytest.mark.parametrize("gap", [0.0, 1.0, 3.0])
def test_agrees_with_numerical_integration(gap: float) -> None:
    """The empty set, two levels: over the common mean and log sigma on a grid, over departures by Gauss-Hermite."""
    rng = np.random.default_rng(5)
    samples = [rng.normal(size=4), rng.normal(gap, size=6)]
    log = Log(np.concatenate(samples)[:, None], np.repeat([0, 1], [4, 6]), 2)
    mean, log_sigma = np.linspace(-30, 30, 601)[:, None], np.linspace(-3, 5, 201)[None, :]
    sigma = np.exp(log_sigma)
    nodes, weights = np.polynomial.hermite_e.hermegauss(80)
    same, own = np.zeros((601, 201)), np.zeros((601, 201))
    for sample in samples:
        same += log_likelihood(sample, mean, sigma)
        likelihood = np.zeros((601, 201))
        for node, weight in zip(nodes, weights, strict=True):
            departed = mean + node * sigma  # g sigma^2 (X'X)^-1 with X a column of ones
            likelihood += weight / math.sqrt(2 * math.pi) * np.exp(log_likelihood(sample, departed, sigma))
        own += np.log(np.maximum(likelihood, 1e-300))
    expected = math.log(np.exp(same).sum() / np.exp(own).sum())
    assert factor(log, []) == pytest.approx(expected, abs=2e-3)


@settings(deadline=None)
@given(logs, st.floats(-3, 3), st.floats(-50, 50), st.integers(0, 1000))
def test_units_and_zeros_do_not_matter(log: Log, scale: float, by: float, seed: int) -> None:
    """Of the reward and of S, nor which combinations of the columns stand for S, nor the order of the levels."""
    rng = np.random.default_rng(seed)
    columns = list(range(log.values.shape[1] - 1))
    mixing = linalg.qr(rng.normal(size=(len(columns), len(columns))))[0] if columns else np.zeros((0, 0))
    s = log.values[:, :-1] @ mixing * np.exp(rng.normal(size=len(columns))) + by
    turned = Log(np.column_stack([s, -math.exp(scale) * log.values[:, -1] + by]), log.arms, log.arm_count)
    backwards = Log(turned.values[::-1].copy(), log.arm_count - 1 - turned.arms[::-1], log.arm_count)
    for other in (turned, backwards):
        assert factor(other, columns) == pytest.approx(factor(log, columns), rel=1e-5, abs=1e-5)


@settings(max_examples=30, deadline=None)
@given(logs)
def test_compiled_equals_interpreted(log: Log) -> None:
    columns, members = np.arange(log.values.shape[1]), np.flatnonzero(np.bincount(log.arms, minlength=log.arm_count))
    slow = interpreted(rules._factor)(log.moments, members, columns)
    assert rules._factor(log.moments, members, columns) == pytest.approx(slow, rel=1e-9, abs=1e-9)


def test_strata_add_up_and_cells_merge() -> None:
    log = random_log([9, 14, 8, 11], 2, np.random.default_rng(0))
    pairs = [Log(log.values[log.arms // 2 == pair], log.arms[log.arms // 2 == pair] % 2, 2) for pair in (0, 1)]
    apart = factor(log, [0, 1], [0, 0, 1, 1])
    assert apart == pytest.approx(sum(factor(pair, [0, 1]) for pair in pairs), abs=1e-9)
    merged = factor(log, [0, 1], [0] * 4, [0, 1, 0, 1])
    assert merged == pytest.approx(factor(Log(log.values, log.arms % 2, 2), [0, 1]), abs=1e-9)


def test_evidence_grows_with_the_rows() -> None:
    """For a common regression by half a logarithm per coefficient and level, against one in proportion to the rows."""
    rng = np.random.default_rng(1)
    x, noise = rng.normal(size=(2, 1 << 14))
    arms = np.arange(len(x)) % 2
    alike, differing = [], []
    for rows in (1 << 8, 1 << 14):
        alike.append(factor(Log(np.column_stack([x, x + noise])[:rows], arms[:rows], 2), [0]))
        differing.append(factor(Log(np.column_stack([x, x + noise + arms])[:rows], arms[:rows], 2), [0]))
    assert alike[0] > 1
    assert alike[1] - alike[0] == pytest.approx(2 * 0.5 * math.log(64), abs=3.0)  # a chi-squared on either side
    assert differing[1] / differing[0] == pytest.approx(64, rel=0.5)


def test_a_level_with_one_row_says_little() -> None:
    """However many rows the others have: a prior worth all rows together would find 3.5 nats for the set."""
    rng = np.random.default_rng(2)
    values = np.append(rng.normal(size=1000), 0.0)[:, None]
    assert 0 < factor(Log(values, np.append(np.zeros(1000, dtype=np.int64), 1), 2), []) < 0.7


def test_no_evidence() -> None:
    rng = np.random.default_rng(3)
    x = rng.normal(size=(20, 1))
    one_level = Log(np.column_stack([x, rng.normal(size=20)]), np.zeros(20, dtype=np.int64), 3)
    perfect = Log(np.column_stack([x, 2 * x]), np.arange(20) % 2, 2)
    constant = Log(np.column_stack([x, np.full(20, 1e6)]), np.arange(20) % 2, 2)
    few = Log(rng.normal(size=(3, 3)), np.arange(3) % 2, 2)
    large = Log(rng.normal(size=(20, 2)) * 1e160, np.arange(20) % 2, 2)
    empty = Log(np.empty((0, 2)), np.empty(0, dtype=np.int64), 2)
    for log in (one_level, perfect, constant, few, large, empty):
        assert factor(log, list(range(log.values.shape[1] - 1))) == 0


def test_columns_that_say_nothing_new() -> None:
    """A constant and a copy leave the factor where it was; a reward that the level alone decides is far below 0."""
    rng = np.random.default_rng(4)
    x, y, arms = rng.normal(size=40), rng.normal(size=40), np.arange(40) % 3
    once = factor(Log(np.column_stack([x, y]), arms, 3), [0])
    twice = Log(np.column_stack([x, np.full(40, 7e5), 3 * x + 1, y]), arms, 3)
    assert factor(twice, [0, 1, 2]) == pytest.approx(once, abs=1e-6)
    decided = factor(Log(np.column_stack([x, arms.astype(np.float64)]), arms, 3), [0])
    assert -1000 < decided < -20

"""Betting evidence: against every value in turn, against all pairs of means, and as a martingale."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from causal_bandits.core.independence import betting
from causal_bandits.core.independence.betting import (
    CAP_ROWS,
    Sums,
    evidence_above,
    evidence_ahead,
    evidence_below,
    interval,
    learned_ends,
    needed,
    running_sums,
    sums_of,
)
from tests.reference import betting as slow

VALUES = st.lists(st.sampled_from([0.0, 0.0, 0.1, 0.55, 1.0]), min_size=1, max_size=30)


def one(values: list[float]) -> Sums:
    return sums_of(np.array(values, dtype=np.float64), np.zeros(len(values), dtype=np.int64), 1)


def test_weights_are_those_of_a_mixture() -> None:
    for weights in (betting.RATE_WEIGHTS, betting.NUMBER_WEIGHTS, betting.SPLIT_WEIGHTS):
        assert weights.sum() == pytest.approx(1.0)
        assert (weights > 0).all()
    assert np.allclose(betting.SPLITS, 1 - betting.SPLITS[::-1])


@settings(max_examples=40, deadline=None)
@given(VALUES, st.floats(0.01, 0.99), st.booleans())
def test_one_mean_is_the_mixture_of_all_bets(values: list[float], limit: float, binary: bool) -> None:
    for above, evidence in ((True, evidence_above), (False, evidence_below)):
        expected = slow.alone(values, limit, above=above, binary=binary)
        assert float(evidence(one(values), limit, binary=binary)[0]) == pytest.approx(expected, abs=1e-9)


@pytest.mark.parametrize("mean", [0.02, 0.5])
@pytest.mark.parametrize("above", [True, False])
def test_one_more_value_leaves_the_wealth_where_it_is_on_average(mean: float, above: bool) -> None:
    """At the true mean the wealth is a martingale; beyond the limit it can only fall."""
    evidence = evidence_above if above else evidence_below
    for start in ([], [0.0, 1.0, 0.3], [0.0] * 40 + [1.0] * 3):
        for law in ([(0.0, 1 - mean), (1.0, mean)], [(mean / 2, 0.5), (1.5 * mean, 0.5)]):
            now = math.exp(float(evidence(one([*start]), mean)[0])) if start else 1.0
            later = sum(p * math.exp(float(evidence(one([*start, x]), mean)[0])) for x, p in law)
            assert later == pytest.approx(now, rel=1e-9)
            beyond = mean * 1.3 if above else mean * 0.7
            now = math.exp(float(evidence(one([*start]), beyond)[0])) if start else 1.0
            later = sum(p * math.exp(float(evidence(one([*start, x]), beyond)[0])) for x, p in law)
            assert later <= now * (1 + 1e-9)


@settings(max_examples=30, deadline=None)
@given(VALUES, VALUES, st.sampled_from([(1.0, 0.0), (0.95, 0.0), (1.0, -0.1), (1.25, 0.05)]))
def test_no_pair_of_means_has_less_evidence(mine: list[float], other: list[float], line: tuple[float, float]) -> None:
    slope, offset = line
    found = float(evidence_ahead(one(mine), one(other), slope, offset)[0])
    lowest = math.inf
    for q in np.linspace(0, 1, 101):
        for p in np.linspace(0, 1, 101):
            edge = slope * q + offset
            if edge - 0.011 <= p <= edge + 1e-12 or p == 1 <= edge:
                lowest = min(lowest, slow.paired(mine, other, float(p), float(q), binary=False))
    assert found <= max(lowest, 0.0) + 1e-9
    if found > 0:
        assert found == pytest.approx(lowest, abs=0.25)


def test_several_lines_mean_the_lowest() -> None:
    first, second = one([0.5, 1.0, 0.7] * 30), one([0.1, 0.4, 0.2] * 30)
    lines = [float(evidence_ahead(first, second, slope)[0]) for slope in (0.9, 1.1)]
    both = float(evidence_ahead(first, second, [[0.9, 1.1]], [[0.0, 0.0]])[0])
    assert both == pytest.approx(lines[0])
    assert lines[0] > lines[1] > 3


def test_a_margin_that_no_mean_reaches_is_certain() -> None:
    assert evidence_ahead(one([0.0, 1.0]), one([0.0]), 1.0, -1.5).tolist() == [math.inf]


def test_running_sums_are_the_sums_of_the_first_rows() -> None:
    rng = np.random.default_rng(1)
    values, arms = rng.random(200) * (rng.random(200) < 0.5), rng.integers(3, size=200)
    found = running_sums(values, arms, 3, [50, 120, 200])
    for place, end in enumerate((50, 120, 200)):
        for name, each in sums_of(values[:end], arms[:end], 3)._asdict().items():
            assert np.allclose(getattr(found, name)[place], each), name


def test_zeros_alone_prove_little() -> None:
    """20 zeros are more likely than 1 in 20 if a mean of 0.03 is made of a rare large value."""
    zeros = one([0.0] * 20)
    assert float(evidence_below(zeros, 0.03)[0]) < 1
    low, high = interval(zeros, 0.05)
    assert low[0] == 0
    assert 0.03 < high[0] < 1


def test_ends_are_learned_from_the_first_values_alone() -> None:
    rng = np.random.default_rng(2)
    values = rng.lognormal(size=3 * CAP_ROWS)
    found = learned_ends(values, 0.0)
    assert found == learned_ends(values[:CAP_ROWS], 0.0)
    assert found is not None
    assert found == pytest.approx((0.0, float(np.quantile(values[:CAP_ROWS], 0.999))))
    assert learned_ends(values[: CAP_ROWS - 1], 0.0) is None
    assert learned_ends(np.zeros(CAP_ROWS), 0.0) is None
    low, high = learned_ends(rng.normal(size=CAP_ROWS)) or (0.0, 0.0)
    assert low < -2 < 2 < high


@pytest.mark.statistical
@pytest.mark.parametrize("kind", ["rate", "rare amounts"])
def test_a_true_mean_is_rarely_excluded(kind: str) -> None:
    """Null: the confidence sequence at 10% excludes the true mean at any of 40 looks in at most 10% of streams.

    1,000 streams: the standard error at 10% is 0.95%, so more than 130 have a probability under 1e-3. Seed 5.
    """
    rng, streams, looks = np.random.default_rng(5), 1000, np.arange(50, 2001, 50)
    values = (rng.random((streams, 2000)) < 0.05) * (1.0 if kind == "rate" else rng.beta(0.5, 2.0, (streams, 2000)))
    mean = 0.05 if kind == "rate" else 0.05 * 0.2
    wrong = 0
    for each in values:
        sums = running_sums(each, np.zeros(2000, dtype=np.int64), 1, looks)
        highest = [evidence(sums, mean, binary=kind == "rate").max() for evidence in (evidence_above, evidence_below)]
        wrong += max(highest) >= needed(0.05)
    assert wrong <= 130

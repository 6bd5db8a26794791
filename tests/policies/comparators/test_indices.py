"""The formulas: by hand, against solvers, compiled and interpreted."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from causal_bandits.core.compiled import interpreted
from causal_bandits.research.comparators import baselines, told_set
from tests.reference import comparators as slow

COUNTS = st.integers(1, 5000)


def test_by_hand() -> None:
    """4 ones in 10 rewards after 100 rows: ln 100 = 4.60517."""
    assert baselines.ucb1_index(0.4, 10, 100) == pytest.approx(0.4 + 0.9597051, abs=1e-7)
    assert baselines.ucb_v_index(0.4, 10, 100) == pytest.approx(0.4 + 0.4701576 + 1.3815511, abs=1e-6)
    assert baselines.ucb_tuned_index(0.4, 10, 100) == pytest.approx(0.4 + 0.3393071, abs=1e-6)  # 1/4 is the smaller
    assert baselines.ucb_tuned_index(0.99, 10_000, 20_000) == pytest.approx(0.9973403, abs=1e-6)  # the variance is
    assert baselines.scaled_ucb_index(0.4, 10, 0.1, 1000) == pytest.approx(0.4 + 0.2628261, abs=1e-6)
    assert baselines.cell_bound(6, 4, 4.0, 100) == pytest.approx(0.4 + math.sqrt(2 * math.log(100**2) / 10))
    assert baselines.cell_bound(0, 0, 4.0, 100) == pytest.approx(math.sqrt(2 * math.log(100**2)))


@given(st.integers(0, 400), COUNTS, st.floats(1e-6, 30))
def test_kl_bound_solves_its_equation(ones: int, n: int, level: float) -> None:
    """kl(m, q) = level at the answer, and it is the bracketing solver's, to 1e-9."""
    m = min(ones, n) / n
    q = baselines.kl_upper_bound(m, level)
    assert q == pytest.approx(slow.kl_bound(m, level), abs=1e-9)
    assert m <= q <= 1
    if m < q < 1 - 1e-6:
        assert baselines.bernoulli_kl(m, q) == pytest.approx(level, rel=1e-6, abs=1e-9)


@given(st.integers(0, 400), COUNTS, st.integers(1, 10**6))
def test_kl_ucb_index(ones: int, n: int, t: int) -> None:
    m = min(ones, n) / n
    assert baselines.kl_ucb_index(m, n, max(t, n)) == pytest.approx(slow.kl_ucb(m, n, max(t, n)), abs=1e-9)


def test_no_rewards_have_a_closed_form() -> None:
    """kl(0, q) = -ln(1 - q), so q = 1 - exp(-level)."""
    for level in (0.01, 0.7, 5.0):
        assert baselines.kl_upper_bound(0.0, level) == pytest.approx(1 - math.exp(-level), abs=1e-12)
    assert baselines.kl_upper_bound(1.0, 0.3) == 1


@given(st.integers(0, 400), COUNTS, st.integers(2, 10**6))
def test_compiled_is_interpreted(ones: int, n: int, t: int) -> None:
    m = min(ones, n) / n
    for rule in (baselines.ucb1_index, baselines.ucb_v_index, baselines.ucb_tuned_index, baselines.kl_ucb_index):
        assert rule(m, n, t) == pytest.approx(interpreted(rule)(m, n, t), abs=1e-12)
    assert baselines.kl_upper_bound(m, 0.2) == pytest.approx(interpreted(baselines.kl_upper_bound)(m, 0.2), abs=1e-12)


@given(st.integers(0, 2**32 - 1))
def test_the_safety_test_of_hac_ucb(seed: int) -> None:
    """Against the two inequalities written out, on rows where Z may or may not separate."""
    rng = np.random.default_rng(seed)
    p = rng.dirichlet([0.5] * 3, size=4)
    horizon, rows = 400, []
    for _ in range(int(rng.integers(1, 300))):
        arm = int(rng.integers(4))
        z = int(rng.choice(3, p=p[arm]))
        rows.append((arm, (z,), int(rng.random() < (arm % 2) * 0.9)))
    rewards, pooled = np.zeros((4, 2), dtype=np.int64), np.zeros((3, 2), dtype=np.int64)
    for arm, (z,), reward in rows:
        rewards[arm, reward] += 1
        pooled[z, reward] += 1
    _, _, passes = slow.hac_bounds(rows, p, [0], [3], horizon)
    assert bool(told_set.doubts_the_set(rewards, pooled, p, horizon)) == (not passes)

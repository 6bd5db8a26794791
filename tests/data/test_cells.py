"""CellTables: rows, means and scatter per cell, against the rows themselves."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from causal_bandits import Problem, bins
from causal_bandits.core.data import CellLayout, add_reward, count_reward
from causal_bandits.errors import ProblemError

PROBLEM = Problem("Y", {"A": 2, "B": 3}, {"I": 3}, reward="revenue")
ROW = st.tuples(st.integers(0, 2), st.integers(-1, 1), st.integers(-1, 2), st.floats(0, 50) | st.just(0.0))


@settings(max_examples=40, deadline=None)
@given(st.lists(ROW, max_size=30))
def test_tables_are_sums_over_rows(rows: list[tuple[int, int, int, float]]) -> None:
    layout = CellLayout.of(PROBLEM)
    tables = layout.empty()
    for arm, a, b, reward in rows:
        count_reward(tables, arm, np.array([a, b], dtype=np.float64), reward)
    for place in range(2 * layout.count):
        members, above = layout.members[place % layout.count], place >= layout.count
        expected: dict[tuple[int, int], list[float]] = {}
        for arm, a, b, reward in rows:
            codes = [(a, b)[member] for member in members]
            if min(codes, default=0) >= 0:
                cell, stride = 0, 1
                for member, code in zip(members, codes, strict=True):
                    cell += code * stride
                    stride *= (2, 3)[member]
                expected.setdefault((arm, cell + stride * (above and reward > 0)), []).append(reward)
        table = tables.table(place)
        assert table[..., 0].sum() == sum(map(len, expected.values()))
        for (arm, cell), rewards in expected.items():
            scatter = np.sum((np.array(rewards) - np.mean(rewards)) ** 2)
            assert table[arm, cell] == pytest.approx([len(rewards), np.mean(rewards), scatter], abs=1e-9)


def test_counting_far_from_zero() -> None:
    values = 1e9 + np.random.default_rng(0).normal(size=50)
    whole = np.zeros(3)
    for value in values:
        add_reward(whole, value)
    assert whole[2] / 49 == pytest.approx(values.var(ddof=1), rel=1e-6)


def test_only_discrete_mediators() -> None:
    with pytest.raises(ProblemError, match=r"'A' is a real number; cut it with bins\(...\)$"):
        CellLayout.of(Problem("Y", {"A": float}, {"I": 2}, reward="count"))
    with pytest.raises(ProblemError, match="GiB"):
        CellLayout.of(Problem("Y", {f"A{n}": 100 for n in range(6)}, {"I": 2}, reward="count"), 6)
    layout = CellLayout.of(Problem("Y", {"A": bins([0.5]), "B": 2}, {"I": 2}, reward="count"), 1)
    assert layout.empty().cells.tolist() == [1, 2, 2]

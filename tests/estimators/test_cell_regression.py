"""Cells and regressions: the fit against numpy's, and who decides."""

import numpy as np
import pytest

from causal_bandits import Problem
from causal_bandits.compiled import Floats, Ints
from causal_bandits.data import CellLayout, CellTables, count_reward
from causal_bandits.estimators.cell_parts import cell_parts, pooled_cells
from causal_bandits.estimators.cell_regression import additive_cells, cell_design
from causal_bandits.estimators.reward_shapes import DISPERSION, RATE, numbers_for
from causal_bandits.policies import SafePolicy

PROBLEM = Problem("Y", {"A": 2, "B": 3, "C": 4}, {"I": 2}, reward=float)


def counted(rows: int, together: float, seed: int = 0) -> tuple[CellLayout, CellTables, Ints, Floats, Floats]:
    """Layout, tables, codes, rewards and true means; `together` is what A and C do beyond adding up."""
    rng = np.random.default_rng(seed)
    codes = rng.integers(0, [2, 3, 4], (rows, 3))
    means = codes @ [1.0, -0.5, 0.3] + together * (codes[:, 0] * (codes[:, 2] == 3))
    rewards = means + rng.normal(size=rows)
    layout = CellLayout.of(PROBLEM)
    tables = layout.empty()
    for code, reward in zip(codes, rewards, strict=True):
        count_reward(tables, 0, code.astype(np.float64), reward)
    return layout, tables, codes, rewards, means


def test_the_fit_is_least_squares() -> None:
    layout, tables, codes, rewards, _ = counted(200, 0.5)
    place = layout.find({"A", "C"})
    columns = [np.ones(200), codes[:, 0], *(codes[:, 2] == level for level in (1, 2, 3))]
    design = np.stack(columns, axis=1).astype(float)
    expected = design @ np.linalg.lstsq(design, rewards, rcond=None)[0]
    fitted, _ = additive_cells(tables, place, pooled_cells(tables, place), 1.0)
    cells = codes[:, 0] + 2 * codes[:, 2]
    assert fitted[cells] == pytest.approx(expected, abs=1e-4)
    assert cell_design(tables, place)[cells] == pytest.approx(design)


def test_cells_decide_where_mediators_do_not_add_up() -> None:
    """With an interaction of 8 standard deviations a cell starts from a row; without, from as many as an effect has."""
    prior = []
    for together in (0.0, 8.0):
        layout, tables, *_ = counted(600, together, seed=1)
        place = layout.find({"A", "C"})
        prior.append(additive_cells(tables, place, pooled_cells(tables, place), 1.0)[1])
    assert prior[0] > 20
    assert prior[1] == 1.0


def test_the_regression_helps_thin_cells() -> None:
    """60 rows in 24 cells, mediators add up: the index is nearer to the truth than cell means are; seed 2."""
    layout, tables, codes, rewards, means = counted(60, 0.0, seed=2)
    place = layout.find({"A", "B", "C"})
    numbers = numbers_for(PROBLEM.reward)
    numbers[[0, 1, DISPERSION, RATE]] = 60, rewards.mean(), 1.0, rewards.mean()
    index = np.zeros(24)
    cell_parts(tables, place, numbers, index)
    cells = codes @ [1, 2, 6]
    own = pooled_cells(tables, place)[cells, 1]
    found = index[cells] + numbers[RATE]
    assert np.mean((found - means) ** 2) < 0.7 * np.mean((own - means) ** 2)


def test_levels_that_were_never_seen() -> None:
    policy = SafePolicy(PROBLEM, seed=0)
    policy.tell_many([{"I": i, "A": 0, "B": i, "C": 0, "Y": float(n)} for n in range(12) for i in (0, 1)])
    assert all(np.isfinite([each.mean, each.low, each.high]).all() for each in policy.estimates())

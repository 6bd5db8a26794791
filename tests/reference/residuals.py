"""The residual test from rows, group by group; and logs to put it to."""

import math
from typing import Any, NamedTuple

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import stats

from causal_bandits.core.data import ArmMoments, add_rows
from causal_bandits.core.independence import Factor, IndependenceResult

Floats = NDArray[np.float64]


Ints = NDArray[np.int64]


class Log(NamedTuple):
    """Rows of design columns (reward last), and the arm of each."""

    values: Floats
    arms: Ints
    arm_count: int

    @property
    def moments(self) -> ArmMoments:
        width = self.values.shape[1]
        empty = ArmMoments(
            np.zeros(self.arm_count, dtype=np.int64),
            np.zeros((self.arm_count, width)),
            np.zeros((self.arm_count, width, width)),
        )
        add_rows(empty, self.arms, self.values)
        return empty

    def of(self, arm: int) -> Floats:
        rows: Floats = self.values[self.arms == arm]
        return rows


def log_of(*samples: Any) -> Log:
    """One sample (rows of columns, reward last) per arm."""
    values = [np.asarray(sample, dtype=np.float64) for sample in samples]
    arms = np.repeat(np.arange(len(samples)), [len(sample) for sample in values])
    return Log(np.concatenate(values), arms, len(samples))


def random_log(sizes: list[int], columns: int, rng: np.random.Generator, difference: float = 0.5) -> Log:
    """Columns with their own mean and mixing in each environment; the reward's equation is almost the same."""
    samples = []
    slopes = rng.normal(size=columns)
    for size in sizes:
        x = rng.normal(size=(size, columns)) @ rng.normal(size=(columns, columns)) + rng.normal(size=columns)
        noise = rng.normal(size=size) * (1 + difference * rng.uniform())
        samples.append(np.column_stack([x, x @ slopes + difference * rng.normal() + noise]))
    return log_of(*samples)


def two_sample(one: Floats, rest: Floats) -> float:
    p_t = stats.ttest_ind(one, rest, equal_var=False).pvalue
    ratio = np.var(one, ddof=1) / np.var(rest, ddof=1)
    law = stats.f(len(one) - 1, len(rest) - 1)
    return float(min(p_t, 2 * law.cdf(ratio), 2 * law.sf(ratio)))


def residual_test_of_rows(
    log: Log, columns: list[int], group: Ints | None = None, factor: Factor = "environments-1"
) -> IndependenceResult:
    """Group by group, environment by environment."""
    group = np.zeros(log.arm_count, dtype=np.int64) if group is None else group
    corrected, smallest, dof = [], [1.0], 0
    for number in np.unique(group):
        arms = [arm for arm in np.flatnonzero(group == number).tolist() if len(log.of(arm)) >= 3]
        if len(arms) < 2:
            continue
        rows = np.concatenate([log.of(arm) for arm in arms])
        if len(rows) <= len(columns) + 1:
            continue
        arm_of_row = np.repeat(arms, [len(log.of(arm)) for arm in arms])
        design = np.column_stack([np.ones(len(rows)), rows[:, columns] - rows[:, columns].mean(axis=0)])
        reward = rows[:, -1] - rows[:, -1].mean()
        residuals = reward - design @ np.linalg.lstsq(design, reward)[0]
        found = [two_sample(residuals[arm_of_row == arm], residuals[arm_of_row != arm]) for arm in arms]
        corrected.append(2 * (len(arms) - (factor == "environments-1")) * min(found))
        smallest += found
        dof += len(arms) - 1
    p_value = min(1.0, len(corrected) * min(corrected)) if corrected else 1.0
    return IndependenceResult(2 * math.log(1 / min(smallest)), dof, p_value)


def agree(ours: IndependenceResult, theirs: IndependenceResult, tolerance: float = 1e-9) -> None:
    assert ours.dof == theirs.dof
    assert ours.statistic == pytest.approx(theirs.statistic, rel=tolerance, abs=10 * tolerance)
    assert ours.p_value == pytest.approx(theirs.p_value, rel=10 * tolerance, abs=tolerance)

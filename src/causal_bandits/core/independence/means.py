"""Do arms have the same mean reward, given S? A permutation test that is valid with heavy tails and many zeros.

Within each stratum (S = s) the rewards are permuted among the rows. If the reward does not depend on the arm given S,
all deals are equally probable, so the share of deals with a statistic at least as large as the observed one is a valid
p-value, whatever the distribution of rewards and however few rows. The statistic is Welch's: squared distances of each
arm's mean from the weighted mean of the stratum, in units of the arm's own squared standard error,

    sum over strata and arms of  n_a (mean_a - mean)^2 / v_a,

so that arms which share a mean but not a variance are, with enough rows, not taken to differ either (Janssen 1997;
Chung and Romano 2013). A variance starts from a few rows of the stratum's, so zeros alone do not make an arm certain.
"""

import numpy as np
from numpy.typing import ArrayLike

from ...errors import OptionError, whole_number
from ..compiled import Floats, Ints, compiled
from .g_squared import IndependenceResult
from .permutation import DRAWS, MOST_DRAWS

PRIOR_ROWS = 10.0
TIE = 1e-9


@compiled
def _statistic(values: Floats, groups: Ints, count: int) -> float:
    """Of one stratum."""
    n, total, square = np.zeros(count), np.zeros(count), np.zeros(count)
    for row in range(len(values)):
        n[groups[row]] += 1
        total[groups[row]] += values[row]
        square[groups[row]] += values[row] * values[row]
    rows = len(values)
    mean = total.sum() / rows
    common = max(square.sum() / rows - mean * mean, 0.0)
    if common <= 0.0:
        return 0.0
    weights, weighed = 0.0, 0.0
    for group in range(count):
        if n[group] > 0:
            scatter = max(square[group] - total[group] * total[group] / n[group], 0.0)
            square[group] = n[group] * (n[group] - 1 + PRIOR_ROWS) / (scatter + PRIOR_ROWS * common)
            weights += square[group]
            weighed += square[group] * total[group] / n[group]
    found = 0.0
    for group in range(count):
        if n[group] > 0:
            found += square[group] * (total[group] / n[group] - weighed / weights) ** 2
    return found


@compiled
def permuted_means(
    values: Floats, groups: Ints, ends: Ints, draws: int, rng: np.random.Generator
) -> tuple[float, int, float]:
    """Statistic, degrees of freedom and p-value; rows come stratum by stratum, and stratum s ends at `ends[s + 1]`."""
    count = groups.max() + 1 if len(groups) else 0
    observed, dof = 0.0, 0
    for stratum in range(len(ends) - 1):
        part = slice(ends[stratum], ends[stratum + 1])
        present = np.zeros(count)
        for group in groups[part]:
            present[group] = 1.0
        if present.sum() > 1 and values[part].max() > values[part].min():
            dof += int(present.sum()) - 1
            observed += _statistic(values[part], groups[part], count)
    if dof == 0:
        return 0.0, 0, 1.0
    dealt, as_large = values.copy(), 0
    for _ in range(draws):
        found = 0.0
        for stratum in range(len(ends) - 1):
            start, end = ends[stratum], ends[stratum + 1]
            for place in range(end - 1, start, -1):
                other = start + int(rng.random() * (place - start + 1))
                dealt[place], dealt[other] = dealt[other], dealt[place]
            if end - start > 1:
                found += _statistic(dealt[start:end], groups[start:end], count)
        as_large += found >= observed * (1 - TIE)
    return observed, dof, (1 + as_large) / (1 + draws)


def mean_test(
    rewards: ArrayLike, arms: ArrayLike, strata: ArrayLike | None = None, *, draws: int = DRAWS, seed: int = 0
) -> IndependenceResult:
    """Test whether arms have the same mean reward within strata, by permuting the rewards.

    Args:
        rewards: One number per row: counts, revenue, any other.
        arms: The arm of each row, as whole numbers from 0.
        strata: The stratum of each row, as whole numbers from 0, such as the cell of a set S; all rows are one by
            default.
        draws: Random deals; the p-value is at least 1 / (draws + 1).
        seed: Seed of the deals; the same seed gives the same p-value.

    >>> rewards = [0, 0, 0, 30, 0, 0, 0, 0, 25, 0, 0, 0]
    >>> mean_test(rewards, [0, 1] * 6).p_value > 0.9
    True
    >>> mean_test([1, 2, 1, 2, 1, 2, 9, 8, 9, 8, 9, 8], [0] * 6 + [1] * 6).p_value < 0.01
    True
    """
    values = _column("rewards", rewards, np.float64)
    groups = _column("arms", arms, np.int64)
    cells = np.zeros(len(values), dtype=np.int64) if strata is None else _column("strata", strata, np.int64)
    if not len(values) == len(groups) == len(cells):
        raise OptionError(f"{len(values)} rewards, {len(groups)} arms, {len(cells)} strata; expected as many of each")
    if not np.all(np.isfinite(values)) or (len(groups) and min(groups.min(), cells.min()) < 0):
        raise OptionError("rewards must be finite, arms and strata whole numbers from 0")
    draws = whole_number("draws", draws, 1, MOST_DRAWS)
    rng = np.random.default_rng(whole_number("seed", seed, 0))
    return compared_means(values, groups, cells, draws, rng)


def _column(name: str, given: ArrayLike, kind: type) -> np.ndarray:
    try:
        found = np.asarray(given)
        if found.ndim == 1 and (kind is np.float64 or found.dtype.kind in "iub" or not len(found)):
            return found.astype(kind)
    except (ArithmeticError, TypeError, ValueError):
        pass
    what = "numbers" if kind is np.float64 else "whole numbers"
    raise OptionError(f"{name} is not a list of {what}, one per row")


def compared_means(
    values: Floats, groups: Ints, strata: Ints, draws: int, rng: np.random.Generator
) -> IndependenceResult:
    """`mean_test` of columns that were checked; values are first scaled, so that squares stay finite."""
    order = np.argsort(strata, kind="stable")
    cells = strata[order]
    edges = np.flatnonzero(np.diff(cells)) + 1
    ends = np.concatenate(([0], edges, [len(cells)])).astype(np.int64)
    centre = values.mean() if len(values) else 0.0
    unit = max(float(np.abs(values - centre).max(initial=0.0)), 1e-300)
    scaled = (values[order] - centre) / unit
    statistic, dof, p_value = permuted_means(scaled, np.ascontiguousarray(groups[order]), ends, draws, rng)
    return IndependenceResult(float(statistic), int(dof), float(p_value))

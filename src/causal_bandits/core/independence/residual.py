"""The residual test of Peters, Buehlmann and Meinshausen 2016 (sec. 3.1.2, Method II), from moments.

Null hypothesis: given S, the reward follows one linear equation with one noise distribution in every environment
(arm). One least squares regression of the reward on S, with intercept, is fitted to all environments together; the
residuals of each environment e are then compared with those of the rest by Welch's t-test of the means and by the
two-sided F-test of the variances with (rows of e - 1, rows of the rest - 1) degrees of freedom:

    p = min(1, 2 k min over e of min(p_t, p_F)).

Deviation: the paper has k = number of environments. R's InvariantCausalPrediction and causalicp take one less, and so
does ``factor="environments-1"``, the default: right with two environments (both comparisons are then the same one),
slightly above its level with more (.065 instead of .05 with three, .057 with four, .054 with eight; 20000 replicates).
``factor="environments"`` holds the level.

Where data are thin or degenerate:

- An environment with fewer than 3 rows is left out altogether, of the regression too: the answer is the one for the
  other environments. causalicp has no such rule.
- Fewer than two environments, or no more rows than coefficients (the fit is then perfect whatever the truth), or a
  perfect fit in all environments, or numbers so large (1e150) that their squares are not finite: no evidence; the
  p-value is 1 and `dof` 0.
- Constant columns, and columns that others determine, do not change the fit: they get the coefficient 0.
- No residual variance in one of the two samples only, or in neither but different means: p = 0.

"No variance" means no more than rounding leaves: a share of 1e-12, and more where values lie far from zero.
"""

import math
from collections.abc import Sequence
from typing import Any, Literal, NamedTuple, get_args

import numpy as np
from numpy.typing import NDArray

from ...errors import OptionError, brief
from ...libraries import special
from ..compiled import Bools, Floats, Ints, compiled
from ..data import ArmMoments, merge_groups
from .g_squared import IndependenceResult

Factor = Literal["environments-1", "environments"]

FEWEST_ROWS = 3
NEGLIGIBLE = 1e-12
ROUNDING = 2e-15
"""Relative error of a sum of squared deviations, per ratio of mean to standard deviation (8 machine epsilons)."""
LOST = 0.01
"""A column whose variance is rounding to this share counts as constant."""
SMALLEST = float(np.finfo(np.float64).tiny)


def check_factor(factor: str) -> None:
    """Validate `factor`."""
    if factor not in get_args(Factor):
        raise OptionError(f"factor={brief(factor)}; expected one of {', '.join(get_args(Factor))}")


class Comparisons(NamedTuple):
    """Residuals of each arm and of the rest of its group; all arrays (sets, arms)."""

    rest_rows: Ints
    """0 where an arm was not compared."""
    gap: Floats
    """Mean of the arm's residuals minus mean of the rest's."""
    scatter: Floats
    """Sum of squared deviations from the mean, of the arm's residuals."""
    rest_scatter: Floats


@compiled
def rounding(scale: float, offset: float) -> float:
    """What rounding leaves of a sum of squares that should be zero, from spread `scale` and means squared `offset`."""
    return NEGLIGIBLE * scale + ROUNDING * math.sqrt(scale) * math.sqrt(offset)


@compiled
def _usable(rows: int, mean: Floats, scatter: Floats, chosen: Bools, kept: Ints) -> tuple[int, float]:
    """Put the chosen columns that survive rounding into `kept`; gives their number and the largest share lost."""
    count, tolerance = 0, 0.0
    for column in range(len(kept)):
        spread = scatter[column, column]
        if chosen[column] and spread > 0:
            share = rounding(spread, rows * mean[column] ** 2) / spread
            if share < LOST:
                kept[count] = column
                count += 1
                tolerance = max(tolerance, share)
    return count, tolerance


@compiled
def _factorise(scatter: Floats, kept: Ints, count: int, tolerance: float, work: Floats) -> int:
    """Rows of `work`: of the Cholesky factor of the correlations, then the solved right-hand side; gives the rank."""
    last = len(kept)
    rank = 0
    for place in range(count):
        column = kept[place]
        unit = math.sqrt(scatter[column, column])
        left = 1.0
        for before in range(rank):
            other = kept[before]
            value = scatter[column, other] / unit / math.sqrt(scatter[other, other])
            for inner in range(before):
                value -= work[rank, inner] * work[before, inner]
            work[rank, before] = value / work[before, before]
            left -= work[rank, before] ** 2
        if left <= tolerance:
            continue
        kept[rank] = column
        work[rank, rank] = math.sqrt(left)
        value = scatter[column, last] / unit
        for before in range(rank):
            value -= work[rank, before] * work[before, last]
        work[rank, last] = value / work[rank, rank]
        rank += 1
    return rank


@compiled
def _regress(rows: int, mean: Floats, scatter: Floats, chosen: Bools, weights: Floats, work: Floats) -> int:
    """The residual as `weights` of the columns (reward last: 1); gives the rank of the chosen columns.

    Cholesky on the correlations; a column is skipped when the columns before it leave nothing of its variance.
    """
    last = len(mean) - 1
    weights[:] = 0.0
    weights[last] = 1.0
    kept = np.empty(last, dtype=np.int64)
    count, tolerance = _usable(rows, mean, scatter, chosen, kept)
    rank = _factorise(scatter, kept, count, tolerance, work)
    for place in range(rank - 1, -1, -1):
        value = work[place, last]
        for after in range(place + 1, rank):
            value -= work[after, place] * work[after, last]
        work[place, last] = value / work[place, place]
        weights[kept[place]] = -work[place, last] / math.sqrt(scatter[kept[place], kept[place]])
    return rank


@compiled
def _residuals(
    moments: ArmMoments, arm: int, centre: Floats, scatter: Floats, rows: int, weights: Floats
) -> tuple[float, float, float]:
    """Mean and scatter of the residuals in one arm, and how much of that scatter may be rounding."""
    count = moments.counts[arm]
    mean, own, scale, offset = 0.0, 0.0, 0.0, 0.0
    for one in range(len(weights)):
        if weights[one] == 0:
            continue
        mean += weights[one] * (moments.means[arm, one] - centre[one])
        for other in range(len(weights)):
            own += weights[one] * weights[other] * moments.scatter[arm, one, other]
        spread = moments.scatter[arm, one, one] + scatter[one, one] * count / rows
        scale += weights[one] ** 2 * spread
        offset += weights[one] ** 2 * count * moments.means[arm, one] ** 2
    return mean, max(own, 0.0), rounding(scale, offset)


@compiled
def _merge(counts: Ints, arms: Ints, residuals: Floats, leave_out: int) -> tuple[int, float, float, float]:
    """Rows, mean, scatter and rounding of the residuals of all `arms` but one."""
    rows, mean, scatter, noise = 0, 0.0, 0.0, 0.0
    for other in range(len(arms)):
        if other == leave_out:
            continue
        count = counts[arms[other]]
        gap = residuals[other, 0] - mean
        share = count / (rows + count)
        scatter += residuals[other, 1] + gap * gap * rows * share
        mean += gap * share
        noise += residuals[other, 2]
        rows += count
    return rows, mean, scatter, noise


@compiled
def compare_residuals(moments: ArmMoments, chosen: Bools, group: Ints) -> Comparisons:
    """For each set of columns (rows of `chosen`): a regression in each group of arms, and every arm against the rest.

    `group` holds for each arm the number of its group.
    """
    sets, arms = len(chosen), len(group)
    width = moments.means.shape[1]
    found = Comparisons(
        np.zeros((sets, arms), dtype=np.int64), np.zeros((sets, arms)), np.zeros((sets, arms)), np.zeros((sets, arms))
    )
    weights = np.empty(width)
    work = np.empty((width, width))
    for number in range(group.max() + 1):
        member = (group == number) & (moments.counts >= FEWEST_ROWS)
        places = np.flatnonzero(member)
        if len(places) < 2:
            continue
        merged = merge_groups(moments, np.where(member, 0, 1))
        rows, mean, scatter = merged.counts[0], merged.means[0], merged.scatter[0]
        if not np.all(np.isfinite(scatter)):
            continue
        residuals = np.empty((len(places), 3))
        for place in range(sets):
            rank = _regress(rows, mean, scatter, chosen[place], weights, work)
            if rows <= rank + 1:
                continue
            for this in range(len(places)):
                gap, left, noise = _residuals(moments, places[this], mean, scatter, rows, weights)
                residuals[this, 0], residuals[this, 1], residuals[this, 2] = gap, left, noise
            _, _, total, noise = _merge(moments.counts, places, residuals, -1)
            if total <= noise:
                continue
            for this, arm in enumerate(places):
                rest_rows, rest_mean, rest, noise = _merge(moments.counts, places, residuals, this)
                found.rest_rows[place, arm] = rest_rows
                found.gap[place, arm] = residuals[this, 0] - rest_mean
                found.scatter[place, arm] = residuals[this, 1] if residuals[this, 1] > residuals[this, 2] else 0.0
                found.rest_scatter[place, arm] = rest if rest > noise else 0.0
    return found


def smallest_p_values(counts: Ints, found: Comparisons) -> Floats:
    """(sets, arms): the smaller of the p-values of the t-test and the F-test; 1 where an arm was not compared."""
    smallest = np.ones(found.gap.shape)
    used = found.rest_rows > 0
    rows, rest_rows = np.broadcast_to(counts, used.shape)[used], found.rest_rows[used]
    gap, scatter, rest = found.gap[used], found.scatter[used], found.rest_scatter[used]
    variance, rest_variance = scatter / (rows - 1) / rows, rest / (rest_rows - 1) / rest_rows
    both = variance + rest_variance
    share = variance / np.maximum(both, SMALLEST)
    welch = 1 / (share**2 / (rows - 1) + (1 - share) ** 2 / (rest_rows - 1))
    tail = welch * both / np.maximum(welch * both + gap**2, SMALLEST)
    p_t = special.betainc(welch / 2, 0.5, tail)  # P(|T| > |t|) with t^2 = gap^2 / both
    total = np.maximum(scatter + rest, SMALLEST)
    below = special.betainc((rows - 1) / 2, (rest_rows - 1) / 2, scatter / total)  # P(F < ratio of the variances)
    above = special.betainc((rest_rows - 1) / 2, (rows - 1) / 2, rest / total)
    smallest[used] = np.minimum(p_t, 2 * np.minimum(below, above))
    return smallest


def residual_tests(
    moments: ArmMoments, chosen: Bools, groups: Ints, *, factor: Factor = "environments-1"
) -> dict[str, NDArray[Any]]:
    """The fields of an `IndependenceResult`, each (sets, tests): every test given every set of columns.

    `groups[t]` holds for each arm the number of its group in test t: a regression is fitted in each group, whose arms
    are the environments. Groups with evidence are combined by Bonferroni. The statistic is 2 ln(1 / p) of the most
    extreme single comparison (at most 1417); `dof` is the number of environments minus one, summed over the groups
    with evidence, so that 0 means no evidence.
    """
    check_factor(factor)
    shape = len(chosen), len(groups)
    found = {"statistic": np.zeros(shape), "dof": np.zeros(shape, dtype=np.int64), "p_value": np.ones(shape)}
    for test, group in enumerate(groups):
        order = np.argsort(group, kind="stable")
        starts = np.flatnonzero(np.diff(group[order], prepend=-1))
        compared = compare_residuals(moments, chosen, group)
        smallest = np.minimum.reduceat(smallest_p_values(moments.counts, compared)[:, order], starts, axis=1)
        environments = np.add.reduceat((compared.rest_rows > 0)[:, order], starts, axis=1, dtype=np.int64)
        k = environments - 1 if factor == "environments-1" else environments
        corrected = np.where(environments > 0, 2 * k * smallest, 1.0).min(axis=1)
        evidence = np.count_nonzero(environments, axis=1)
        found["p_value"][:, test] = np.where(evidence > 0, np.minimum(1.0, evidence * corrected), 1.0)
        found["dof"][:, test] = np.maximum(environments - 1, 0).sum(axis=1)
        found["statistic"][:, test] = 2 * np.log(1 / np.maximum(smallest.min(axis=1), SMALLEST))
    return found


def residual_test(
    moments: ArmMoments, columns: Sequence[int], *, group: Ints | None = None, factor: Factor = "environments-1"
) -> IndependenceResult:
    """Test one set of design columns with all arms as environments, or within groups of arms.

    >>> means, scatter = np.array([[0.0, 0.0], [1.0, 1.0]]), np.array([[50.0, 50.0], [50.0, 60.0]])
    >>> moments = ArmMoments(np.array([50, 50]), means, np.array([scatter, scatter]))
    >>> round(residual_test(moments, []).p_value, 6), round(residual_test(moments, [0]).p_value, 6)
    (3.5e-05, 1.0)
    """
    chosen = np.zeros((1, moments.means.shape[1] - 1), dtype=np.bool_)
    chosen[0, list(columns)] = True
    group = np.zeros(len(moments.counts), dtype=np.int64) if group is None else group
    found = residual_tests(moments, chosen, group[None], factor=factor)
    return IndependenceResult(**{name: array[0, 0].item() for name, array in found.items()})

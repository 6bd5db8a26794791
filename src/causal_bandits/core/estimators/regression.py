"""Sharing with linear regression: eq. 2 and 6 for real-valued rewards, with the variance in closed form.

Through a set S, the mean of an arm is  m_a = y_p + (x_a - x_p)' b,  with x_a the arm's own mean of S, and x_p, y_p, b
the means and least squares coefficients of the pool of arms that may share. A row i of arm k in the pool moves it by

    e_i (1 / N + g' (x_i - x_p)) + [k = a] b' x_i / n_a,      g = Sxx^-1 (x_a - x_p),

with e_i its residual. Of rows whose reward is pending, x is known: they count in x_a and n_a, and in no residual. The
variance is the sum over rows of what that varies within its arm, which a bootstrap that
resamples within arms converges to. Products of e and x are taken as if both were normal within an arm, so that means
and cross-products are all that is needed.

Deviation: the paper takes the variance of 50 bootstraps; that is `bootstrap_variance`.
"""

from collections.abc import Iterable
from typing import NamedTuple

import numpy as np

from ..compiled import Floats, Ints, by_reference, compiled
from ..data import ArmMoments, DesignLayout, History, add_row, add_rows, merge_groups
from ..data.moments import COLLINEAR
from ..discovery import Findings
from ..validation import validated


@by_reference
class RealPools(NamedTuple):
    """The accepted sets: their design columns, and which arms share through them."""

    columns: Ints
    """(accepted sets, most columns): -1 where there are fewer."""
    widths: Ints
    """(accepted sets,)."""
    groups: Ints
    """(accepted sets, arms): arms with equal numbers share."""
    sets: Ints
    """(accepted sets,): which set of the layout."""


class Fit(NamedTuple):
    """A pooled regression: rows, mean of columns and reward, inverse of the columns' cross-products, coefficients."""

    rows: int
    means: Floats
    inverse: Floats
    slopes: Floats
    residual_sum: float
    """The sum of squared residuals."""


@compiled
def _inverse(scatter: Floats, columns: Ints) -> Floats:
    """Inverse of the columns' cross-products by sweeping; collinear rows and columns come out as 0."""
    size = len(columns)
    swept = np.empty((size, size))
    for one in range(size):
        for other in range(size):
            swept[one, other] = -scatter[columns[one], columns[other]]
    for pivot in range(size):
        value = swept[pivot, pivot]
        if not -value > COLLINEAR * scatter[columns[pivot], columns[pivot]]:
            swept[pivot, :] = 0.0
            swept[:, pivot] = 0.0
            continue
        for row in range(size):
            if row != pivot:
                share = swept[row, pivot] / value
                for column in range(size):
                    if column != pivot:
                        swept[row, column] -= share * swept[pivot, column]
                swept[row, pivot] = share
        for column in range(size):
            if column != pivot:
                swept[pivot, column] = swept[column, pivot]
        swept[pivot, pivot] = -1.0 / value
    return swept


@compiled
def fit_pool(pooled: ArmMoments, group: int, columns: Ints) -> Fit:
    """Least squares of the reward on some columns over the rows of a group of arms (see `merge_groups`)."""
    scatter = pooled.scatter[group]
    inverse = _inverse(scatter, columns)
    slopes = np.zeros(len(columns))
    residual_sum = scatter[-1, -1]
    for one in range(len(columns)):
        for other in range(len(columns)):
            slopes[one] += inverse[one, other] * scatter[columns[other], -1]
        residual_sum -= slopes[one] * scatter[columns[one], -1]
    return Fit(pooled.counts[group], pooled.means[group], inverse, slopes, max(residual_sum, 0.0))


@compiled
def mean_through(moments: ArmMoments, fit: Fit, columns: Ints, arm: int) -> float:
    """The mean of an arm through a pooled regression (eq. 2, eq. 6)."""
    result = fit.means[-1]
    for place in range(len(columns)):
        result += fit.slopes[place] * (moments.means[arm, columns[place]] - fit.means[columns[place]])
    return float(result)


class Spread(NamedTuple):
    """What the rows of a pool contribute to the variance of any arm's mean, as a quadratic form in g."""

    constant: float
    linear: Floats
    square: Floats


@compiled
def pool_spread(moments: ArmMoments, members: Ints, fit: Fit, columns: Ints) -> Spread:
    """Sum over the arms of the pool; e and x as if normal within an arm, with mean m, variance v and covariance c."""
    size = len(columns)
    constant, linear, square = 0.0, np.zeros(size), np.zeros((size, size))
    away, joint = np.empty(size), np.empty(size)
    for arm in members:
        rows = moments.counts[arm]
        if rows == 0:
            continue
        scatter = moments.scatter[arm]
        mean = moments.means[arm, -1] - fit.means[-1]
        variance = scatter[-1, -1]
        for place in range(size):
            away[place] = moments.means[arm, columns[place]] - fit.means[columns[place]]
            joint[place] = scatter[columns[place], -1]
            for other in range(size):
                joint[place] -= scatter[columns[place], columns[other]] * fit.slopes[other]
            mean -= fit.slopes[place] * away[place]
            variance -= fit.slopes[place] * (scatter[columns[place], -1] + joint[place])
            joint[place] /= rows
        variance = max(variance, 0.0) / rows
        constant += rows * variance / fit.rows**2
        for one in range(size):
            linear[one] += 2.0 * rows / fit.rows * (variance * away[one] + mean * joint[one])
            for other in range(one + 1):
                square[one, other] += (mean**2 + variance) * scatter[columns[one], columns[other]] + rows * (
                    variance * away[one] * away[other]
                    + mean * (away[one] * joint[other] + joint[one] * away[other])
                    + joint[one] * joint[other]
                )
    for one in range(size):
        for other in range(one):
            square[other, one] = square[one, other]
    return Spread(constant, linear, square)


@compiled
def variance_through(
    moments: ArmMoments, seen: ArmMoments, fit: Fit, spread: Spread, columns: Ints, arm: int, weights: Floats
) -> float:
    """The variance of `mean_through`, by the formula at the top; `weights` is room for g."""
    size = len(columns)
    rows = seen.counts[arm]
    scatter = moments.scatter[arm]
    mean_e, mean_v = moments.means[arm, -1] - fit.means[-1], 1.0 / fit.rows
    for one in range(size):
        weights[one] = 0.0
        for other in range(size):
            away = seen.means[arm, columns[other]] - fit.means[columns[other]]
            weights[one] += fit.inverse[one, other] * away
    total, with_e, with_v, fitted, fitted_seen = spread.constant, 0.0, 0.0, 0.0, 0.0
    for one in range(size):
        away = moments.means[arm, columns[one]] - fit.means[columns[one]]
        mean_e -= fit.slopes[one] * away
        mean_v += weights[one] * away
        total += spread.linear[one] * weights[one]
        with_e += fit.slopes[one] * scatter[columns[one], -1]
        for other in range(size):
            total += weights[one] * spread.square[one, other] * weights[other]
            with_v += weights[one] * scatter[columns[one], columns[other]] * fit.slopes[other]
            fitted += fit.slopes[one] * scatter[columns[one], columns[other]] * fit.slopes[other]
            fitted_seen += fit.slopes[one] * seen.scatter[arm, columns[one], columns[other]] * fit.slopes[other]
    # The arm's own rows also move its mean of S: b' x / n_a, which goes together with their residuals e = y - b' x.
    total += (2.0 * (mean_e * with_v + mean_v * (with_e - fitted)) + fitted_seen / rows) / rows
    return float(max(total, 0.0))


@compiled
def own_mean_and_variance(moments: ArmMoments, arm: int) -> tuple[float, float]:
    """An arm's sample mean and the variance of that mean; infinite below two rows."""
    rows = moments.counts[arm]
    mean = moments.means[arm, -1]
    if rows < 2:
        return mean, np.inf
    return mean, moments.scatter[arm, -1, -1] / (rows - 1) / rows


@compiled
def enough_rows(moments: ArmMoments, seen: ArmMoments, fit: Fit, arm: int) -> bool:
    """Whether a pooled regression says anything about an arm: two own rows, and rows left to judge by.

    Without mediators a row says nothing before its reward.
    """
    own = seen if len(fit.slopes) > 0 else moments
    return bool(own.counts[arm] >= 2 and fit.rows >= len(fit.slopes) + 3)


@compiled
def by_group(groups: Ints, count: int) -> tuple[Ints, Ints]:
    """Arms (or rows by arm) group by group and otherwise in their order, and where each group begins and ends.

    Plain loops: numba takes seconds to compile what numpy says in one line.
    """
    ends = np.zeros(count + 2, dtype=np.int64)
    for group in groups:
        ends[group + 2] += 1
    for group in range(2, count + 2):
        ends[group] += ends[group - 1]
    order = np.empty(len(groups), dtype=np.int64)
    for arm in range(len(groups)):
        order[ends[groups[arm] + 1]] = arm
        ends[groups[arm] + 1] += 1
    return order, ends[:-1]


@compiled
def means_through(
    moments: ArmMoments, seen: ArmMoments, pools: RealPools, with_variance: bool
) -> tuple[Floats, Floats]:
    """(accepted sets, arms): means through every set, and their variances (or 0); infinite if it says nothing.

    `seen` has the rows whose reward is pending besides: own means of S are over these.
    """
    sets, arms = pools.groups.shape
    means = np.zeros((sets, arms))
    variances = np.full((sets, arms), np.inf)
    weights = np.empty(pools.columns.shape[1])
    for index in range(sets):
        columns = pools.columns[index, : pools.widths[index]]
        groups = pools.groups[index]
        if index == 0 or not np.array_equal(groups, pools.groups[index - 1]):
            pooled = merge_groups(moments, groups)
            order, ends = by_group(groups, len(pooled.counts))
        for group in range(len(pooled.counts)):
            members = order[ends[group] : ends[group + 1]]
            fit = fit_pool(pooled, group, columns)
            if with_variance:
                spread = pool_spread(moments, members, fit, columns)
            for arm in members:
                if enough_rows(moments, seen, fit, arm):
                    means[index, arm] = mean_through(seen, fit, columns, arm)
                    variances[index, arm] = 0.0
                    if with_variance:
                        variances[index, arm] = variance_through(moments, seen, fit, spread, columns, arm, weights)
    return means, variances


@compiled
def _resample(
    moments: ArmMoments, ends: Ints, order: Ints, values: Floats, drawn: ArmMoments, rng: np.random.Generator
) -> None:
    """As many rows of every arm as there are, drawn with replacement; `order` lists rows arm by arm up to `ends`."""
    drawn.counts[:] = 0
    drawn.means[:, :] = 0.0
    drawn.scatter[:, :, :] = 0.0
    for arm in range(len(ends)):
        rows = moments.counts[arm]
        for _ in range(rows):
            add_row(drawn, arm, values[order[ends[arm] - 1 - int(rng.random() * rows)]])


@compiled
def bootstrap_variance(
    moments: ArmMoments, pools: RealPools, arms: Ints, values: Floats, samples: int, rng: np.random.Generator
) -> Floats:
    """(accepted sets, arms): variance of the means over bootstraps that resample within arms, as the paper has it."""
    order, ends = by_group(arms, len(moments.counts))
    centre, variance = means_through(moments, moments, pools, False)
    total, squares = np.zeros(centre.shape), np.zeros(centre.shape)
    drawn = ArmMoments(np.empty_like(moments.counts), np.empty_like(moments.means), np.empty_like(moments.scatter))
    for _ in range(samples):
        _resample(moments, ends[1:], order, values, drawn, rng)
        means = means_through(drawn, drawn, pools, False)[0]
        for index in range(centre.shape[0]):
            for arm in range(centre.shape[1]):
                away = means[index, arm] - centre[index, arm]
                total[index, arm] += away
                squares[index, arm] += away * away
    for index in range(centre.shape[0]):
        for arm in range(centre.shape[1]):
            spread = (squares[index, arm] - total[index, arm] ** 2 / samples) / (samples - 1)
            variance[index, arm] = max(variance[index, arm], spread)
    return variance


def real_pools(findings: Findings) -> RealPools:
    """Pools along the sets that separate at least one intervention variable."""
    layout, sets = findings.layout, findings.used
    if not isinstance(layout, DesignLayout):
        raise TypeError("real pools need the findings of a real-valued problem")
    names = layout.problem.intervention_names
    widths = np.array([len(layout.columns[index]) for index in sets], dtype=np.int64)
    columns = np.full((len(sets), widths.max(initial=0)), -1, dtype=np.int64)
    groups = np.zeros((len(sets), len(layout.problem.arms)), dtype=np.int64)
    for row, index in enumerate(sets):
        columns[row, : widths[row]] = layout.columns[index]
        rest = [name for name, yes in zip(names, findings.separated[index], strict=True) if not yes]
        groups[row] = layout.problem.arm_groups(rest)
    return RealPools(columns, widths, groups, sets)


@validated
def linear_sharing(history: History, variables: Iterable[str], separated: Iterable[str] | None = None) -> Floats:
    """The mean of each arm through S by linear regression; NaN for an arm that S says nothing about.

    >>> from causal_bandits import Problem
    >>> history = History(Problem("Y", {"A": float}, {"I": 2}, reward=float))
    >>> rows = [(0, 0.0, 0.1), (0, 1.0, 1.0), (1, 2.0, 2.1), (1, 3.0, 2.8)]
    >>> _ = history.extend(history.encode_many([dict(I=i, A=a, Y=y) for i, a, y in rows]))
    >>> linear_sharing(history, ["A"]).round(2).tolist()
    [0.58, 2.42]
    """
    problem = history.problem
    chosen = frozenset((variables,) if isinstance(variables, str) else variables)
    layout = DesignLayout.of(problem, len(chosen))
    moments = layout.empty()
    rows = history.rows
    whole = np.all(rows.codes[:, list(layout.members[layout.find(chosen)])] >= 0, axis=1)
    add_rows(moments, rows.arms[whole], layout.design(rows)[whole])
    names = problem.intervention_names
    shared = set(names) if separated is None else {problem.intervention(name).name for name in separated}
    if not shared:
        return np.where(moments.counts > 0, moments.means[:, -1], np.nan)
    index, groups = layout.find(chosen), problem.arm_groups([name for name in names if name not in shared])
    columns = layout.columns[index]
    pools = RealPools(columns[None], np.array([len(columns)]), groups[None], np.array([index]))
    means, variances = means_through(moments, moments, pools, True)
    return np.where(np.isfinite(variances[0]), means[0], np.nan)

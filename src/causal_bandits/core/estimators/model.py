"""The model of the default policy: what every set of mediators says about all arms' means (docs/explanation/model.md).

For a set S the mean reward of arm a in the cell S = s, and the mean of the arm, are

    E[Y | s, a] = m_s + b_s d_a,        mean of arm a = sum over s of P(s | a) (m_s + b_s d_a)

where m_s is shared by all arms and d_a is the difference that S leaves unexplained: on the scale of log-odds for
rewards between two values, of logarithms for counts and revenue, of standard deviations for numbers, so b_s is the
derivative of the inverse link at m_s. A difference is a sum of lever effects and a deviation of the arm,

    d_a = sum over levers of effect[level of the lever] + deviation_a,    effect ~ N(0, eta^2), deviation ~ tau t(4)

or 0 for all arms: S separates. The scales (eta, tau) and "separates" have a prior, and their posterior is a mixture
over a grid. The empty set is the special case in which arms share nothing but levers and a common level.

P(s | a) is needed only through x_a = sum over s of P(s | a) m_s, the index. It has a mixture over scales of lever
effects too; an arm's own rows measure it with the variance of a Dirichlet posterior of a learned concentration, so one
row is one row, whatever the other arms did.

Every set gives a posterior of all means. They are averaged, each with the weight of one over the mean variance of the
arms' means. What arms share (scales, m, lever effects) is drawn jointly for all arms; what is left, the deviation of an
arm, has the skewed conjugate posterior of its kind of reward.
"""

import math
from typing import Any, NamedTuple

import numpy as np

from ..compiled import Floats, Ints, by_reference, compiled, loops_of
from ..data import CellTables
from .linear_algebra import (
    beside,
    copy_to,
    less_grams,
    log_diagonals,
    normal_equations,
    over_columns,
    over_rows,
    roots_of,
    solutions,
    squares,
)
from .random_arrays import log_rising
from .reward_shapes import (
    BOUNDED,
    NUMBER,
    RewardStats,
    conjugate,
    draw_conjugate,
    from_link,
    into_range,
    learn_dispersion,
    one_more,
    own_dispersion,
    row_variance,
    slope_at,
    to_link,
)

ETA = np.array([0.0, 0.1, 0.3, 0.8])
TAU = np.array([0.03, 0.1, 0.3, 0.6, 1.2])
EFFECTS, DEVIATIONS = np.tile(ETA, len(TAU)), np.repeat(TAU, len(ETA))
"""The standard deviations of lever effects and the scales of deviations at every point of the grid."""
FACTORS = 4.0 / np.array([1.064, 2.195, 3.357, 4.878, 7.779])
"""Deviations have Student's t with 4 degrees of freedom, so that a few arms may be unlike all others: the variance of
each is that of the grid point times one of these factors, 4 over the deciles 1, 3, 5, 7 and 9 of chi-squared."""
TYPICAL, FACTOR = 0.18, 0.60
"""The standard deviation of log-odds between the arms of a test: median, and sigma of its logarithm, in 4,871 headline
tests of the Upworthy archive. The prior is Cauchy on the logarithmic scale, since other tests have larger effects."""
EQUAL = 0.05
"""Prior probability that all arms are equal: the share of those tests with no difference."""
SEPARATES = 0.5
"""Prior probability that a set separates."""
CONCENTRATIONS = np.array([0.05, 0.5, 5.0, 50.0, 500.0])
"""The grid of the concentration of the Dirichlet prior of P(S | arm), in rows: from arms that have nothing in common to
arms that are nearly alike, as in a funnel, where most of them have no row yet in a rare cell."""
SATURATION = 10.0
"""An arm counts for a cell's plug-in mean as at most this many rows, so that one arm does not stand for all."""
LEVEL = 4.0
"""Prior variance of the common level of the index, in squared units of a difference."""
NOTHING = 1e-10
"""A variance of effects that stands for 0."""
LEAST_EFFECT = 1e-6
EDGE = 0.02
"""Means are kept this share of the mean over arms away from the ends of the reward's range."""
WIDEST = 2.0
"""The largest variance of a log-normal draw: with more its mean would be above its 95% interval."""
MOST_CELLS = 64
"""Sets with more joint values are left out: they have few rows of each."""
PASSES = 2
"""The mean over arms and the noise depend on each other: the empty set is fitted this often."""
NONE = len(EFFECTS)
"""The grid point "all differences are 0"; it is the last one."""
EFFECT_VARIANCES = np.append(np.maximum(EFFECTS**2, LEAST_EFFECT), NOTHING)
DEVIATION_VARIANCES = np.append(DEVIATIONS**2, 0.0)
"""(points + 1,): of every grid point."""
TAU_VARIANCES = np.append(TAU**2, 0.0)
TAU_OF = np.append(np.repeat(np.arange(len(TAU)), len(ETA)), len(TAU))
"""(points + 1,): which of TAU_VARIANCES a grid point has."""


@by_reference
class Levers(NamedTuple):
    """The levers of all arms."""

    design: Floats
    """(arms, levels of all levers): 1 where an arm has the level; no columns where there is a single lever."""
    several: int
    """How many levers there are; 0 where there is a single one, which has no effects apart from deviations."""


class SetData(NamedTuple):
    """What is read from the table of one set."""

    own: Floats
    """(arms,): rows with a reward."""
    cell_precision: Floats
    """(arms, cells): of the mean reward of an arm in a cell; 0 without rows."""
    values: Floats
    """(arms, cells): the mean reward."""
    residual: Floats
    """(arms,): mean reward less the mean index of these rows."""
    mean: Floats
    """(cells,): plug-in estimate of E[Y | S = s]."""
    start: Floats
    """(cells,): prior mean of E[Y | S = s]."""
    prior: Floats
    """(cells,): prior precision."""
    slope: Floats
    """(cells,): b_s, what one unit of a difference is worth; 0: the mean of the cell is known exactly."""
    shares: Floats
    """(arms, cells): P(s | arm), 0 for cells whose mean is known exactly."""
    indices: Floats
    """(arms,): mean of `mean` over the rows of an arm."""
    precision: Floats
    """(arms,): of that as a measurement of x_a."""
    middle: float
    """The index of the average arm."""
    gain: Floats
    """(arms,): mean of `slope` over the rows of an arm."""
    within: Floats
    """(arms,): mean variance of a reward in the cells of the rows of an arm."""


class Regression(NamedTuple):
    """Weighted least squares of cell means and lever effects, with deviations of arms still to be integrated out.

    The unknowns are the cells, then the effects. The normal equations are augmented: the last row and column of
    `matrix` belong to the response, so the last row of a Cholesky factor of it is that factor's solution, and the last
    number of that row is the square root of the weighted sum of squares that is left.
    """

    cells: int
    matrix: Floats
    """(unknowns + 1, unknowns + 1): normal equations without deviations."""
    direction: Floats
    """(arms, unknowns + 1): what the deviation of an arm adds to them."""
    info: Floats
    """(arms,): how precisely the rows of an arm measure its deviation."""


class Moments(NamedTuple):
    """Of all arms, (arms,) each: what they share of a mean, before their own deviations, and the mean itself."""

    shared: Floats
    shared_variance: Floats
    mean: Floats
    variance: Floats


@by_reference
class Fit(NamedTuple):
    """What was learned from the counts: see the top for the model."""

    rate: Floats
    """(1,): mean over arms."""
    weights: Floats
    """(sets,): how much a set counts in the average over sets."""
    index_scales: Floats
    """(sets, grid points): weights."""
    difference_scales: Floats
    """(sets, grid points + 1): weights; the last one is the probability that the set separates."""
    shared: Floats
    shared_variances: Floats
    """(sets, arms) each: mean and variance of what arms share of a mean, before the arm's deviation."""
    means: Floats
    variances: Floats
    """(sets, arms) each: posterior mean and variance of an arm's mean."""
    precision: Floats
    """(sets, arms): as in `SetData`."""


def empty_fit(sets: int, arms: int) -> Fit:
    """A fit that knows nothing."""
    per_arm = [np.zeros((sets, arms)) for _ in range(5)]
    return Fit(np.zeros(1), np.zeros(sets), np.zeros((sets, NONE)), np.zeros((sets, NONE + 1)), *per_arm)


def levers_of(codes: Ints, sizes: Ints) -> Levers:
    """Levers with these levels; a single lever is the arm itself, and has no effects apart from deviations."""
    several = len(sizes) if len(sizes) > 1 else 0
    columns = [codes[:, lever, None] == np.arange(sizes[lever]) for lever in range(several)]
    return Levers(np.hstack([np.zeros((len(codes), 0)), *columns]), several)


# Reading a table


@compiled
def read_set(tables: CellTables, place: int, stats: RewardStats, rate: float, known: Floats) -> SetData:
    """Everything about one set that does not depend on scales; `known`, if not empty, is the precision of the index."""
    arms, cells, hurdle = tables.arms, tables.cells[place], place >= tables.plain
    rows, values, scatters = _table(tables, place)
    counts = rows + _pending(tables, place)
    zero = np.arange(cells) < (cells // 2 if hurdle else 0)  # cells in which every reward is 0

    counted = SATURATION * rows / (SATURATION + rows)
    total, weight, scatter = over_rows(counted * values), over_rows(counted), over_rows(scatters)
    if hurdle:
        amount, spread = _amounts(tables, stats)
        start, usual = np.full(cells, amount), np.full(cells, spread)
        prior = usual
    else:
        start, prior = np.full(cells, rate), np.full(cells, row_variance(stats, rate))
        # A few rows without a reward do not say that there is none: Jeffreys' half an event for the variance.
        usual = row_variance(stats, (total + one_more(stats)) / (weight + 1)) if cells > 1 else prior
        prior = np.maximum(prior, usual)
    mean = np.where(zero, 0.0, (total + start) / (weight + 1)) if cells > 1 else start
    # Rewards that are all equal do not say how much they vary.
    says = np.full(cells, not stats.fixed) & ((scatter > 0) | (stats.shape == NUMBER))
    freedom, steady = over_rows(np.maximum(rows - 1, 0.0)), stats.steady[0]
    noise = np.where(zero, 0.0, np.where(says, (scatter + steady * usual) / (freedom + steady), usual))
    slope = np.where(zero, 0.0, slope_at(stats, mean))
    if stats.shape != NUMBER:
        # One more row in all, so that zeros everywhere mean "less than one in all these rows" and not "never".
        more = 1 / (stats.rows[0] + 1)
        values = np.where(zero, 0.0, (values + more * one_more(stats)) / (1 + more))

    own, every = over_columns(rows), over_columns(counts)
    base = _average_arm(counts, every)
    shares = np.where((every > 0)[:, None], counts / np.maximum(every, 1.0)[:, None], base)
    middle, index = (base * mean).sum(), over_columns(shares * mean)
    residual = over_columns(rows * (values - mean)) / np.maximum(own, 1.0)
    if len(known) == 0:
        least = 1e-7 * row_variance(stats, rate)
        known = _index_precision(counts, every, base, mean, index, middle, least) if cells > 1 else np.zeros(arms)
    gain, within = over_columns(shares * slope), over_columns(shares * noise)
    precise = np.where(zero, 0.0, rows / np.where(zero, 1.0, noise))
    prior = np.where(zero, 1.0, 1 / np.where(zero, 1.0, prior))
    shares = np.where(zero, 0.0, shares)
    return SetData(
        own, precise, values, residual, mean, start, prior, slope, shares, index, known, middle, gain, within
    )


@compiled
def _table(tables: CellTables, place: int) -> tuple[Floats, Floats, Floats]:
    """(arms, cells) each: rows with a reward, their mean reward, and the sum of squared deviations from it."""
    arms, cells, first = tables.arms, tables.cells[place], tables.starts[place]
    block = tables.sums[first : first + arms * cells]
    shape = (arms, cells)
    return block[:, 0].copy().reshape(shape), block[:, 1].copy().reshape(shape), block[:, 2].copy().reshape(shape)


@compiled
def _pending(tables: CellTables, place: int) -> Floats:
    """(arms, cells): rows whose reward is pending."""
    arms, cells, first = tables.arms, tables.cells[place], tables.starts[place]
    if len(tables.pending) == 0 or place >= tables.plain:
        return np.zeros((arms, cells))
    return tables.pending[first : first + arms * cells].astype(np.float64).reshape((arms, cells))


@compiled
def _amounts(tables: CellTables, stats: RewardStats) -> tuple[float, float]:
    """Mean and variance of rewards above zero, of all arms."""
    rows, values, scatters = _table(tables, tables.plain)
    several = rows[:, 1].sum()
    amount = (rows[:, 1] * values[:, 1]).sum() / several if several > 0 else one_more(stats) * 2
    return amount, (scatters[:, 1].sum() + amount * amount) / (several + 1)


@compiled
def _average_arm(counts: Floats, every: Floats) -> Floats:
    """(cells,): P(s | arm), averaged over arms that have rows."""
    seen = (every > 0).sum()
    if seen == 0:
        return np.full(counts.shape[1], 1 / counts.shape[1])
    found: Floats = over_rows(counts / np.maximum(every, 1.0)[:, None]) / seen
    return found


@compiled
def _index_precision(
    counts: Floats, every: Floats, base: Floats, mean: Floats, index: Floats, middle: float, least: float
) -> Floats:
    """(arms,): precision of the mean index of an arm's rows, from a Dirichlet posterior of P(s | arm)."""
    # Weights of concentrations: Dirichlet-multinomial evidence of the rows of all arms.
    says = (every >= 2).astype(np.float64)
    total = every.sum()
    parts = CONCENTRATIONS[:, None] * (total * base + 1 / len(base)) / (total + 1)
    weights = to_weights(
        log_rising(parts, says[:, None] * counts) - log_rising(CONCENTRATIONS[:, None], (says * every)[:, None])
    )
    scatter, spread = over_columns(counts * (mean - index[:, None]) ** 2), (base * (mean - middle) ** 2).sum()
    variance = np.full(len(every), least)
    for place in range(len(weights)):
        prior_rows = CONCENTRATIONS[place]
        variance = variance + weights[place] * (scatter + prior_rows * spread) / (every + prior_rows)
    precision: Floats = every / variance
    return precision


# Least squares of cells and lever effects, with the deviations of arms integrated out


@compiled
def regress(weight: Floats, values: Floats, slope: Floats, prior: Floats, levers: Levers) -> Regression:
    """The regression of values[a, s] = m_s + slope_s (lever effects + deviation of a), with these precisions.

    m_s has mean 0 and the precision prior_s.
    """
    sloped, response = weight * slope, weight * values
    info, score = over_columns(sloped * slope)[:, None], over_columns(sloped * values)[:, None]
    direction = beside(beside(sloped, info * levers.design), score)
    square = 1 + (response * values).sum()  # the 1 keeps the matrix positive definite if nothing is left
    matrix = normal_equations(over_rows(weight) + prior, levers.design, direction, over_rows(response), square)
    return Regression(len(prior), matrix, direction, info[:, 0])


@compiled
def index_regression(data: SetData, levers: Levers, unit: float) -> Regression:
    """The index, in units of a difference: a level, lever effects and deviations."""
    precision, value = data.precision * unit**2, (data.indices - data.middle) / unit
    return regress(precision[:, None], value[:, None], np.ones(1), np.full(1, 1 / LEVEL), levers)


@compiled
def difference_regression(data: SetData, levers: Levers) -> Regression:
    """Mean rewards of cells: m_s - start_s, lever effects and deviations."""
    return regress(data.cell_precision, data.values - data.start, data.slope, data.prior, levers)


@compiled
def without_deviations(regression: Regression, variances: Floats) -> Floats:
    """(n, unknowns + 1, unknowns + 1): equations with the deviations integrated out, for n variances of them."""
    shrunk = variances[:, None] / (1 + variances[:, None] * regression.info)
    return less_grams(regression.matrix, regression.direction, shrunk)


@compiled
def log_evidence(regression: Regression, points: int) -> Floats:
    """(points,): log marginal likelihood, but for a constant, at the first points of the grid."""
    of_tau, effects = TAU_OF[:points], EFFECT_VARIANCES[:points]
    taus, last = TAU_VARIANCES[: of_tau[-1] + 1], len(regression.matrix) - 1
    roots = roots_of(without_deviations(regression, taus), of_tau, regression.cells, 1 / effects)
    left = over_columns(np.log(1 + taus[:, None] * regression.info))[of_tau]
    effects = (last - regression.cells) * np.log(effects)
    logs: Floats = -0.5 * (left + effects + roots[:, last, last] ** 2) - log_diagonals(roots)
    return logs


@compiled
def moments(regression: Regression, share: Floats, gain: Floats, deviation: float, effect: float) -> Moments:
    """Posterior of share @ unknowns + gain * deviation for every arm, given the variances of deviations and effects."""
    only, last = np.zeros(1, dtype=np.int64), share.shape[1]
    matrices = without_deviations(regression, np.full(1, deviation))
    roots = roots_of(matrices, only, regression.cells, np.full(1, 1 / effect))
    found = solutions(roots, only, np.zeros((1, last)))[0]
    shrunk = deviation / (1 + deviation * regression.info)
    direction = regression.direction[:, :last]
    shared = over_columns(share * found)
    own = shrunk * (regression.direction[:, last] - over_columns(direction * found))
    whole = share - (gain * shrunk)[:, None] * direction
    both = squares(roots[0], np.concatenate((share, whole)))
    variance = gain**2 * shrunk + both[len(share) :]
    return Moments(shared, both[: len(share)], shared + gain * own, variance)


@compiled
def to_weights(logs: Floats) -> Floats:
    """Weights that sum to 1, from their logarithms."""
    found = np.exp(logs - logs.max())
    weights: Floats = found / found.sum()
    return weights


# Fitting a set


@compiled
def index_weights(regression: Regression) -> Floats:
    """Weights of the grid points of the index; their prior is uniform."""
    return to_weights(log_evidence(regression, NONE))


@compiled
def difference_weights(regression: Regression, levers: Levers, index: Floats, equal: float) -> Floats:
    """Weights of the grid points of differences, which are all 0 with the prior probability `equal`.

    The prior is about the variance between arms in all, in the index and in differences.
    """
    totals = levers.several * EFFECTS**2 + DEVIATIONS**2
    away = (0.5 * np.log((index * totals).sum() + totals + LEAST_EFFECT) - math.log(TYPICAL)) / FACTOR
    prior = to_weights(-np.log(1 + away * away))
    chances = np.append(np.maximum((1 - equal) * prior, 1e-300), equal)
    return to_weights(np.log(chances) + log_evidence(regression, NONE + 1))


@compiled
def index_moments(data: SetData, regression: Regression, levers: Levers, weights: Floats, unit: float) -> Moments:
    """Posterior of the index of every arm, with the scales averaged."""
    arms = len(data.indices)
    deviation, effect = (weights * DEVIATIONS**2).sum(), (weights * EFFECT_VARIANCES[:-1]).sum()
    found = moments(regression, beside(np.ones((arms, 1)), levers.design), np.ones(arms), deviation, effect)
    mean, variance = data.middle + unit * found.mean, unit**2 * found.variance
    return Moments(mean, variance, mean, variance)


@compiled
def mean_moments(data: SetData, regression: Regression, levers: Levers, weights: Floats, index: Moments) -> Moments:
    """Posterior of every arm's mean, from that of its index and of differences with the scales averaged."""
    separates, differs = weights[NONE], max(1 - weights[NONE], 1e-300)
    deviation = (weights[:-1] * DEVIATIONS**2).sum() / differs
    effect = (weights[:-1] * EFFECT_VARIANCES[:-1]).sum() / differs
    share = beside(data.shares, data.gain[:, None] * levers.design)
    away = over_columns(data.shares * (data.start - data.mean))
    zero = moments(regression, share, data.gain, 0.0, NOTHING)
    some = moments(regression, share, data.gain, deviation, effect + NOTHING)
    return Moments(
        index.shared + away + separates * zero.shared + differs * some.shared,
        index.shared_variance + separates * zero.shared_variance + differs * some.shared_variance,
        index.mean + away + separates * zero.mean + differs * some.mean,
        index.variance + separates * zero.variance + differs * some.variance,
    )


@compiled
def fit_set(data: SetData, levers: Levers, unit: float, equal: float) -> tuple[Floats, Floats, Moments]:
    """Weights of the grid points of the index and of differences, and the posterior of every arm's mean."""
    weights, known = np.zeros(NONE), np.zeros(len(data.indices))
    index = Moments(data.indices, known, data.indices, known)
    if len(data.mean) > 1:
        regression = index_regression(data, levers, unit)
        weights = index_weights(regression)
        index = index_moments(data, regression, levers, weights, unit)
    regression = difference_regression(data, levers)
    difference = difference_weights(regression, levers, weights, equal)
    return weights, difference, mean_moments(data, regression, levers, difference, index)


@compiled
def fit_table(tables: CellTables, place: int, stats: RewardStats, levers: Levers, fit: Fit, rate: float) -> float:
    """Fit the set of one table, given the mean over arms; returns the mean over arms that follows from it."""
    data = read_set(tables, place, stats, rate, np.zeros(0))
    equal = EQUAL if tables.cells[place] == 1 else SEPARATES
    index, difference, found = fit_set(data, levers, slope_at(stats, rate), equal)
    copy_to(fit.index_scales[place], index)
    copy_to(fit.difference_scales[place], difference)
    copy_to(fit.precision[place], data.precision)
    copy_to(fit.shared[place], found.shared)
    copy_to(fit.shared_variances[place], found.shared_variance)
    copy_to(fit.means[place], found.mean)
    copy_to(fit.variances[place], found.variance)
    fit.weights[place] = 1 / max(found.variance.mean(), 1e-300)
    mean: float = into_range(stats, found.mean.mean(), rate, EDGE)
    return mean


@compiled
def start_fit(tables: CellTables, stats: RewardStats) -> float:
    """Learn the dispersion of rewards, given a first guess of the mean over arms, which is returned."""
    rate = _start_rate(tables, stats)
    stats.rate[0] = rate
    learn_dispersion(stats, tables.sums[: tables.arms])
    return rate


def refit(tables: CellTables, stats: RewardStats, levers: Levers, fit: Fit) -> None:
    """Learn everything from the counts; `stats` receives the dispersion of rewards.

    This loop over sets is not compiled: numba would optimize all that it calls once more, which takes ten seconds.
    """
    rate = start_fit(tables, stats)
    for place in range(len(tables.cells)):
        # "Above zero" says nothing if all rewards are, or none.
        useless = place >= tables.plain and (stats.above[0] == 0 or stats.above[0] == stats.rows[0])
        fit.weights[place] = 0.0
        if tables.cells[place] > MOST_CELLS or useless:
            continue
        # The empty set comes first: it says what the mean over arms is.
        for _ in range(PASSES if place == 0 else 1):
            follows = fit_table(tables, place, stats, levers, fit, rate)
            rate = follows if place == 0 else rate
    fit.rate[0] = rate
    fit.weights[:] = fit.weights / fit.weights.sum()


@compiled
def _start_rate(tables: CellTables, stats: RewardStats) -> float:
    """A first guess of the mean over arms: own means, each with two rows more at the mean of all rows."""
    pooled = stats.mean[0]
    if stats.shape != NUMBER:
        pooled = (stats.rows[0] * pooled + one_more(stats)) / (stats.rows[0] + 1)
    rows, values, _ = _table(tables, 0)
    return float(((rows * values + 2 * pooled) / (rows + 2)).mean())


def agreement(fit: Fit) -> Floats:
    """(arms,): standard deviation of an arm's mean, without the part by which the sets' means differ, relative to all.

    1: the sets agree on the arm's mean; near 0: each set is sure of another mean.
    """
    within = fit.weights @ fit.variances
    between = fit.weights @ (fit.means - fit.weights @ fit.means) ** 2
    found: Floats = np.sqrt(within / np.maximum(within + between, 1e-300))
    return found


# Drawing


@compiled
def draw_points(weights: Floats, count: int, rng: np.random.Generator) -> Ints:
    """Points drawn by weight, systematically: each as often as its weight says, but for rounding; in order."""
    passed = np.cumsum(weights)
    at = (rng.random() + np.arange(count)) / count * passed[-1]
    points: Ints = np.minimum(np.searchsorted(passed, at, "right"), len(weights) - 1)
    return points


@compiled
def draw_unknowns(regression: Regression, points: Ints, rng: np.random.Generator) -> Floats:
    """(draws, unknowns): joint draws of cell means and lever effects at these points of the grid."""
    used = np.flatnonzero(np.bincount(points, np.ones(len(points)), NONE + 1))
    taus = np.flatnonzero(np.bincount(TAU_OF[used], np.ones(len(used)), len(TAU) + 1))
    of_tau, of_point = np.searchsorted(taus, TAU_OF[used]), np.searchsorted(used, points)
    matrices = without_deviations(regression, TAU_VARIANCES[taus])
    roots = roots_of(matrices, of_tau, regression.cells, 1 / EFFECT_VARIANCES[used])
    return solutions(roots, of_point, rng.standard_normal((len(points), roots.shape[1] - 1)))


def deviation_variances(points: Ints, away: Floats, noise: Floats, worth: Floats, rng: np.random.Generator) -> Floats:
    """(draws, arms): the variance of the deviation of every arm, a factor times that of the draw's grid point.

    Factors are equally likely before the arm's own rows, which measure its deviation.

    Args:
        points: (draws,): grid points.
        away: (arms,): the measured deviations.
        noise: (arms,): the variances of these measurements; 1 / NOTHING without rows.
        worth: (arms,): what one unit of a deviation is worth in them.
        rng: Generator of the draws.
    """
    total = TAU_VARIANCES[:, None, None] * FACTORS * (worth**2)[:, None] + np.maximum(noise, NOTHING**2)[:, None]
    logs = -0.5 * (np.log(total) + (away**2)[:, None] / total)
    chances = np.cumsum(np.exp(logs - logs.max(axis=2, keepdims=True)), axis=2)
    passed = (chances / chances[:, :, -1:])[TAU_OF[points], :, :-1]
    which = (rng.random((len(points), len(away)))[:, :, None] > passed).sum(axis=2)
    found: Floats = DEVIATION_VARIANCES[points][:, None] * FACTORS[which]
    return found


@loops_of(deviation_variances)
def _deviation_variances(points: Any, away: Any, noise: Any, worth: Any, rng: Any) -> Any:
    arms, several = len(away), len(FACTORS)
    passed, logs = np.zeros((len(TAU_VARIANCES), arms, several)), np.empty(several)
    for tau in range(len(TAU_VARIANCES)):
        for arm in range(arms):
            for each in range(several):
                total = TAU_VARIANCES[tau] * FACTORS[each] * worth[arm] ** 2 + max(noise[arm], NOTHING**2)
                logs[each] = -0.5 * (math.log(total) + away[arm] ** 2 / total)
            highest, sum_ = logs.max(), 0.0
            for each in range(several):
                sum_ += math.exp(logs[each] - highest)
                passed[tau, arm, each] = sum_
            for each in range(several):
                passed[tau, arm, each] /= sum_
    found = np.empty((len(points), arms))
    for draw in range(len(points)):
        for arm in range(arms):
            drawn, which = rng.random(), 0
            while which < several - 1 and drawn > passed[TAU_OF[points[draw]], arm, which]:
                which += 1
            found[draw, arm] = DEVIATION_VARIANCES[points[draw]] * FACTORS[which]
    return found


@compiled
def draw_indices(
    data: SetData, levers: Levers, weights: Floats, unit: float, count: int, rng: np.random.Generator
) -> Floats:
    """(count, arms): joint draws of the index."""
    arms = len(data.indices)
    if len(data.mean) == 1:
        return np.full((count, arms), data.mean[0])
    # Grid points of index and difference are independent, so these are not in order.
    points = draw_points(weights, count, rng)[np.argsort(rng.random(count))]
    regression = index_regression(data, levers, unit)
    unknowns = draw_unknowns(regression, points, rng)
    expected = unknowns @ beside(np.ones((arms, 1)), levers.design).T
    info = np.maximum(regression.info, NOTHING)
    away = regression.direction[:, -1] / info - over_rows(expected) / count
    deviation = deviation_variances(points, away, 1 / info, np.ones(arms), rng)
    shrunk = deviation / (1 + deviation * regression.info)
    own = shrunk * (regression.direction[:, -1] - regression.info * expected)
    return data.middle + unit * (expected + own + np.sqrt(shrunk) * rng.standard_normal((count, arms)))


@compiled
def draw_through(
    tables: CellTables, place: int, stats: RewardStats, levers: Levers, fit: Fit, rng: np.random.Generator, count: int
) -> Floats:
    """(count, arms): joint draws of all means through one set."""
    rate = fit.rate[0]
    data = read_set(tables, place, stats, rate, fit.precision[place])
    index = draw_indices(data, levers, fit.index_scales[place], slope_at(stats, rate), count, rng)
    points = draw_points(fit.difference_scales[place], count, rng)
    unknowns = draw_unknowns(difference_regression(data, levers), points, rng)
    share = beside(data.shares, data.gain[:, None] * levers.design)
    value = index + over_columns(data.shares * (data.start - data.mean)) + unknowns @ share.T
    expected = _inside_range(stats, value, fit.shared[place], fit.shared_variances[place], rate)
    several = np.searchsorted(points, NONE)  # the draws with differences come first
    if several == 0:
        return expected
    # The rows tell the difference as precisely as this many rows without mediators tell a mean.
    inside = into_range(stats, data.indices, rate, EDGE)
    seen = (data.own > 0) & (data.gain > 0)
    rows = data.own * np.where(seen, row_variance(stats, inside) / np.where(seen, data.within, 1.0), 1.0)
    own_rows, own_mean, own_scatter = _table(tables, 0)
    dispersion = own_dispersion(stats, own_rows[:, 0], own_mean[:, 0], own_scatter[:, 0])
    prior = expected[:several]
    away = np.where(data.own > 0, data.indices + data.residual - fit.shared[place], 0.0)
    noise = np.where(data.own > 0, data.within / np.maximum(data.own, 1.0), 1 / NOTHING)
    spread = deviation_variances(points[:several], away, noise, data.gain, rng)
    spread = spread * np.maximum(data.gain**2, NOTHING * inside**2)
    mean, variance = conjugate(stats, prior, spread, rows, index[:several] + data.residual, dispersion)
    drawn = draw_conjugate(stats, mean, variance, data.own + 0 * mean, rng)
    return np.concatenate((drawn, expected[several:]))


@compiled
def _inside_range(stats: RewardStats, value: Floats, mean: Floats, variance: Floats, rate: float) -> Floats:
    """Normal draws with these means and variances, (arms,), moved into the range of the reward.

    They become log-normal or logit-normal, with about the same mean and variance.
    """
    if stats.shape == NUMBER:
        return value
    mean = into_range(stats, mean, rate, EDGE)
    relative, skew = variance / mean**2, np.ones(len(mean))
    if stats.shape == BOUNDED:
        width = stats.high - stats.low
        share = (mean - stats.low) / width
        relative, skew = variance / (width * share * (1 - share)) ** 2, 1 - 2 * share
    square = np.minimum(np.log(1 + relative), WIDEST)
    slope = np.sqrt(square / np.maximum(variance, 1e-300))
    return from_link(stats, to_link(stats, mean) - 0.5 * skew * square + slope * (value - mean))


def draw_means(
    tables: CellTables, stats: RewardStats, levers: Levers, fit: Fit, rng: np.random.Generator, drawn: Floats
) -> None:
    """Fill (draws, arms) with joint draws of all means; each draw is through one set, drawn by weight."""
    counts = np.bincount(draw_points(fit.weights, len(drawn), rng)).tolist()
    first = 0
    for place in range(len(counts)):
        if counts[place] > 0:
            last = first + counts[place]
            drawn[first:last] = draw_through(tables, place, stats, levers, fit, rng, counts[place])
            first = last

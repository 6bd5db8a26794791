"""The model of the default policy: what every set of mediators says about all arms' means (docs/model.md).

For a set S the mean reward of arm a in the cell S = s, and the mean of the arm, are

    E[Y | s, a] = m_s + b_s d_a,        mean of arm a = sum over s of P(s | a) (m_s + b_s d_a)

where m_s is shared by all arms and d_a is the difference that S leaves unexplained: on the scale of log-odds for
rewards between two values, of logarithms for counts and revenue, of standard deviations for stats, so b_s is the
derivative of the inverse link at m_s. A difference is a sum of lever effects and a deviation of the arm,

    d_a = sum over levers of effect[level of the lever] + deviation_a,    effect ~ N(0, eta^2), deviation ~ N(0, tau^2)

or 0 for all arms: S separates. The scales (eta, tau) and "separates" have a prior, and their posterior is a mixture
over a grid. The empty set is the special case in which arms share nothing but levers and a common level.

P(s | a) is needed only through x_a = sum over s of P(s | a) m_s, the index. It has a mixture over scales of lever
effects too; an arm's own rows measure it with the variance of a Dirichlet posterior with a learnt concentration, so one
row is one row, whatever the other arms did.

Every set gives a posterior of all means. They are averaged, each with the weight of one over the mean variance of the
arms' means. What arms share (scales, m, lever effects) is drawn jointly for all arms; what is left, the deviation of an
arm, has the skewed conjugate posterior of its kind of reward.
"""

import math
from typing import NamedTuple

import numpy as np

from ..compiled import Floats, Ints, by_reference, compiled, put
from ..data import CellTables
from .linear_algebra import backward, cholesky, forward
from .reward_shapes import (
    NUMBER,
    POSITIVE,
    RewardStats,
    conjugate,
    draw_mean,
    from_link,
    into_range,
    learn_dispersion,
    one_more,
    own_dispersion,
    row_variance,
    slope_at,
)

ETA = np.array([0.0, 0.1, 0.3, 0.8])
TAU = np.array([0.03, 0.1, 0.3, 0.6, 1.2])
EFFECTS, DEVIATIONS = np.tile(ETA, len(TAU)), np.repeat(TAU, len(ETA))
"""The standard deviations of lever effects and deviations at every point of the grid."""
TYPICAL, FACTOR = 0.18, 0.60
"""The standard deviation of log-odds between the arms of a test: median, and sigma of its logarithm, in 4,871 headline
tests of the Upworthy archive. The prior is Cauchy on the logarithmic scale, since other tests have larger effects."""
EQUAL = 0.05
"""Prior probability that all arms are equal: the share of those tests with no difference."""
SEPARATES = 0.5
"""Prior probability that a set separates."""
CONCENTRATIONS = np.array([0.05, 0.15, 0.5, 1.5, 5.0])
"""The grid of the concentration of the Dirichlet prior of P(S | arm), in rows."""
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
FEW_ROWS = 32
"""Up to this many rows the logarithm of a ratio of Gamma functions is a running sum, which is faster."""
PASSES = 2
"""The mean over arms and the noise depend on each other: the empty set is fitted this often."""


@by_reference
class Levers(NamedTuple):
    """The levers of all arms."""

    codes: Ints
    """(arms, levers): the level of each lever; no columns where there is one lever."""
    starts: Ints
    """(levers,): where the levels of each lever begin among all levels."""
    levels: int
    """Levels of all levers together."""


class SetData(NamedTuple):
    """What is read from the table of one set."""

    rows: Floats
    """(arms, cells): rows with a reward."""
    values: Floats
    """(arms, cells): their mean reward."""
    shares: Floats
    """(arms, cells): the share of each cell among all rows of an arm, pending ones too; that of all arms if none."""
    own: Floats
    """(arms,): rows with a reward."""
    residual: Floats
    """(arms,): mean reward less the mean index of these rows."""
    mean: Floats
    """(cells,): plug-in estimate of E[Y | S = s]."""
    start: Floats
    """(cells,): prior mean of E[Y | S = s]."""
    prior: Floats
    """(cells,): prior precision."""
    noise: Floats
    """(cells,): variance of a reward in the cell; 0: the mean is known exactly."""
    slope: Floats
    """(cells,): what one unit of a difference is worth."""
    indices: Floats
    """(arms,): mean of `mean` over the rows of an arm."""
    precision: Floats
    """(arms,): of that as a measurement of x_a."""
    middle: float
    """The index of the average arm."""
    gain: Floats
    """(arms,): mean of `slope` over the rows of an arm."""
    within: Floats
    """(arms,): mean of `noise` over the rows of an arm."""


class Scales(NamedTuple):
    """Weights of the grid points of one set."""

    of_index: Floats
    """(eta x tau,)."""
    of_difference: Floats
    """(eta x tau + 1,): the last one is that the set separates."""


class Sums(NamedTuple):
    """What the differences of one set are fitted from."""

    weight: Floats
    """(arms, cells): precision of the mean reward of a cell."""
    info: Floats
    """(arms,): precision of the difference that the rows of an arm give."""
    score: Floats
    """(arms,): that precision times the measured difference."""
    cell_info: Floats
    cell_score: Floats
    """(cells,): the same of m_s."""


@by_reference
class Fit(NamedTuple):
    """What was learnt from the counts: see the top for the model."""

    rate: Floats
    """(1,): mean over arms."""
    separates: Floats
    """(sets,): posterior probability that a set separates."""
    weights: Floats
    """(sets,): how much a set counts in the average over sets."""
    index_scales: Floats
    difference_scales: Floats
    """(sets, grid points): weights."""
    shared: Floats
    """(sets, arms, 2): mean and variance of what arms share of a mean, before the arm's deviation."""
    variances: Floats
    """(sets, arms): posterior variance of an arm's mean."""
    precision: Floats
    """(sets, arms): as in `SetData`."""


def empty_fit(sets: int, arms: int) -> Fit:
    """A fit that knows nothing."""
    points = len(EFFECTS)
    return Fit(
        np.zeros(1),
        np.zeros(sets),
        np.zeros(sets),
        np.zeros((sets, points)),
        np.zeros((sets, points + 1)),
        np.zeros((sets, arms, 2)),
        np.zeros((sets, arms)),
        np.zeros((sets, arms)),
    )


def levers_of(codes: Ints, sizes: Ints) -> Levers:
    """Levers with these levels; a single lever is the arm itself, and has no effects apart from deviations."""
    if codes.shape[1] < 2:
        codes, sizes = codes[:, :0], sizes[:0]
    starts = (np.cumsum(sizes) - sizes).astype(np.int64)
    return Levers(np.ascontiguousarray(codes).astype(np.int64), starts, int(sizes.sum()))


# Reading a table


@compiled
def _cell_means(
    tables: CellTables, place: int, stats: RewardStats, rate: float
) -> tuple[Floats, Floats, Floats, Floats]:
    """(cells,) each: prior mean, prior variance, plug-in mean and row variance of every cell."""
    cells, first = tables.cells[place], tables.starts[place]
    hurdle = place >= tables.plain
    start, prior = np.full(cells, rate), np.full(cells, row_variance(stats, rate))
    mean, noise = np.zeros(cells), np.zeros(cells)
    amount, spread = 0.0, 0.0
    if hurdle:  # rewards above zero of all arms
        rows, total, scatter = 0.0, 0.0, 0.0
        for arm in range(tables.arms):
            n, value, within = tables.sums[tables.starts[tables.plain] + 2 * arm + 1]
            rows, total, scatter = rows + n, total + n * value, scatter + within
        amount = total / rows if rows > 0 else one_more(stats) * 2
        spread = (scatter + amount * amount) / (rows + 1)
    for cell in range(cells):
        if hurdle:
            if cell < cells // 2:  # zeros
                start[cell], prior[cell] = 0.0, 0.0
                continue
            start[cell], prior[cell] = amount, spread
        total, weight, freedom, scatter = 0.0, 0.0, 0.0, 0.0
        for arm in range(tables.arms):
            n, value, within = tables.sums[first + arm * cells + cell]
            if n > 0:
                counted = SATURATION * n / (SATURATION + n)
                total, weight = total + counted * value, weight + counted
                freedom, scatter = freedom + n - 1, scatter + within
        mean[cell] = rate if cells == 1 else (total + start[cell]) / (weight + 1)
        # A few rows without a reward do not say that there is none: Jeffreys' half an event for the variance.
        usual = spread if hurdle else row_variance(stats, rate)
        if cells > 1 and not hurdle:
            usual = row_variance(stats, (total + one_more(stats)) / (weight + 1))
            prior[cell] = max(prior[cell], usual)
        steady = stats.steady[0]
        # Rewards that are all equal do not say how much they vary.
        says = not stats.fixed and (scatter > 0 or stats.shape == NUMBER)
        noise[cell] = (scatter + steady * usual) / (freedom + steady) if says else usual
    return start, prior, mean, noise


@compiled
def _concentration(counts: Floats, rows: Floats, base: Floats) -> Floats:
    """Weights of CONCENTRATIONS: Dirichlet-multinomial evidence of the rows of all arms."""
    logs, rising = np.zeros(len(CONCENTRATIONS)), np.zeros(FEW_ROWS + 1)
    for place in range(len(logs)):
        size = CONCENTRATIONS[place]
        for cell in range(len(base)):
            part = size * (0.9 * base[cell] + 0.1 / len(base))
            none = math.lgamma(part)
            for more in range(min(FEW_ROWS, int(counts[:, cell].max()))):
                rising[more + 1] = rising[more] + math.log(part + more)
            for arm in range(len(rows)):
                count = counts[arm, cell]
                if rows[arm] >= 2 and count > 0:
                    logs[place] += rising[int(count)] if count <= FEW_ROWS else math.lgamma(part + count) - none
        none = math.lgamma(size)
        for arm in range(len(rows)):
            if rows[arm] >= 2:
                logs[place] += none - math.lgamma(size + rows[arm])
    to_weights(logs)
    return logs


@compiled
def _rows_of_set(tables: CellTables, place: int, stats: RewardStats, noise: Floats) -> tuple[Floats, Floats, Floats]:
    """(arms, cells) each: rows with a reward, their mean reward, and all rows, pending ones too."""
    arms, cells, first = tables.arms, tables.cells[place], tables.starts[place]
    rows, values, counts = np.zeros((arms, cells)), np.zeros((arms, cells)), np.zeros((arms, cells))
    waits = len(tables.pending) > 0 and place < tables.plain
    # One more row in all, so that zeros everywhere mean "less than one in all these rows" and not "never".
    more = 0.0 if stats.shape == NUMBER else 1 / (stats.rows[0] + 1)
    for arm in range(arms):
        for cell in range(cells):
            at = first + arm * cells + cell
            rows[arm, cell] = tables.sums[at, 0]
            counts[arm, cell] = rows[arm, cell] + (tables.pending[at] if waits else 0)
            if noise[cell] > 0:
                values[arm, cell] = (tables.sums[at, 1] + more * one_more(stats)) / (1 + more)
    return rows, values, counts


@compiled
def _average_arm(counts: Floats, every: Floats) -> Floats:
    """(cells,): P(s | arm), averaged over arms that have rows."""
    base, seen = np.zeros(counts.shape[1]), 0.0
    for arm in range(len(counts)):
        if every[arm] > 0:
            seen += 1
            for cell in range(len(base)):
                base[cell] += counts[arm, cell] / every[arm]
    for cell in range(len(base)):
        base[cell] = base[cell] / seen if seen > 0 else 1 / len(base)
    return base


@compiled
def _index_precision(
    counts: Floats, every: Floats, base: Floats, mean: Floats, index: Floats, middle: float, least: float
) -> Floats:
    """(arms,): precision of the mean index of an arm's rows, from a Dirichlet posterior of P(s | arm)."""
    sizes, precision, spread = _concentration(counts, every, base), np.zeros(len(every)), 0.0
    for cell in range(len(base)):
        spread += base[cell] * (mean[cell] - middle) ** 2
    for arm in range(len(every)):
        if every[arm] > 0:
            scatter, variance = 0.0, least
            for cell in range(len(base)):
                scatter += counts[arm, cell] * (mean[cell] - index[arm]) ** 2
            for place in range(len(sizes)):
                prior_rows = CONCENTRATIONS[place]
                variance += sizes[place] * (scatter + prior_rows * spread) / (every[arm] + prior_rows)
            precision[arm] = every[arm] / variance
    return precision


@compiled
def read_set(tables: CellTables, place: int, stats: RewardStats, rate: float, known: Floats) -> SetData:
    """Everything about one set that does not depend on scales; `known`, if not empty, is the precision of the index."""
    arms, cells = tables.arms, tables.cells[place]
    start, prior, mean, noise = _cell_means(tables, place, stats, rate)
    rows, values, counts = _rows_of_set(tables, place, stats, noise)
    slope, precise, shares = np.zeros(cells), np.zeros(cells), np.zeros((arms, cells))
    own, every = np.zeros(arms), np.zeros(arms)
    for arm in range(arms):
        for cell in range(cells):
            own[arm] += rows[arm, cell]
            every[arm] += counts[arm, cell]
    base, middle = _average_arm(counts, every), 0.0
    for cell in range(cells):
        middle += base[cell] * mean[cell]
        if noise[cell] > 0:
            slope[cell], precise[cell] = slope_at(stats, mean[cell]), 1 / prior[cell]
    index, gain, within, residual = np.zeros(arms), np.zeros(arms), np.zeros(arms), np.zeros(arms)
    for arm in range(arms):
        for cell in range(cells):
            share = counts[arm, cell] / every[arm] if every[arm] > 0 else base[cell]
            shares[arm, cell] = share
            index[arm] += share * mean[cell]
            gain[arm] += share * slope[cell]
            within[arm] += share * noise[cell]
            if own[arm] > 0:
                residual[arm] += rows[arm, cell] / own[arm] * (values[arm, cell] - mean[cell])
    precision = np.zeros(arms)
    if len(known):
        precision = known
    elif cells > 1:
        least = 1e-7 * row_variance(stats, rate)
        precision = _index_precision(counts, every, base, mean, index, middle, least)
    return SetData(
        rows, values, shares, own, residual, mean, start, precise, noise, slope, index, precision, middle, gain, within
    )


@compiled
def add_up(data: SetData) -> Sums:
    """The sums that differences are fitted from."""
    arms, cells = data.rows.shape
    weight, info, score = np.zeros((arms, cells)), np.zeros(arms), np.zeros(arms)
    cell_info, cell_score = np.zeros(cells), np.zeros(cells)
    for arm in range(arms):
        for cell in range(cells):
            if data.rows[arm, cell] > 0 and data.noise[cell] > 0:
                found = data.rows[arm, cell] / data.noise[cell]
                value = data.values[arm, cell] - data.start[cell]
                weight[arm, cell] = found
                info[arm] += data.slope[cell] ** 2 * found
                score[arm] += data.slope[cell] * found * value
                cell_info[cell] += found
                cell_score[cell] += found * value
    return Sums(weight, info, score, cell_info, cell_score)


# Normal equations: of (m_s - start, effects) for differences, of (level, effects) for the index


@compiled
def gather_difference(
    data: SetData, sums: Sums, levers: Levers, variance: float, matrix: Floats, vector: Floats
) -> float:
    """Fill the normal equations of cells and effects given the variance of deviations; part of the log evidence."""
    (arms, cells), several = sums.weight.shape, len(levers.starts)
    for row in range(len(vector)):
        vector[row] = 0.0
        for column in range(row + 1):
            matrix[row, column] = 0.0
    for cell in range(cells):
        known = data.noise[cell] == 0
        matrix[cell, cell] = 1.0 if known else sums.cell_info[cell] + data.prior[cell]
        vector[cell] = sums.cell_score[cell]
    found, used = 0.0, np.empty(cells, dtype=np.int64)
    for arm in range(arms):
        info, score = sums.info[arm], sums.score[arm]
        if info > 0:
            left = 1 / (1 + variance * info)
            found += 0.5 * math.log(left) + 0.5 * variance * left * score * score
            _add_cells(data, sums, levers, arm, left, variance * left, used, matrix, vector)
            for lever in range(several):
                row = cells + levers.starts[lever] + levers.codes[arm, lever]
                vector[row] += score * left
                for other in range(several):
                    column = cells + levers.starts[other] + levers.codes[arm, other]
                    if column <= row:
                        matrix[row, column] += info * left
    return found


@compiled
def _add_cells(
    data: SetData,
    sums: Sums,
    levers: Levers,
    arm: int,
    left: float,
    shrunk: float,
    used: Ints,
    matrix: Floats,
    vector: Floats,
) -> None:
    """Add what the deviation of an arm does to the equations of the cells that it has rows in."""
    cells, count = len(used), 0
    for cell in range(cells):
        if sums.weight[arm, cell] > 0:
            used[count] = cell
            count += 1
    for one in range(count):
        cell = used[one]
        here = data.slope[cell] * sums.weight[arm, cell]
        vector[cell] -= shrunk * here * sums.score[arm]
        for two in range(one + 1):
            other = used[two]
            matrix[cell, other] -= shrunk * here * data.slope[other] * sums.weight[arm, other]
        for lever in range(len(levers.starts)):
            matrix[cells + levers.starts[lever] + levers.codes[arm, lever], cell] += here * left


@compiled
def gather_index(data: SetData, levers: Levers, variance: float, level: float, matrix: Floats, vector: Floats) -> float:
    """Fill the normal equations of level and effects of the index; part of the log evidence."""
    for row in range(len(vector)):
        vector[row] = 0.0
        for column in range(row + 1):
            matrix[row, column] = 0.0
    matrix[0, 0] = 1 / level
    found, several = 0.0, len(levers.starts)
    for arm in range(len(data.indices)):
        if data.precision[arm] > 0:
            weight, value = 1 / (1 / data.precision[arm] + variance), data.indices[arm] - data.middle
            found += 0.5 * math.log(weight) - 0.5 * weight * value * value
            matrix[0, 0] += weight
            vector[0] += weight * value
            for lever in range(several):
                row = 1 + levers.starts[lever] + levers.codes[arm, lever]
                vector[row] += weight * value
                matrix[row, 0] += weight
                for other in range(several):
                    column = 1 + levers.starts[other] + levers.codes[arm, other]
                    if column <= row:
                        matrix[row, column] += weight
    return found


@compiled
def solve(matrix: Floats, vector: Floats, first: int, effect: float, root: Floats, half: Floats) -> float:
    """Fill the Cholesky root of the precision and root^-1 vector; the rest of the log evidence.

    From `first` on the unknowns are effects with the variance `effect`.
    """
    size = len(vector)
    for row in range(size):
        for column in range(row + 1):
            root[row, column] = matrix[row, column]
    for row in range(first, size):
        root[row, row] += 1 / effect
    cholesky(root)
    forward(root, vector, half)
    found = -0.5 * (size - first) * math.log(effect)
    for row in range(size):
        found += 0.5 * half[row] * half[row] - math.log(root[row, row])
    return found


@compiled
def to_weights(logs: Floats) -> None:
    """Turn logarithms into weights that sum to 1, in place."""
    highest, total = logs.max(), 0.0
    for place in range(len(logs)):
        logs[place] = math.exp(logs[place] - highest)
        total += logs[place]
    for place in range(len(logs)):
        logs[place] /= total


@compiled
def _log_prior(variance: float) -> float:
    """Log density, but for a constant, of a total variance of log-odds between arms."""
    away = (0.5 * math.log(variance + LEAST_EFFECT) - math.log(TYPICAL)) / FACTOR
    return -math.log(1 + away * away)


@compiled
def effect_variance(point: int) -> float:
    """The variance of lever effects at a grid point."""
    return float(max(EFFECTS[point] ** 2, LEAST_EFFECT))


@compiled
def weigh_scales(data: SetData, sums: Sums, levers: Levers, unit: float, equal: float) -> Scales:
    """The posterior of scales, and that all differences are 0, which has the prior probability `equal`."""
    points, cells, several = len(EFFECTS), len(data.mean), len(levers.starts)
    index, difference, logs = np.zeros(points), np.empty(points + 1), np.empty(points)
    size = cells + levers.levels
    matrix, root, vector, half = np.empty((size, size)), np.empty((size, size)), np.empty(size), np.empty(size)
    spread = 0.0
    if cells > 1:
        few = 1 + levers.levels
        for point in range(points):
            if point % len(ETA) == 0:
                variance = DEVIATIONS[point] ** 2 * unit**2
                found = gather_index(data, levers, variance, LEVEL * unit**2, matrix[:few, :few], vector[:few])
            effect = effect_variance(point) * unit**2
            index[point] = found + solve(matrix[:few, :few], vector[:few], 1, effect, root[:few, :few], half[:few])
        to_weights(index)
        for point in range(points):
            spread += index[point] * (several * EFFECTS[point] ** 2 + DEVIATIONS[point] ** 2)
    for point in range(points):
        logs[point] = _log_prior(spread + several * EFFECTS[point] ** 2 + DEVIATIONS[point] ** 2)
    to_weights(logs)
    found = gather_difference(data, sums, levers, 0.0, matrix, vector)
    difference[points] = math.log(equal) + found + solve(matrix, vector, cells, NOTHING, root, half)
    for point in range(points):
        if point % len(ETA) == 0:
            found = gather_difference(data, sums, levers, DEVIATIONS[point] ** 2, matrix, vector)
        difference[point] = math.log(max((1 - equal) * logs[point], 1e-300)) + found
        difference[point] += solve(matrix, vector, cells, effect_variance(point), root, half)
    to_weights(difference)
    return Scales(index, difference)


# Moments of an arm's mean through one set, with the scales averaged


@compiled
def _add_index(data: SetData, levers: Levers, scales: Scales, unit: float, shared: Floats) -> None:
    """Fill mean and variance of the index of every arm."""
    arms, several, size = len(data.indices), len(levers.starts), 1 + levers.levels
    if len(data.mean) == 1:
        for arm in range(arms):
            shared[arm, 0], shared[arm, 1] = data.mean[0], 0.0
        return
    variance, effect = 0.0, 0.0
    for point in range(len(scales.of_index)):
        variance += scales.of_index[point] * DEVIATIONS[point] ** 2 * unit**2
        effect += scales.of_index[point] * effect_variance(point) * unit**2
    matrix, root, vector, half = np.empty((size, size)), np.empty((size, size)), np.empty(size), np.empty(size)
    found, way, solved = np.empty(size), np.empty(size), np.empty(size)
    gather_index(data, levers, variance, LEVEL * unit**2, matrix, vector)
    solve(matrix, vector, 1, effect, root, half)
    backward(root, half, found)
    for arm in range(arms):
        for row in range(size):
            way[row] = 0.0
        way[0], expected = 1.0, found[0]
        for lever in range(several):
            row = 1 + levers.starts[lever] + levers.codes[arm, lever]
            way[row] += 1.0
            expected += found[row]
        forward(root, way, solved)
        doubt = 0.0
        for row in range(size):
            doubt += solved[row] ** 2
        total = data.precision[arm] + 1 / variance
        value = data.indices[arm] - data.middle
        shared[arm, 0] = data.middle + (data.precision[arm] * value + expected / variance) / total
        shared[arm, 1] = 1 / total + (1 / (variance * total)) ** 2 * doubt


@compiled
def set_moments(
    data: SetData, sums: Sums, levers: Levers, scales: Scales, unit: float, shared: Floats, variances: Floats
) -> Floats:
    """Fill mean and variance of what arms share, (arms, 2), and the variances of their means; gives their means."""
    (arms, cells), several, points = data.rows.shape, len(levers.starts), len(scales.of_difference) - 1
    _add_index(data, levers, scales, unit, shared)
    means = np.empty(arms)
    for arm in range(arms):
        means[arm], variances[arm] = shared[arm, 0], shared[arm, 1]
    size = cells + levers.levels
    matrix, root, vector, half = np.empty((size, size)), np.empty((size, size)), np.empty(size), np.empty(size)
    found, way, also, solved = np.empty(size), np.empty(size), np.empty(size), np.empty(size)
    for part in range(2):
        chance = scales.of_difference[points] if part == 0 else 1 - scales.of_difference[points]
        variance, effect = 0.0, NOTHING
        if chance < 1e-3:
            continue
        if part == 1:
            for point in range(points):
                share = scales.of_difference[point] / chance
                variance += share * DEVIATIONS[point] ** 2
                effect += share * effect_variance(point)
        gather_difference(data, sums, levers, variance, matrix, vector)
        solve(matrix, vector, cells, effect, root, half)
        backward(root, half, found)
        for arm in range(arms):
            shrunk = variance / (1 + variance * sums.info[arm])
            left, gain = 1 - shrunk * sums.info[arm], data.gain[arm]
            shift, effects, heard = 0.0, 0.0, 0.0
            for row in range(size):
                way[row], also[row] = 0.0, 0.0
            for cell in range(cells):
                part_of = data.shares[arm, cell]
                if part_of > 0 and data.noise[cell] > 0:
                    shift += part_of * (data.start[cell] + found[cell] - data.mean[cell])
                    weighed = data.slope[cell] * sums.weight[arm, cell]
                    heard += weighed * found[cell]
                    also[cell] = part_of
                    way[cell] = part_of - gain * shrunk * weighed
            for lever in range(several):
                row = cells + levers.starts[lever] + levers.codes[arm, lever]
                effects += found[row]
                way[row] += gain * left
                also[row] += gain
            own = shrunk * (sums.score[arm] - heard - sums.info[arm] * effects)
            means[arm] += chance * (shift + gain * (effects + own))
            shared[arm, 0] += chance * (shift + gain * effects)
            variances[arm] += chance * (gain**2 * shrunk + _squares(root, way, solved))
            shared[arm, 1] += chance * _squares(root, also, solved)
    return means


@compiled
def _squares(root: Floats, way: Floats, solved: Floats) -> float:
    """way' (root root')^-1 way."""
    forward(root, way, solved)
    found = 0.0
    for row in range(len(way)):
        found += solved[row] ** 2
    return found


@compiled
def refit(tables: CellTables, stats: RewardStats, levers: Levers, fit: Fit) -> None:
    """Learn everything from the counts; `stats` receives the dispersion of rewards."""
    arms, sets = tables.arms, len(tables.cells)
    rate = _start_rate(tables, stats)
    stats.rate[0] = rate
    learn_dispersion(stats, tables.sums[:arms])
    for place in range(sets):
        # "Above zero" says nothing where all rewards are, or none.
        useless = place >= tables.plain and (stats.above[0] == 0 or stats.above[0] == stats.rows[0])
        if tables.cells[place] > MOST_CELLS or useless:
            fit.weights[place], fit.separates[place] = 0.0, 0.0
            continue
        # The empty set comes first: it says what the mean over arms is.
        for _ in range(PASSES if place == 0 else 1):
            data = read_set(tables, place, stats, rate, np.zeros(0))
            sums = add_up(data)
            unit = slope_at(stats, rate)
            equal = EQUAL if tables.cells[place] == 1 else SEPARATES
            scales = weigh_scales(data, sums, levers, unit, equal)
            means = set_moments(data, sums, levers, scales, unit, fit.shared[place], fit.variances[place])
            if place == 0:
                rate = into_range(stats, means.mean(), rate, EDGE)
        put(fit.index_scales[place], scales.of_index)
        put(fit.difference_scales[place], scales.of_difference)
        put(fit.precision[place], data.precision)
        fit.separates[place] = scales.of_difference[-1]
        fit.weights[place] = 1 / max(fit.variances[place].mean(), 1e-300)
    fit.rate[0] = rate
    total = fit.weights.sum()
    for place in range(sets):
        fit.weights[place] /= total


@compiled
def _start_rate(tables: CellTables, stats: RewardStats) -> float:
    """A first guess of the mean over arms: own means, each with two rows more at the mean of all rows."""
    pooled = stats.mean[0]
    if stats.shape != NUMBER:
        pooled = (stats.rows[0] * pooled + one_more(stats)) / (stats.rows[0] + 1)
    found = 0.0
    for arm in range(tables.arms):
        n, value, _ = tables.sums[arm]
        found += (n * value + 2 * pooled) / (n + 2) / tables.arms
    return float(found)


# Drawing


@compiled
def draw_points(weights: Floats, rng: np.random.Generator, points: Ints) -> None:
    """Points drawn by weight, systematically: each as often as its weight says, but for rounding; in order."""
    start, passed, point = rng.random(), 0.0, 0
    for draw in range(len(points)):
        while point < len(weights) - 1 and (passed + weights[point]) * len(points) <= start + draw:
            passed += weights[point]
            point += 1
        points[draw] = point


@compiled
def _draw_indices(
    data: SetData, levers: Levers, weights: Floats, unit: float, rng: np.random.Generator, drawn: Floats
) -> None:
    """Fill (draws, arms) with joint draws of the index."""
    (draws, arms), several, size = drawn.shape, len(levers.starts), 1 + levers.levels
    points = np.empty(draws, dtype=np.int64)
    draw_points(weights, rng, points)
    for last in range(draws - 1, 0, -1):  # grid points of index and difference are independent
        other = int(rng.random() * (last + 1))
        points[last], points[other] = points[other], points[last]
    matrix, root, vector, half = np.empty((size, size)), np.empty((size, size)), np.empty(size), np.empty(size)
    noise, found = np.empty(size), np.empty(size)
    order = np.argsort(points)
    for place in range(draws):
        draw, point = order[place], points[order[place]]
        variance, before = DEVIATIONS[point] ** 2 * unit**2, points[order[place - 1]]
        if place == 0 or DEVIATIONS[point] != DEVIATIONS[before]:
            gather_index(data, levers, variance, LEVEL * unit**2, matrix, vector)
        if place == 0 or point != before:
            solve(matrix, vector, 1, effect_variance(point) * unit**2, root, half)
        for row in range(size):
            noise[row] = half[row] + rng.standard_normal()
        backward(root, noise, found)
        for arm in range(arms):
            expected = found[0]
            for lever in range(several):
                expected += found[1 + levers.starts[lever] + levers.codes[arm, lever]]
            total = data.precision[arm] + 1 / variance
            value = data.indices[arm] - data.middle
            mean = (data.precision[arm] * value + expected / variance) / total
            drawn[draw, arm] = data.middle + mean + rng.standard_normal() / math.sqrt(total)


@compiled
def draw_through(
    tables: CellTables,
    place: int,
    stats: RewardStats,
    levers: Levers,
    fit: Fit,
    rng: np.random.Generator,
    drawn: Floats,
) -> None:
    """Fill (draws, arms) with joint draws of all means through one set."""
    draws, arms = drawn.shape
    rate, cells = fit.rate[0], tables.cells[place]
    unit, points = slope_at(stats, rate), len(EFFECTS)
    data = read_set(tables, place, stats, rate, fit.precision[place])
    sums = add_up(data)
    if cells > 1:
        _draw_indices(data, levers, fit.index_scales[place], unit, rng, drawn)
    else:
        drawn[:, :] = data.mean[0]
    size = cells + levers.levels
    chosen = np.empty(draws, dtype=np.int64)
    draw_points(fit.difference_scales[place], rng, chosen)
    matrix, root, vector, half = np.empty((size, size)), np.empty((size, size)), np.empty(size), np.empty(size)
    noise, found, moved = np.empty(size), np.empty(size), np.empty(cells)
    lines, rows, dispersion = np.empty((arms, 2)), data.own.copy(), np.full(arms, stats.dispersion[0])
    for arm in range(arms):
        lines[arm, 0], lines[arm, 1] = _link_line(stats, fit.shared[place, arm, 0], fit.shared[place, arm, 1], rate)
        if rows[arm] > 0 and data.gain[arm] > 0:
            # The rows tell the difference as precisely as this many rows without mediators tell a mean.
            rows[arm] *= row_variance(stats, into_range(stats, data.indices[arm], rate, EDGE)) / data.within[arm]
            dispersion[arm] = own_dispersion(stats, tables.sums[arm, 0], tables.sums[arm, 1], tables.sums[arm, 2])
    variance = -1.0
    for draw in range(draws):
        point, before = chosen[draw], variance
        variance = 0.0 if point == points else DEVIATIONS[point] ** 2
        if variance != before:
            gather_difference(data, sums, levers, variance, matrix, vector)
        if draw == 0 or point != chosen[draw - 1]:
            solve(matrix, vector, cells, NOTHING if point == points else effect_variance(point), root, half)
        for row in range(size):
            noise[row] = half[row] + rng.standard_normal()
        backward(root, noise, found)
        for cell in range(cells):
            moved[cell] = data.start[cell] + found[cell] - data.mean[cell] if data.noise[cell] > 0 else 0.0
        for arm in range(arms):
            value = drawn[draw, arm] + _effects_on(data, levers, arm, found)
            for cell in range(cells):
                value += data.shares[arm, cell] * moved[cell]
            expected = from_link(stats, lines[arm, 0] + lines[arm, 1] * value)
            spread = data.gain[arm] ** 2 * variance
            if spread > 0:
                own = drawn[draw, arm] + data.residual[arm]
                moments = conjugate(stats, expected, spread, rows[arm], own, dispersion[arm])
                drawn[draw, arm] = draw_mean(stats, moments[0], moments[1], data.own[arm], rng)
            else:
                drawn[draw, arm] = expected


@compiled
def _effects_on(data: SetData, levers: Levers, arm: int, found: Floats) -> float:
    """What the lever effects in `found` add to the mean of an arm."""
    effects, cells = 0.0, len(data.mean)
    for lever in range(len(levers.starts)):
        effects += found[cells + levers.starts[lever] + levers.codes[arm, lever]]
    return float(data.gain[arm] * effects)


@compiled
def _link_line(stats: RewardStats, mean: float, variance: float, rate: float) -> tuple[float, float]:
    """Start and slope of the line that takes normal draws to the scale of the link, where the range has no end.

    Transformed back by `from_link` the draws have this mean and variance, about, and are inside the range: they are
    log-normal or logit-normal.
    """
    if stats.shape == NUMBER:
        return 0.0, 1.0
    mean = into_range(stats, mean, rate, EDGE)
    low, width = stats.low, stats.high - stats.low
    if stats.shape == POSITIVE:
        square, skew = variance / mean**2, 1.0
        middle = math.log(mean)
    else:
        share = (mean - low) / width
        square, skew = variance / (width * share * (1 - share)) ** 2, 1 - 2 * share
        middle = math.log(share / (1 - share))
    square = min(math.log(1 + square), WIDEST)
    slope = math.sqrt(square / variance) if variance > 0 else 0.0
    return middle - 0.5 * skew * square - slope * mean, slope


@compiled
def draw_means(
    tables: CellTables, stats: RewardStats, levers: Levers, fit: Fit, rng: np.random.Generator, drawn: Floats
) -> None:
    """Fill (draws, arms) with joint draws of all means; each draw is through one set, drawn by weight."""
    places = np.empty(len(drawn), dtype=np.int64)
    draw_points(fit.weights, rng, places)
    first = 0
    while first < len(drawn):
        last = first
        while last < len(drawn) and places[last] == places[first]:
            last += 1
        draw_through(tables, places[first], stats, levers, fit, rng, drawn[first:last])
        first = last

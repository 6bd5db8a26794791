"""Algorithm 2 as compiled rules over moments, and the Gaussian twin of Thompson Sampling.

Plain UCB-Normal and plain Gaussian Thompson Sampling are the cases of no accepted set. The parts: the state, counting
rows, the estimates of every arm, draws of an arm's mean, and the choice.
"""

import math
from typing import NamedTuple

import numpy as np

from ..compiled import Bools, Floats, Ints, by_reference, compiled, put
from ..data import ArmMoments, ViewMoments, add_row, design_row, merge_into, mirror, nothing_merged, remove_row, view
from ..estimators.linear_algebra import lower_root
from ..estimators.regression import (
    Fit,
    RealPools,
    bootstrap_variance,
    fit_pool,
    means_through,
    own_mean_and_variance,
)
from .protocol import choose, indices, learn, prepare, sample_means


class RealOptions(NamedTuple):
    """How the next arm is chosen."""

    thompson: bool
    """Draw from the posterior; otherwise take the upper confidence bound."""
    printed_index: bool
    """Divide the variance in the index by the arm's rows once more, as Algorithm 2 is printed."""
    forced_plays: bool
    """Play an arm with fewer than 8 ln N rows first, as Auer et al. (2002) do."""
    initial: int
    """Choose uniformly while there are fewer rows than this."""
    bootstraps: int
    """0: variances in closed form; otherwise the number of bootstraps, as in the paper."""
    prior_rows: float
    """How many rows with the variance of all rewards an arm's variance starts from; 0: it may stay 0."""


@by_reference
class RealState(NamedTuple):
    """All that decides the next arm, but for the random numbers.

    A view is the rows that some sets may use: all rows (view 0), or those that have a value for certain variables.
    """

    rewarded: ViewMoments
    """The rows that have their reward."""
    seen: ViewMoments
    """The same rows and those whose reward is pending, without the column of the reward."""
    holds: Bools
    """(views, patterns of missing variables): whether a view has such rows; in pattern 0 nothing is missing."""
    pools: RealPools
    view_of: Ints
    """(accepted sets,): the view of each."""
    doubt: Floats
    """(accepted sets,): how probable it is that the set does not separate; 0: sets are compared by variance alone."""
    kept_arms: Ints
    """The rows themselves, for the bootstrap alone (otherwise empty): capacity may exceed the number of rows."""
    kept_values: Floats
    options: RealOptions
    allowed: Bools
    spans: Ints
    """(observed variables,): how many columns of the design each variable has."""


# Counting rows


@compiled
def count_row(state: RealState, arm: int, values: Floats, pattern: int) -> None:
    """Count one row of design columns and reward, but for what it says without the reward."""
    rows = state.rewarded.counts[0].sum()
    if pattern == 0 and rows < len(state.kept_arms):
        state.kept_arms[rows] = arm
        put(state.kept_values[rows], values)
    for index in range(len(state.holds)):
        if state.holds[index, pattern]:
            add_row(view(state.rewarded, index), arm, values)


@compiled
def see_row(state: RealState, arm: int, values: Floats, pattern: int, change: int) -> None:
    """Count what a row says without its reward (1), or take it back (-1)."""
    for index in range(len(state.holds)):
        if state.holds[index, pattern]:
            if change > 0:
                add_row(view(state.seen, index), arm, values[:-1])
            else:
                remove_row(view(state.seen, index), arm, values[:-1])


@compiled
def count_real_rows(state: RealState, arms: Ints, values: Floats, patterns: Ints, rewarded: bool, change: int) -> None:
    """Count many rows: their rewards, and with `change` of 1 or -1 what they say without them."""
    for row in range(len(arms)):
        if rewarded:
            count_row(state, arms[row], values[row], patterns[row])
        if change != 0:
            see_row(state, arms[row], values[row], patterns[row], change)


@compiled
def _design(state: RealState, values: Floats) -> Floats:
    """One row as a world draws it, the observed variables and then the reward, as columns of the design."""
    design = np.empty(state.rewarded.means.shape[2])
    design_row(state.spans, values, design)
    return design


@learn.of(RealState)
@compiled
def learn_values(state: RealState, arm: int, values: Floats, reward: float) -> None:
    """Count one row."""
    design = _design(state, values)
    count_row(state, arm, design, 0)
    see_row(state, arm, design, 0, 1)


# Draws of an arm's mean


class Prior(NamedTuple):
    """What an arm's variance starts from: this many rows of this variance; no rows is the reference prior."""

    rows: float
    variance: float


@compiled
def prior_of(moments: ArmMoments, rows: float) -> Prior:
    """This many rows with the variance of all rewards; 1 where all are alike."""
    total = moments.counts.sum()
    if rows <= 0 or total == 0:
        return Prior(0.0, 0.0)
    mean, scatter = 0.0, 0.0
    for arm in range(len(moments.counts)):
        mean += moments.counts[arm] / total * moments.means[arm, -1]
    for arm in range(len(moments.counts)):
        scatter += moments.scatter[arm, -1, -1] + moments.counts[arm] * (moments.means[arm, -1] - mean) ** 2
    return Prior(rows, scatter / total if scatter > 0 else 1.0)


@compiled
def softened(variance: float, count: int, prior: Prior) -> float:
    """The variance of an arm's mean, where its row variance starts from the prior's rows.

    Without, an arm whose first rewards are alike has variance 0 and is left, or taken, permanently.
    """
    if count < 2:
        return variance
    return (variance * count * (count - 1) + prior.rows * prior.variance) / (count - 1 + prior.rows) / count


@compiled
def _draw_t(rng: np.random.Generator, freedom: float) -> float:
    return float(rng.standard_normal() / math.sqrt(rng.chisquare(freedom) / freedom))


@compiled
def draw_own_mean(moments: ArmMoments, arm: int, prior: Prior, rng: np.random.Generator) -> float:
    """One draw of an arm's mean from its own rows: normal-inverse-gamma, a scaled t."""
    mean, variance = own_mean_and_variance(moments, arm)
    if prior.rows > 0:
        variance = softened(variance, moments.counts[arm], prior)
    return float(mean + math.sqrt(variance) * _draw_t(rng, moments.counts[arm] - 1.0 + prior.rows))


@compiled
def typical_reward(moments: ArmMoments) -> tuple[float, float]:
    """Mean and standard deviation of all rewards; 1 where there are fewer than two."""
    rows, means = moments.counts.sum(), moments.means[:, -1]
    if rows < 2:
        return means.sum(), 1.0
    mean = (moments.counts * means).sum() / rows
    scatter = moments.scatter[:, -1, -1].sum() + (moments.counts * (means - mean) ** 2).sum()
    return mean, math.sqrt(scatter / (rows - 1))


@compiled
def draw_like_others(moments: ArmMoments, arm: int, rng: np.random.Generator) -> float:
    """An arm with fewer than two rewards: as single rewards are spread, around its own or their mean."""
    typical, spread = typical_reward(moments)
    centre = moments.means[arm, -1] if moments.counts[arm] else typical
    return float(centre + spread * rng.standard_normal())


@compiled
def draw_shared_mean(
    moments: ArmMoments,
    columns: Ints,
    fit: Fit,
    scatter: Floats,
    arm: int,
    prior: Prior,
    rng: np.random.Generator,
) -> float:
    """One draw of an arm's mean through a set: Bayesian regression in the pool, own rows for the mean of S.

    Residual variance scaled inverse chi-squared, coefficients normal given it, and the arm's mean of the fitted part a
    scaled t given the coefficients; `moments` may have rows whose reward is pending. The prior of both variances is
    the reference one, or worth this many rows: of the variance of rewards, and of the fitted part in the pool
    (`scatter` is the pool's).
    """
    size = len(columns)
    freedom = fit.rows - size - 1.0 + prior.rows
    sigma = math.sqrt((fit.residual_sum + prior.rows * prior.variance) / rng.chisquare(freedom))
    root = lower_root(fit.inverse, 0.0)
    noise = np.empty(size)
    slopes = fit.slopes.copy()
    for row in range(size):
        noise[row] = rng.standard_normal()
        for column in range(row + 1):
            slopes[row] += sigma * root[row, column] * noise[column]
    result = fit.means[-1] + sigma / math.sqrt(fit.rows) * rng.standard_normal()
    spread, pooled = 0.0, 0.0
    for one in range(size):
        result += slopes[one] * (moments.means[arm, columns[one]] - fit.means[columns[one]])
        for other in range(size):
            spread += slopes[one] * moments.scatter[arm, columns[one], columns[other]] * slopes[other]
            pooled += slopes[one] * scatter[columns[one], columns[other]] * slopes[other]
    rows = moments.counts[arm]
    freedom = rows - 1.0 + prior.rows
    spread = max(spread, 0.0) + prior.rows * max(pooled, 0.0) / fit.rows
    return float(result + math.sqrt(spread / (rows * freedom)) * _draw_t(rng, freedom))


# The estimates of every arm, and the choice


class Beliefs(NamedTuple):
    """Per arm: the accepted set used (-1: own rows), its mean, and the variance of that mean."""

    chosen: Ints
    means: Floats
    variances: Floats


@compiled
def squared_error(variance: float, own_variance: float, difference: float, doubt: float) -> float:
    """Expected squared error of an arm's mean through a set, of which its own mean differs by `difference`.

    If the set separates, the difference is noise of variance own_variance - variance, since then the shared mean is the
    better of two unbiased ones. What it exceeds that by is treated as bias, to the extent that the set is doubted.
    """
    bias = difference * difference - max(own_variance - variance, 0.0)
    return variance + doubt * max(bias, 0.0)


@compiled
def beliefs(state: RealState, rng: np.random.Generator) -> Beliefs:
    """For each arm the set with the lowest expected squared error, or its own rows when they do better.

    Without doubt that is the lowest variance, the paper's rule.
    """
    moments, pools = view(state.rewarded, 0), state.pools
    arms = len(moments.counts)
    chosen = np.full(arms, -1)
    means, variances = np.empty(arms), np.empty(arms)
    prior = prior_of(moments, state.options.prior_rows)
    for arm in range(arms):
        means[arm], variances[arm] = own_mean_and_variance(moments, arm)
        if prior.rows > 0:
            variances[arm] = softened(variances[arm], moments.counts[arm], prior)
    if len(pools.widths) == 0:
        return Beliefs(chosen, means, variances)
    shared, spread = np.empty(pools.groups.shape), np.empty(pools.groups.shape)
    closed = state.options.bootstraps == 0
    for number in range(len(state.holds)):
        through, variance = means_through(view(state.rewarded, number), view(state.seen, number), pools, closed)
        for index in range(len(pools.widths)):
            if state.view_of[index] == number:
                put(shared[index], through[index])
                put(spread[index], variance[index])
    if not closed:
        rows = moments.counts.sum()
        kept = state.kept_arms[:rows], state.kept_values[:rows]
        spread = bootstrap_variance(moments, pools, kept[0], kept[1], state.options.bootstraps, rng)
    own, own_variances, lowest = means.copy(), variances.copy(), variances.copy()
    for index in range(len(pools.widths)):
        for arm in range(arms):
            error = spread[index, arm]
            if error < lowest[arm] and state.doubt[index] > 0:
                error = squared_error(error, own_variances[arm], shared[index, arm] - own[arm], state.doubt[index])
            if error < lowest[arm]:
                lowest[arm] = error
                chosen[arm], means[arm], variances[arm] = index, shared[index, arm], spread[index, arm]
    return Beliefs(chosen, means, variances)


class PoolsInUse(NamedTuple):
    """The set that each arm is drawn through, and the pools of these sets, merged once for a round."""

    chosen: Ints
    """(arms,): as in `Beliefs`."""
    pool_of: Ints
    """(arms,): the pool of each arm; -1 for its own rows."""
    merged: ArmMoments


@compiled
def pools_in_use(state: RealState, chosen: Ints) -> PoolsInUse:
    """At most one pool per arm, however many sets and groups there are."""
    pools, arms = state.pools, len(chosen)
    pool_of, of_group, of_arm = np.full(arms, -1), np.empty(arms, dtype=np.int64), np.empty(arms, dtype=np.int64)
    merged = nothing_merged(arms, state.rewarded.means.shape[2])
    used = 0
    for index in range(len(pools.widths)):
        of_group[:] = -1
        before = used
        for arm in range(arms):
            if chosen[arm] == index:
                group = pools.groups[index, arm]
                if of_group[group] < 0:
                    of_group[group] = used
                    used += 1
                pool_of[arm] = of_group[group]
        if used > before:
            for arm in range(arms):
                of_arm[arm] = of_group[pools.groups[index, arm]]
            merge_into(view(state.rewarded, state.view_of[index]), of_arm, merged)
    mirror(merged)
    return PoolsInUse(chosen, pool_of, merged)


@prepare.of(RealState)
@compiled
def prepare_pools(state: RealState, rng: np.random.Generator) -> PoolsInUse:
    """The set of each arm and its pool."""
    return pools_in_use(state, beliefs(state, rng).chosen)


@compiled
def _draw(
    state: RealState, used: PoolsInUse, moments: ArmMoments, prior: Prior, arm: int, rng: np.random.Generator
) -> float:
    index = used.chosen[arm]
    if index < 0 and moments.counts[arm] < 2:
        return draw_like_others(moments, arm, rng)
    if index < 0:
        return draw_own_mean(moments, arm, prior, rng)
    columns = state.pools.columns[index, : state.pools.widths[index]]
    fit = fit_pool(used.merged, used.pool_of[arm], columns)
    scatter = used.merged.scatter[used.pool_of[arm]]
    return draw_shared_mean(view(state.seen, state.view_of[index]), columns, fit, scatter, arm, prior, rng)


@sample_means.of(RealState)
@compiled
def drawn_means(state: RealState, used: PoolsInUse, rng: np.random.Generator) -> Floats:
    """One draw of every allowed arm's mean; NaN for the others."""
    moments = view(state.rewarded, 0)
    prior = prior_of(moments, state.options.prior_rows)
    means = np.full(len(state.allowed), np.nan)
    for arm in range(len(means)):
        if state.allowed[arm]:
            means[arm] = _draw(state, used, moments, prior, arm, rng)
    return means


@compiled
def upper_bounds(state: RealState, now: Beliefs) -> Floats:
    """The upper confidence bound of every allowed arm's mean; NaN for the others."""
    plays, bounds = state.seen.counts[0], np.full(len(state.allowed), np.nan)
    logarithm = math.log(plays.sum())
    for arm in range(len(bounds)):
        if state.allowed[arm]:
            scale = logarithm / plays[arm] if state.options.printed_index else logarithm
            bounds[arm] = now.means[arm] + 4 * math.sqrt(now.variances[arm] * scale)
    return bounds


@compiled
def first_arm(state: RealState, rng: np.random.Generator) -> int:
    """The arm to play before indices say anything: uniform at first, then any that has too few rows; -1 when done.

    Arms are chosen uniformly until this many rewards have come; rows that wait for one are plays.
    """
    counts, options = state.seen.counts[0], state.options
    if state.rewarded.counts[0].sum() < options.initial:
        left = int(rng.random() * state.allowed.sum())
        for arm in range(len(counts)):
            if state.allowed[arm]:
                if left == 0:
                    return arm
                left -= 1
    least = -1
    for arm in range(len(counts)):
        if state.allowed[arm] and (least < 0 or counts[arm] < counts[least]):
            least = arm
    wanted = math.ceil(8 * math.log(max(counts.sum(), 1))) if options.forced_plays else 2
    return least if counts[least] < max(wanted, 2) else -1


@indices.of(RealState)
@compiled
def real_indices(state: RealState, rng: np.random.Generator) -> Floats:
    """What `choose_real` compares, from the same random numbers; NaN for arms not compared."""
    if first_arm(state, rng) >= 0:
        return np.full(len(state.allowed), np.nan)
    return compared_arms(state, rng)


@compiled
def compared_arms(state: RealState, rng: np.random.Generator) -> Floats:
    """A draw from the posterior of every allowed arm, or its upper confidence bound."""
    now = beliefs(state, rng)
    if state.options.thompson:
        return drawn_means(state, pools_in_use(state, now.chosen), rng)
    return upper_bounds(state, now)


@choose.of(RealState)
@compiled
def choose_real(state: RealState, rng: np.random.Generator) -> int:
    """The next arm (Algorithm 2, or its Thompson twin)."""
    first = first_arm(state, rng)
    if first >= 0:
        return first
    found, plays = compared_arms(state, rng), state.seen.counts[0]
    best = -1
    for arm in range(len(plays)):
        if state.allowed[arm]:
            # Arms that share everything tie: the one with the fewest rows tells most about whether they should.
            tie = best >= 0 and found[arm] == found[best] and plays[arm] < plays[best]
            if best < 0 or found[arm] > found[best] or tie:
                best = arm
    return best

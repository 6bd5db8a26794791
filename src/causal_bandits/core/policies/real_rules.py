"""Algorithm 2 as compiled rules over moments, and the Gaussian twin of Thompson Sampling.

Plain UCB-Normal and plain Gaussian Thompson Sampling are the cases of no accepted set.
"""

import math
from typing import NamedTuple

import numpy as np

from ..compiled import Bools, Floats, Ints, by_reference, compiled, put
from ..data import ArmMoments, ViewMoments, merge_into, mirror, nothing_merged, view
from ..estimators.bootstrap import bootstrap_variance
from ..estimators.regression import RealPools, fit_pool, means_with_pending, own_mean_and_variance
from .protocol import choose, indices, prepare, sample_means
from .real_draws import draw_like_others, draw_own_mean, draw_shared_mean, prior_of, softened


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
    """All that decides the next arm, but for the random numbers."""

    moments: ArmMoments
    pools: RealPools
    kept_arms: Ints
    """The rows themselves, for the bootstrap alone (otherwise empty): capacity may exceed the number of rows."""
    kept_values: Floats
    options: RealOptions
    allowed: Bools
    views: ViewMoments
    """Where values were missing: the rows that sets with such variables may use. `moments` has all rows."""
    view_of: Ints
    """(accepted sets,): the view of each, or -1 where all rows count."""
    doubt: Floats
    """(accepted sets,): how probable it is that the set does not separate; 0: sets are compared by variance alone."""
    spans: Ints
    """(observed variables,): how many columns of the design each variable has."""
    holds: Bools
    """(views, patterns of missing variables): whether rows of a pattern belong to a view."""
    late: ViewMoments
    """Without the reward: first all rows, then those of each view, pending ones among them; none was ever: no views."""


class Beliefs(NamedTuple):
    """Per arm: the accepted set it is judged through (-1: its own rows), its mean, and the variance of that mean."""

    chosen: Ints
    means: Floats
    variances: Floats


@compiled
def rows_in(state: RealState, place: int) -> ArmMoments:
    """The rows of a view that have their reward; -1: all."""
    return state.moments if place < 0 else view(state.views, place)


@compiled
def seen_in(state: RealState, place: int) -> ArmMoments:
    """The same with rows whose reward is pending; then it has no column of the reward."""
    return view(state.late, place + 1) if len(state.late.counts) > 0 else rows_in(state, place)


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
    moments, pools = state.moments, state.pools
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
    for place in range(-1, len(state.views.counts)):  # one call of it all: what is called twice is compiled twice
        through, variance = means_with_pending(rows_in(state, place), seen_in(state, place), pools, closed)
        for index in range(len(pools.widths)):
            if state.view_of[index] == place:
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
    """The pools that arms are drawn through, merged once for a round."""

    places: Ints
    """(arms,): the pool of each arm; -1 for its own rows."""
    merged: ArmMoments


@compiled
def pools_in_use(state: RealState, chosen: Ints, drawn: bool) -> PoolsInUse:
    """At most one pool per arm, however many sets and groups there are; none, if nothing is drawn."""
    pools, arms = state.pools, len(chosen)
    places, of_group, of_arm = np.full(arms, -1), np.empty(arms, dtype=np.int64), np.empty(arms, dtype=np.int64)
    merged = nothing_merged(arms if drawn else 0, state.moments.means.shape[1])
    used = 0
    for index in range(len(pools.widths) if drawn else 0):
        of_group[:] = -1
        before = used
        for arm in range(arms):
            if chosen[arm] == index:
                group = pools.groups[index, arm]
                if of_group[group] < 0:
                    of_group[group] = used
                    used += 1
                places[arm] = of_group[group]
        if used > before:
            for arm in range(arms):
                of_arm[arm] = of_group[pools.groups[index, arm]]
            merge_into(rows_in(state, state.view_of[index]), of_arm, merged)
    mirror(merged)
    return PoolsInUse(places, merged)


@compiled
def _draw(state: RealState, used: PoolsInUse, index: int, arm: int, rng: np.random.Generator) -> float:
    if index < 0 and state.moments.counts[arm] < 2:
        return draw_like_others(state.moments, arm, rng)
    prior = prior_of(state.moments, state.options.prior_rows)
    if index < 0:
        return draw_own_mean(state.moments, arm, prior, rng)
    columns = state.pools.columns[index, : state.pools.widths[index]]
    fit = fit_pool(used.merged, used.places[arm], columns)
    scatter = used.merged.scatter[used.places[arm]]
    return draw_shared_mean(seen_in(state, state.view_of[index]), columns, fit, scatter, arm, prior, rng)


@compiled
def real_index(state: RealState, now: Beliefs, used: PoolsInUse, arm: int, rng: np.random.Generator) -> float:
    """What an arm is chosen by: a draw from its posterior, or its upper confidence bound."""
    if state.options.thompson:
        return _draw(state, used, now.chosen[arm], arm, rng)
    plays = seen_in(state, -1).counts
    logarithm = math.log(plays.sum())
    scale = logarithm / plays[arm] if state.options.printed_index else logarithm
    return float(now.means[arm] + 4 * math.sqrt(now.variances[arm] * scale))


@compiled
def first_arm(state: RealState, rng: np.random.Generator) -> int:
    """The arm to play before indices say anything: uniform at first, then any that has too few rows; -1 when done.

    Arms are chosen uniformly until this many rewards have come; rows that wait for one are plays.
    """
    counts, options = seen_in(state, -1).counts, state.options
    if state.moments.counts.sum() < options.initial:
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


@choose.of(RealState)
@compiled
def choose_real(state: RealState, rng: np.random.Generator) -> int:
    """The next arm (Algorithm 2, or its Thompson twin)."""
    first = first_arm(state, rng)
    if first >= 0:
        return first
    plays = seen_in(state, -1).counts
    now = beliefs(state, rng)
    used = pools_in_use(state, now.chosen, state.options.thompson)
    best, highest = -1, -np.inf
    for arm in range(len(plays)):
        if state.allowed[arm]:
            index = real_index(state, now, used, arm, rng)
            # Arms that share everything tie: the one with the fewest rows tells most about whether they should.
            if best < 0 or index > highest or (index == highest and plays[arm] < plays[best]):
                best, highest = arm, index
    return best


@indices.of(RealState)
@compiled
def real_indices(state: RealState, rng: np.random.Generator) -> Floats:
    """What `choose_real` compares, from the same random numbers; NaN for arms not compared."""
    indices = np.full(len(state.allowed), np.nan)
    if first_arm(state, rng) < 0:
        now = beliefs(state, rng)
        used = pools_in_use(state, now.chosen, state.options.thompson)
        for arm in range(len(indices)):
            if state.allowed[arm]:
                indices[arm] = real_index(state, now, used, arm, rng)
    return indices


class Sight(NamedTuple):
    """What draws from the posterior have in common."""

    chosen: Ints
    used: PoolsInUse


@prepare.of(RealState)
@compiled
def prepare_pools(state: RealState, rng: np.random.Generator) -> Sight:
    """The set of each arm and its pool."""
    now = beliefs(state, rng)
    return Sight(now.chosen, pools_in_use(state, now.chosen, True))


@sample_means.of(RealState)
@compiled
def drawn_means(state: RealState, prepared: Sight, rng: np.random.Generator) -> Floats:
    """One draw of every allowed arm's mean."""
    means = np.full(len(prepared.chosen), np.nan)
    for arm in range(len(prepared.chosen)):
        if state.allowed[arm]:
            means[arm] = _draw(state, prepared.used, prepared.chosen[arm], arm, rng)
    return means

"""Algorithm 1 as compiled rules over counts; naive Thompson Sampling is the case of no accepted set.

The ask/tell classes and the compiled rollouts call the same functions, so they choose the same arms.
"""

from typing import NamedTuple

import numpy as np

from ..compiled import Bools, Floats, Ints, by_reference, compiled
from ..data import CountTables
from ..estimators import Pools, draw_own, draw_shared, own_moments
from ..estimators import expect as expect_row
from ..estimators import learn as learn_row
from ..estimators import settle as settle_row
from .protocol import believed, choose, expect, forget, indices, learn, look, settle

LOOK_AGAIN = 0.01
"""The share of rounds in which doubted sets are believed only as far as they are probable."""


@by_reference
class ThompsonState(NamedTuple):
    """All that decides the next arm, but for the random numbers."""

    tables: CountTables
    pools: Pools
    doubt: Floats
    """(accepted sets,): how probable it is that the set does not separate; 0: sets are compared by variance alone."""
    samples: int
    """0: variances in closed form; otherwise the number of Monte Carlo samples, as in the paper."""
    allowed: Bools
    """(arms,): which arms may be chosen; the others still tell what they know."""


@compiled
def squared_error(variance: float, own_variance: float, difference: float, doubt: float) -> float:
    """Expected squared error of an arm's mean through a set, of which its own mean differs by `difference`.

    If the set separates, the difference is noise of variance own_variance - variance, since then the shared mean is the
    better of two unbiased ones. What it exceeds that by is taken for bias, as far as the set is doubted.
    """
    bias = difference * difference - max(own_variance - variance, 0.0)
    return variance + doubt * max(bias, 0.0)


@compiled
def best_sets(state: ThompsonState) -> Ints:
    """For each arm the accepted set with the lowest expected squared error, or -1 when its own rows do better.

    Without doubt that is the lowest posterior variance, the paper's rule.
    """
    pools = state.pools
    arms = pools.groups.shape[1]
    chosen = np.full(arms, -1)
    lowest, own_mean, own_variance = np.empty(arms), np.empty(arms), np.empty(arms)
    for arm in range(arms):
        own_mean[arm], own_variance[arm] = own_moments(state.tables, arm)
        lowest[arm] = own_variance[arm]
    for index in range(len(pools.places)):
        doubt = state.doubt[index]
        for arm in range(arms):
            error = pools.variance[index, arm]
            if error < lowest[arm] and doubt > 0:
                difference = pools.linear[index, arm] / pools.totals[index, arm] - own_mean[arm]
                error = squared_error(error, own_variance[arm], difference, doubt)
            if error < lowest[arm]:
                lowest[arm] = error
                chosen[arm] = index
    return chosen


@compiled
def sets_for_a_round(state: ThompsonState, best: Ints, rng: np.random.Generator) -> Ints:
    """The set of each arm in one round: the best one, but now and then a doubted set is left with that probability.

    An arm that a false set calls bad is so pulled from time to time, and its own rows then speak for it.
    """
    if len(state.doubt) == 0 or state.doubt.max() <= 0.0 or rng.random() >= LOOK_AGAIN:
        return best
    chosen = best.copy()
    for index in range(len(state.doubt)):
        if rng.random() < state.doubt[index]:
            chosen[best == index] = -1
    return chosen


@compiled
def draw_index(state: ThompsonState, chosen: Ints, arm: int, rng: np.random.Generator) -> float:
    """Draw an arm's mean through its chosen set."""
    if chosen[arm] < 0:
        return draw_own(state.tables, arm, rng)
    return draw_shared(state.tables, state.pools, chosen[arm], arm, rng)


@look.of(ThompsonState)
@compiled
def look_at_sets(state: ThompsonState, rng: np.random.Generator) -> Ints:
    """The set of each arm."""
    return best_sets(state)


@compiled
def draw_best_arm(state: ThompsonState, chosen: Ints, rng: np.random.Generator) -> int:
    """Draw each arm's mean through its chosen set, and take the highest."""
    chosen = sets_for_a_round(state, chosen, rng)
    best, highest = 0, -1.0
    for arm in range(len(chosen)):
        if state.allowed[arm]:
            index = draw_index(state, chosen, arm, rng)
            if index > highest:
                best, highest = arm, index
    return best


@believed.of(ThompsonState)
@compiled
def drawn_through(state: ThompsonState, chosen: Ints, rng: np.random.Generator) -> Floats:
    """What `draw_best_arm` compares, from the same random numbers; NaN for arms that may not be chosen."""
    chosen = sets_for_a_round(state, chosen, rng)
    indices = np.full(len(chosen), np.nan)
    for arm in range(len(chosen)):
        if state.allowed[arm]:
            indices[arm] = draw_index(state, chosen, arm, rng)
    return indices


@indices.of(ThompsonState)
@compiled
def drawn_indices(state: ThompsonState, rng: np.random.Generator) -> Floats:
    """What `choose` compares, from the same random numbers."""
    return drawn_through(state, best_sets(state), rng)


@compiled
def _choose_by_samples(state: ThompsonState, rng: np.random.Generator) -> int:
    """Algorithm 1 to the letter: variances from samples, the index is the first sample of the best set."""
    best, highest = 0, -1.0
    samples = np.empty(state.samples)
    for arm in range(state.pools.groups.shape[1]):
        if not state.allowed[arm]:
            continue
        index = draw_own(state.tables, arm, rng)
        lowest = own_moments(state.tables, arm)[1]
        for candidate in range(len(state.pools.places)):
            for draw in range(state.samples):
                samples[draw] = draw_shared(state.tables, state.pools, candidate, arm, rng)
            variance = samples.var()
            if variance < lowest:
                index, lowest = samples[0], variance
        if index > highest:
            best, highest = arm, index
    return best


@choose.of(ThompsonState)
@compiled
def choose_by_sets(state: ThompsonState, rng: np.random.Generator) -> int:
    """The next arm (Algorithm 1)."""
    if state.samples:
        return _choose_by_samples(state, rng)
    return draw_best_arm(state, best_sets(state), rng)


@learn.of(ThompsonState)
@compiled
def learn_through_sets(state: ThompsonState, arm: int, codes: Ints, reward: int) -> None:
    """Count one row in the tables and in the pools."""
    learn_row(state.tables, state.pools, arm, codes, reward)


@expect.of(ThompsonState)
@compiled
def expect_through_sets(state: ThompsonState, arm: int, codes: Ints) -> None:
    """Count a row for P(S | arm) while its reward is pending."""
    expect_row(state.tables, state.pools, arm, codes, 1)


@settle.of(ThompsonState)
@compiled
def settle_through_sets(state: ThompsonState, arm: int, codes: Ints, reward: int) -> None:
    """Count the reward of a pending row."""
    settle_row(state.tables, state.pools, arm, codes, reward)


@forget.of(ThompsonState)
@compiled
def forget_through_sets(state: ThompsonState, arm: int, codes: Ints) -> None:
    """Take a pending row back."""
    expect_row(state.tables, state.pools, arm, codes, -1)

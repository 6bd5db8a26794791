"""Algorithm 1 as compiled rules over counts; naive Thompson Sampling is the case of no accepted set.

The ask/tell classes and the compiled rollouts call the same functions, so they choose the same arms.
"""

from typing import NamedTuple

import numpy as np

from ..compiled import Bools, Floats, Ints, by_reference, compiled
from ..data import CountTables, count_pending, count_row
from ..estimators import Pools, draw_own, draw_shared, learn_through_sets, own_moments
from .protocol import choose, expect, forget, indices, learn, prepare, record_reward, sample_means


@by_reference
class ThompsonState(NamedTuple):
    """All that decides the next arm, but for the random numbers."""

    tables: CountTables
    pools: Pools
    samples: int
    """0: variances in closed form; otherwise the number of Monte Carlo samples, as in the paper."""
    allowed: Bools
    """(arms,): which arms may be chosen; rows of the others still count."""


@compiled
def best_sets(state: ThompsonState) -> Ints:
    """For each arm the accepted set with the lowest posterior variance, or -1 when its own rows do better."""
    pools = state.pools
    arms = pools.groups.shape[1]
    chosen = np.full(arms, -1)
    lowest = np.empty(arms)
    for arm in range(arms):
        lowest[arm] = own_moments(state.tables, arm)[1]
    for index in range(len(pools.sets)):
        for arm in range(arms):
            if pools.variance[index, arm] < lowest[arm]:
                lowest[arm] = pools.variance[index, arm]
                chosen[arm] = index
    return chosen


@prepare.of(ThompsonState)
@compiled
def prepare_sets(state: ThompsonState, rng: np.random.Generator) -> Ints:
    """The set of each arm."""
    return best_sets(state)


@sample_means.of(ThompsonState)
@compiled
def drawn_through(state: ThompsonState, chosen: Ints, rng: np.random.Generator) -> Floats:
    """Draw the mean of each arm that may be chosen through its set; NaN for the others."""
    indices = np.full(len(chosen), np.nan)
    for arm in range(len(chosen)):
        if state.allowed[arm] and chosen[arm] < 0:
            indices[arm] = draw_own(state.tables, arm, rng)
        elif state.allowed[arm]:
            indices[arm] = draw_shared(state.tables, state.pools, chosen[arm], arm, rng)
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
        for candidate in range(len(state.pools.sets)):
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
    return int(np.argmax(np.where(state.allowed, drawn_indices(state, rng), -1.0)))


@learn.of(ThompsonState)
@compiled
def learn_row(state: ThompsonState, arm: int, codes: Ints, reward: int) -> None:
    """Count one row in the tables and in the pools; not where it lacks a value."""
    learn_through_sets(state.tables, state.pools, arm, codes, reward, 1)
    count_row(state.tables, arm, codes, reward)


@expect.of(ThompsonState)
@compiled
def expect_row(state: ThompsonState, arm: int, codes: Ints) -> None:
    """Count a row for P(S | arm) while its reward is pending."""
    learn_through_sets(state.tables, state.pools, arm, codes, -1, 1)
    count_pending(state.tables, arm, codes, 1)


@record_reward.of(ThompsonState)
@compiled
def count_late_reward(state: ThompsonState, arm: int, codes: Ints, reward: int) -> None:
    """Count the reward of a pending row."""
    learn_through_sets(state.tables, state.pools, arm, codes, reward, 0)
    count_pending(state.tables, arm, codes, -1)
    count_row(state.tables, arm, codes, reward)


@forget.of(ThompsonState)
@compiled
def forget_row(state: ThompsonState, arm: int, codes: Ints) -> None:
    """Take a pending row back."""
    learn_through_sets(state.tables, state.pools, arm, codes, -1, -1)
    count_pending(state.tables, arm, codes, -1)

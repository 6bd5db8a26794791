"""What every comparator counts and plans, and the rules that most of them share.

Counts are a fold over the rows: no rule draws random numbers while it learns, so a policy that reads its rows back from
a save file has the same state as before.
"""

import math
from typing import Any, NamedTuple, TypeVar

import numpy as np

from ...core.compiled import Bools, Floats, Ints, Operation, by_reference, compiled
from ...core.estimators import beta_moments
from ...core.policies.protocol import choose, indices, learn, prepare, prepare_nothing, sample_means

TIE = 1e-12
"""Sums of the same terms differ in the last bits; arms this close are drawn from."""


@by_reference
class Counts(NamedTuple):
    """Rewards per arm, counts per cell of one set Z, and what is planned."""

    allowed: Bools
    """(arms,): the arms that the rule chooses from."""
    quota: Ints
    """(arms,): planned pulls that are still to be made; they come before the rule."""
    rewards: Ints
    """(arms, 2): zeros and ones credited to the arm."""
    seen: Ints
    """(arms, cells, 2): zeros and ones of the arm's own rows by cell of Z."""
    pooled: Ints
    """(cells, 2): the same over all arms."""
    strides: Ints
    """(variables,): the cell of a row is the dot product of its codes with these."""
    rows: Ints
    """(1,): how many rows were counted."""
    planned: Ints
    """(1,): how many planned pulls are left."""
    settings: Ints
    """(arms, variables): the levels that an arm sets, -1 where none, for rows that count for several arms."""
    donors: Bools
    """(arms,): whose rows are credited to the arms whose levels they happen to have."""


def empty_counts(arms: int, strides: Ints, cells: int) -> Counts:
    """Nothing counted, nothing planned, all arms allowed."""
    shapes = ((arms,), (arms, 2), (arms, cells, 2), (cells, 2))
    quota, rewards, seen, pooled = (np.zeros(shape, dtype=np.int64) for shape in shapes)
    nothing, none_planned = np.zeros(1, dtype=np.int64), np.zeros(1, dtype=np.int64)
    all_arms, settings = np.ones(arms, dtype=np.bool_), np.full((arms, 0), -1)
    return Counts(all_arms, quota, rewards, seen, pooled, strides, nothing, none_planned, settings, ~all_arms)


def own_rows(counts: Counts) -> Ints:
    """(arms,): the rows that each arm made."""
    rows: Ints = counts.seen.sum(axis=(1, 2))
    return rows


@compiled
def count(counts: Counts, arm: int, codes: Ints, reward: int) -> None:
    """Count one row for its arm, and its reward for the others that it serves: X = x tells of do(X = x)."""
    cell = 0
    for variable in range(len(counts.strides)):
        cell += codes[variable] * counts.strides[variable]
    counts.seen[arm, cell, reward] += 1
    counts.pooled[cell, reward] += 1
    counts.rewards[arm, reward] += 1
    counts.rows[0] += 1
    if counts.quota[arm] > 0:
        counts.quota[arm] -= 1
        counts.planned[0] -= 1
    if counts.donors[arm]:
        for other in range(len(counts.settings)):
            if other != arm and has_levels_of(counts.settings, other, codes):
                counts.rewards[other, reward] += 1


@compiled
def has_levels_of(settings: Ints, arm: int, codes: Ints) -> bool:
    """Whether a row has the levels that an arm sets."""
    for variable in range(settings.shape[1]):
        if settings[arm, variable] >= 0 and settings[arm, variable] != codes[variable]:
            return False
    return True


@compiled
def highest(values: Floats, rng: np.random.Generator) -> int:
    """The arm with the highest value, where NaN is none; each of those that tie is equally likely."""
    found, most, ties = -1, -math.inf, 0
    for arm in range(len(values)):
        if values[arm] > most + TIE:
            found, most, ties = arm, values[arm], 1
        elif values[arm] >= most - TIE:
            ties += 1
            if rng.random() * ties < 1:
                found = arm
    return found


@compiled
def any_of(weights: Any, rng: np.random.Generator) -> int:
    """One of the arms with a positive weight, each equally likely."""
    found, ties = -1, 0
    for arm in range(len(weights)):
        if weights[arm] > 0:
            ties += 1
            if rng.random() * ties < 1:
                found = arm
    return found


# What states with counts do unless they say otherwise


@Operation
def arm_index(state: Any, arm: int, rng: np.random.Generator) -> float:
    """What an arm is compared by."""
    raise NotImplementedError


@Operation
def moments(state: Any, arm: int) -> tuple[float, float]:
    """Posterior mean and variance of an arm."""
    raise NotImplementedError


@compiled
def mean_and_rows(counts: Counts, arm: int) -> tuple[float, int]:
    """m and n: the mean of the rewards credited to an arm, and their number."""
    ones, n = counts.rewards[arm, 1], counts.rewards[arm, 0] + counts.rewards[arm, 1]
    return ones / n if n else 0.0, n


@compiled
def choose_highest(state: Any, rng: np.random.Generator) -> int:
    """Planned pulls first, then the highest index; ties are drawn."""
    if state.counts.planned[0] > 0:
        return any_of(state.counts.quota, rng)
    return highest(indices_of_arms(state, rng), rng)


@compiled
def indices_of_arms(state: Any, rng: np.random.Generator) -> Floats:
    """The index of every arm that may be played; none while pulls are planned."""
    found = np.full(len(state.counts.allowed), np.nan)
    for arm in range(len(found)):
        if state.counts.allowed[arm] and state.counts.planned[0] == 0:
            found[arm] = arm_index(state, arm, rng)
    return found


@compiled
def count_row(state: Any, arm: int, codes: Ints, reward: int) -> None:
    """Count one row."""
    count(state.counts, arm, codes, reward)


@compiled
def sample_by_rewards(state: Any, prepared: int, rng: np.random.Generator) -> Floats:
    """A draw from Beta(1 + ones, 1 + zeros) of every allowed arm."""
    means = np.full(len(state.counts.allowed), np.nan)
    for arm in range(len(means)):
        if state.counts.allowed[arm]:
            means[arm] = draw_by_rewards(state.counts, arm, rng)
    return means


@compiled
def draw_by_rewards(counts: Counts, arm: int, rng: np.random.Generator) -> float:
    """A draw of an arm's mean from the rewards credited to it."""
    return float(rng.beta(1.0 + counts.rewards[arm, 1], 1.0 + counts.rewards[arm, 0]))


@compiled
def moments_by_rewards(state: Any, arm: int) -> tuple[float, float]:
    """Those of Beta(1 + ones, 1 + zeros)."""
    return beta_moments(state.counts.rewards[arm, 0], state.counts.rewards[arm, 1])


@compiled
def moments_of_arms(state: Any) -> Floats:
    """(arms, 2): posterior mean and variance of every arm."""
    found = np.empty((len(state.counts.allowed), 2))
    for arm in range(len(found)):
        found[arm, 0], found[arm, 1] = moments(state, arm)
    return found


@compiled
def choose_highest_draw(state: Any, rng: np.random.Generator) -> int:
    """The arm with the highest draw."""
    return int(np.argmax(np.where(state.allowed, indices(state, rng), -np.inf)))


@compiled
def sample_by_indices(state: Any, prepared: int, rng: np.random.Generator) -> Floats:
    """One joint draw from the posterior."""
    return indices(state, rng)


S = TypeVar("S", bound=type)


def drawn(state: S) -> S:
    """A state with `allowed` whose `indices` are a joint draw from the posterior: it plays the highest."""
    choose.of(state)(choose_highest_draw)
    prepare.of(state)(prepare_nothing)
    sample_means.of(state)(sample_by_indices)
    return state


def counted(state: S) -> S:
    """A state that holds `counts`: the rules above are its own, until it registers others."""
    choose.of(state)(choose_highest)
    learn.of(state)(count_row)
    indices.of(state)(indices_of_arms)
    prepare.of(state)(prepare_nothing)
    sample_means.of(state)(sample_by_rewards)
    moments.of(state)(moments_by_rewards)
    return state

"""Tally: what the comparators count, as arrays that compiled rules read and write.

A tally is a fold over the rows: no rule draws random numbers while it learns, so a policy that reads its rows back
from a save file stands where it stood.
"""

from typing import NamedTuple

import numpy as np

from ...compiled import Bools, Floats, Ints, compiled
from .indices import doubts_the_set, scaled_ucb_index

ROWS, PLANNED, FALLEN, LEADING, MIXTURES = range(5)
"""Places in `flags`: rows counted, planned pulls left, whether HAC-UCB has fallen back to plain UCB, the action that
leads (arms, then mixtures of arms), and how many mixtures there are."""

MIXING, HAC = 11, 20
"""The rules that learning has to know of: one remembers which action leads, one tests its set after every row."""


class Tally(NamedTuple):
    """Rewards per arm, counts per cell of one set Z, what is told of P(Z | arm), and what is planned."""

    rule: int
    """Which rule chooses; see `rules`."""
    numbers: Floats
    """The options of the rule."""
    allowed: Bools
    """(arms,): the arms that the rule chooses from."""
    weights: Floats
    """(arms,): the probabilities of the rule that samples arms; empty otherwise."""
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
    chances: Floats
    """(arms, cells): P(Z | arm) as told or estimated; no cells when it is not used."""
    settings: Ints
    """(arms, variables): where rows are credited to other arms, the levels an arm sets, -1 where none; else empty."""
    donors: Bools
    """(arms,): whose rows are credited to the arms whose levels they happen to have."""
    mixtures: Floats
    """(most mixtures, arms): actions that pull an arm with these probabilities."""
    mixed: Ints
    """(most mixtures, 2): zeros and ones of the rows that a mixture led to."""
    flags: Ints
    """See ROWS and the others."""


@compiled
def _agrees(settings: Ints, arm: int, codes: Ints) -> bool:
    """Whether a row has the levels that an arm sets."""
    for variable in range(settings.shape[1]):
        if settings[arm, variable] >= 0 and settings[arm, variable] != codes[variable]:
            return False
    return True


@compiled
def find_leader(tally: Tally) -> None:
    """The action with the highest m + sqrt(c ln T / n), arms first, then mixtures; the first of equals."""
    arms, leader, highest = len(tally.allowed), -1, -np.inf
    for action in range(arms + tally.flags[MIXTURES]):
        if action < arms and not tally.allowed[action]:
            continue
        counts = tally.rewards[action] if action < arms else tally.mixed[action - arms]
        n, ones = counts[0] + counts[1], counts[1]
        value = scaled_ucb_index(ones / n, n, tally.numbers[1], tally.numbers[0]) if n else np.inf
        if value > highest:
            leader, highest = action, value
    tally.flags[LEADING] = leader


@compiled
def learn_tally(tally: Tally, arm: int, codes: Ints, reward: int) -> None:
    """Count one row."""
    cell = 0
    for variable in range(len(tally.strides)):
        cell += codes[variable] * tally.strides[variable]
    tally.seen[arm, cell, reward] += 1
    tally.pooled[cell, reward] += 1
    tally.rewards[arm, reward] += 1
    if len(tally.settings) and tally.donors[arm]:
        for other in range(len(tally.settings)):
            if other != arm and _agrees(tally.settings, other, codes):
                tally.rewards[other, reward] += 1
    if tally.rule == MIXING:
        if tally.flags[LEADING] >= len(tally.allowed):
            tally.mixed[tally.flags[LEADING] - len(tally.allowed), reward] += 1
        find_leader(tally)
    tally.flags[ROWS] += 1
    if tally.quota[arm] > 0:
        tally.quota[arm] -= 1
        tally.flags[PLANNED] -= 1
    if tally.rule == HAC and tally.flags[PLANNED] == 0 and tally.flags[FALLEN] == 0 and tally.chances.shape[1]:
        tally.flags[FALLEN] = doubts_the_set(tally.rewards, tally.pooled, tally.chances, tally.numbers[0])


@compiled
def learn_tally_rows(tally: Tally, arms: Ints, codes: Ints, rewards: Ints) -> None:
    """Count many rows."""
    for row in range(len(arms)):
        learn_tally(tally, arms[row], codes[row], rewards[row])


@compiled
def tally_moments(tally: Tally, arm: int) -> tuple[float, float]:
    """Posterior mean and variance of an arm: sum_z p(z | a) theta_z where p is in use, else from its own rewards."""
    if tally.chances.shape[1] == 0 or tally.flags[FALLEN]:
        return _beta(tally.rewards[arm, 0], tally.rewards[arm, 1])
    mean, variance = 0.0, 0.0
    for cell in range(tally.chances.shape[1]):
        p = tally.chances[arm, cell]
        of_cell, spread = _beta(tally.pooled[cell, 0], tally.pooled[cell, 1])
        mean += p * of_cell
        variance += p * p * spread
    return mean, variance


@compiled
def _beta(zeros: int, ones: int) -> tuple[float, float]:
    """Mean and variance of Beta(1 + ones, 1 + zeros)."""
    total = zeros + ones + 2
    mean = (ones + 1) / total
    return mean, mean * (1 - mean) / (total + 1)


def empty_tally(
    arms: int, strides: Ints, cells: int, *, rule: int, numbers: Floats, chances: Floats, settings: Ints, mixtures: int
) -> Tally:
    """A tally that has counted nothing: all arms allowed, nothing planned."""
    return Tally(
        rule,
        numbers,
        np.ones(arms, dtype=np.bool_),
        np.empty(0),
        np.zeros(arms, dtype=np.int64),
        np.zeros((arms, 2), dtype=np.int64),
        np.zeros((arms, cells, 2), dtype=np.int64),
        np.zeros((cells, 2), dtype=np.int64),
        strides,
        chances,
        settings,
        np.ones(arms, dtype=np.bool_),
        np.zeros((mixtures, arms)),
        np.zeros((mixtures, 2), dtype=np.int64),
        np.zeros(5, dtype=np.int64),
    )

"""The posterior of Algorithm 1: p ~ Dirichlet(own counts + 1), mu(s) ~ Beta(pooled counts + 1), index = p . mu.

Its mean and variance have a closed form, so nothing is sampled to compare sets. With a_s the Dirichlet parameters,
A their sum, m_s and v_s the mean and variance of the Betas,

    E[p . mu] = F / A,   V[p . mu] = (Q - F^2 / A) / (A (A + 1)),
    F = sum a_s m_s,     Q = sum a_s^2 v_s + a_s (m_s^2 + v_s),

and a new row changes one term of F and Q per arm: that is all `learn` does.

Deviation: the paper estimates the variance from 200 samples; this is what that estimate converges to.
"""

from functools import lru_cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..compiled import Floats, Ints, compiled
from ..data import CountTables, cell_of, count_row
from ..discovery import Findings
from ..problem import Problem


class Pools(NamedTuple):
    """The accepted sets, the rewards each lets arms share, and the posterior moments of every arm through every set."""

    places: Ints
    """(accepted sets,): which table."""
    groups: Ints
    """(accepted sets, arms): arms with equal numbers share."""
    starts: Ints
    """(accepted sets,): where the set's pooled counts begin."""
    counts: NDArray[np.int32]
    """Flat: set, group, cell, reward."""
    linear: Floats
    """(accepted sets, arms): F."""
    square: Floats
    """(accepted sets, arms): Q."""
    variance: Floats
    """(accepted sets, arms)."""
    totals: Floats
    """(accepted sets, arms): A; the arm's own rows that have a value for the set, plus its cells."""


@compiled
def _beta_moments(zeros: int, ones: int) -> tuple[float, float]:
    """Mean and variance of Beta(ones + 1, zeros + 1)."""
    total = zeros + ones + 2
    mean = (ones + 1) / total
    return mean, mean * (1 - mean) / (total + 1)


@compiled
def _square_term(a: float, mean: float, variance: float) -> float:
    return a * a * variance + a * (mean * mean + variance)


@compiled
def _variance(linear: float, square: float, total: float) -> float:
    return (square - linear * linear / total) / (total * (total + 1))


@compiled
def own_moments(tables: CountTables, arm: int) -> tuple[float, float]:
    """Posterior mean and variance of an arm from its own rows: what naive Thompson Sampling knows."""
    return _beta_moments(tables.counts[2 * arm], tables.counts[2 * arm + 1])


@compiled
def _fill(tables: CountTables, pools: Pools) -> None:
    """Pool the counts of each accepted set, then compute all moments afresh."""
    arms = pools.groups.shape[1]
    for index in range(len(pools.places)):
        place = pools.places[index]
        cells = tables.cells[place]
        for arm in range(arms):
            source = tables.starts[place] + arm * cells * 2
            sink = pools.starts[index] + pools.groups[index, arm] * cells * 2
            for offset in range(cells * 2):
                pools.counts[sink + offset] += tables.counts[source + offset]
        for arm in range(arms):
            source = tables.starts[place] + arm * cells * 2
            sink = pools.starts[index] + pools.groups[index, arm] * cells * 2
            linear, square, total = 0.0, 0.0, 0.0
            for cell in range(cells):
                a = tables.counts[source + 2 * cell] + tables.counts[source + 2 * cell + 1] + 1.0
                mean, variance = _beta_moments(pools.counts[sink + 2 * cell], pools.counts[sink + 2 * cell + 1])
                linear += a * mean
                square += _square_term(a, mean, variance)
                total += a
            pools.linear[index, arm] = linear
            pools.square[index, arm] = square
            pools.totals[index, arm] = total
            pools.variance[index, arm] = _variance(linear, square, total)


@compiled
def learn(tables: CountTables, pools: Pools, arm: int, codes: Ints, reward: int) -> None:
    """Count one row everywhere: tables, pools, moments; not where it lacks a value."""
    arms = pools.groups.shape[1]
    for index in range(len(pools.places)):
        place = pools.places[index]
        cells = tables.cells[place]
        cell = cell_of(tables, place, codes)
        if cell < 0:
            continue
        pools.totals[index, arm] += 1.0
        group = pools.groups[index, arm]
        at = pools.starts[index] + (group * cells + cell) * 2
        mean, variance = _beta_moments(pools.counts[at], pools.counts[at + 1])
        pools.counts[at + reward] += 1
        new_mean, new_variance = _beta_moments(pools.counts[at], pools.counts[at + 1])
        for other in range(arms):
            if pools.groups[index, other] == group:
                source = tables.starts[place] + (other * cells + cell) * 2
                a = tables.counts[source] + tables.counts[source + 1] + 1.0
                new_a = a + 1 if other == arm else a
                pools.linear[index, other] += new_a * new_mean - a * mean
                pools.square[index, other] += _square_term(new_a, new_mean, new_variance) - _square_term(
                    a, mean, variance
                )
                total = pools.totals[index, other]
                pools.variance[index, other] = _variance(pools.linear[index, other], pools.square[index, other], total)
    count_row(tables, arm, codes, reward)


@compiled
def learn_many(tables: CountTables, pools: Pools, arms: Ints, codes: Ints, rewards: Ints) -> None:
    """Count many rows, one after the other."""
    for row in range(len(arms)):
        learn(tables, pools, arms[row], codes[row], rewards[row])


@compiled
def _draw_beta(zeros: int, ones: int, rng: np.random.Generator) -> float:
    """One draw of Beta(ones + 1, zeros + 1); where nothing was seen that is uniform, and cheap."""
    if zeros + ones == 0:
        return rng.random()
    return float(rng.beta(ones + 1.0, zeros + 1.0))


@compiled
def draw_own(tables: CountTables, arm: int, rng: np.random.Generator) -> float:
    """One draw of an arm's mean from its own rows."""
    return _draw_beta(tables.counts[2 * arm], tables.counts[2 * arm + 1], rng)


@compiled
def draw_shared(tables: CountTables, pools: Pools, index: int, arm: int, rng: np.random.Generator) -> float:
    """One draw of an arm's mean through an accepted set: p . mu."""
    place = pools.places[index]
    cells = tables.cells[place]
    source = tables.starts[place] + arm * cells * 2
    sink = pools.starts[index] + pools.groups[index, arm] * cells * 2
    if cells == 1:
        return _draw_beta(pools.counts[sink], pools.counts[sink + 1], rng)
    total, weighted = 0.0, 0.0
    for cell in range(cells):
        weight = rng.standard_gamma(tables.counts[source + 2 * cell] + tables.counts[source + 2 * cell + 1] + 1.0)
        reward = _draw_beta(pools.counts[sink + 2 * cell], pools.counts[sink + 2 * cell + 1], rng)
        total += weight
        weighted += weight * reward
    return weighted / total


def no_pools(arms: int) -> Pools:
    """Nothing is shared: naive Thompson Sampling."""
    nothing = np.empty((0, arms))
    return Pools(
        np.empty(0, dtype=np.int64),
        np.empty((0, arms), dtype=np.int64),
        np.empty(0, dtype=np.int64),
        np.empty(0, dtype=np.int32),
        nothing,
        nothing.copy(),
        nothing.copy(),
        nothing.copy(),
    )


def make_pools(findings: Findings, tables: CountTables) -> Pools:
    """Pool along the sets that separate at least one intervention variable; all of them have a table."""
    problem = findings.layout.problem
    places = np.flatnonzero(findings.separated.any(axis=1))
    if not len(places):
        return no_pools(len(problem.arms))
    patterns, which = np.unique(findings.separated[places], axis=0, return_inverse=True)  # few, where sets are many
    groups = np.array([_groups(problem, tuple(pattern)) for pattern in patterns.tolist()])[which.reshape(-1)]
    at = np.searchsorted(tables.sets, places)
    lengths = (groups.max(axis=1) + 1) * tables.cells[at] * 2
    starts = np.concatenate(([0], np.cumsum(lengths)[:-1])).astype(np.int64)
    shape = groups.shape
    pools = Pools(
        at,
        groups,
        starts,
        np.zeros(int(lengths.sum()), dtype=np.int32),
        np.empty(shape),
        np.empty(shape),
        np.empty(shape),
        np.empty(shape),
    )
    _fill(tables, pools)
    return pools


@lru_cache(maxsize=1024)
def _groups(problem: Problem, separated: tuple[bool, ...]) -> Ints:
    names = problem.intervention_names
    return problem.arm_groups([name for name, yes in zip(names, separated, strict=True) if not yes])

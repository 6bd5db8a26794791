"""Arms judged through the cells of one set Z: E[Y | a] = sum_z p(z | a) E[Y | z], with p told or estimated."""

from typing import Any, TypeVar

import numpy as np

from ...core.compiled import Floats, Ints, compiled
from ...core.estimators import beta_moments
from ...core.policies.protocol import sample_means
from .counts import TIE, Counts, moments


@compiled
def through_cells(chances: Floats, arm: int, values: Floats) -> float:
    """sum_z p(z | a) value_z."""
    total = 0.0
    for cell in range(len(values)):
        total += chances[arm, cell] * values[cell]
    return total


@compiled
def draw_cells(pooled: Ints, cells: int, rng: np.random.Generator) -> Floats:
    """theta_z from Beta(1 + ones, 1 + zeros) for each cell."""
    values = np.empty(cells)
    for cell in range(cells):
        values[cell] = rng.beta(1.0 + pooled[cell, 1], 1.0 + pooled[cell, 0])
    return values


@compiled
def draw_chances(seen: Ints, arm: int, prior: float, rng: np.random.Generator) -> Floats:
    """P(Z | arm) from Dirichlet(prior + the arm's rows in each cell)."""
    chances = np.empty(seen.shape[1])
    for cell in range(len(chances)):
        chances[cell] = rng.standard_gamma(prior + seen[arm, cell, 0] + seen[arm, cell, 1])
    return np.asarray(chances / max(chances.sum(), 1e-300))


@compiled
def first_highest(counts: Counts, chances: Floats, values: Floats) -> int:
    """The allowed arm with the highest value through cells.

    Arms with the same p(z | a) are the same arm: the first of them stands for all, and no tie is drawn.
    """
    best, highest = -1, -np.inf
    for arm in range(len(counts.allowed)):
        if counts.allowed[arm]:
            value = through_cells(chances, arm, values)
            if value > highest + TIE:
                best, highest = arm, value
    return best


@compiled
def values_of_arms(counts: Counts, chances: Floats, values: Floats) -> Floats:
    """What `first_highest` compares; NaN for arms that it does not, and while pulls are planned."""
    found = np.full(len(counts.allowed), np.nan)
    for arm in range(len(found)):
        if counts.allowed[arm] and counts.planned[0] == 0:
            found[arm] = through_cells(chances, arm, values)
    return found


@compiled
def sample_through_cells(state: Any, prepared: int, rng: np.random.Generator) -> Floats:
    """The mean of every allowed arm in a draw of every cell."""
    values = draw_cells(state.counts.pooled, state.chances.shape[1], rng)
    means = np.full(len(state.counts.allowed), np.nan)
    for arm in range(len(means)):
        if state.counts.allowed[arm]:
            means[arm] = through_cells(state.chances, arm, values)
    return means


@compiled
def moments_of_cells(counts: Counts, chances: Floats, arm: int) -> tuple[float, float]:
    """Posterior mean and variance of sum_z p(z | a) theta_z."""
    mean, variance = 0.0, 0.0
    for cell in range(chances.shape[1]):
        p = chances[arm, cell]
        of_cell, spread = beta_moments(counts.pooled[cell, 0], counts.pooled[cell, 1])
        mean += p * of_cell
        variance += p * p * spread
    return mean, variance


@compiled
def moments_through_cells(state: Any, arm: int) -> tuple[float, float]:
    """Posterior mean and variance of an arm."""
    return moments_of_cells(state.counts, state.chances, arm)


S = TypeVar("S", bound=type)


def through_chances(state: S) -> S:
    """A state with `chances` as well: its posterior is that of the cells."""
    sample_means.of(state)(sample_through_cells)
    moments.of(state)(moments_through_cells)
    return state

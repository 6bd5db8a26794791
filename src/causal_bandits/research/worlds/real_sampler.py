"""Drawing from a real-valued world: a Gaussian per arm, or the logged rows of the arm."""

from typing import NamedTuple

import numpy as np

from ...core.compiled import Floats, Ints, by_reference, compiled
from .drawing import draw, fill, scratch


@by_reference
class RealSampler(NamedTuple):
    """A world as arrays. Columns are the observed variables, a discrete one as its level number, and the reward last.

    A table without rows means a Gaussian world; otherwise `means` and `roots` are empty.
    """

    means: Floats
    """(arms, columns)."""
    roots: Floats
    """(arms, columns, columns): root @ root.T is the covariance; it need not be triangular, and may be singular."""
    starts: Ints
    """(arms,): where the rows of the arm begin in the table."""
    lengths: Ints
    """(arms,): how many rows the arm has."""
    table: Floats
    """(rows, columns)."""


def gaussian_sampler(means: Floats, roots: Floats) -> RealSampler:
    """A sampler with a Gaussian per arm."""
    nothing = np.zeros(len(means), dtype=np.int64)
    return RealSampler(
        np.ascontiguousarray(means), np.ascontiguousarray(roots), nothing, nothing, np.empty((0, means.shape[1]))
    )


def logged_sampler(arms: Ints, table: Floats, count: int) -> RealSampler:
    """A sampler of the rows of a table, given the arm of each row and the number of arms."""
    lengths = np.bincount(arms, minlength=count)
    starts = np.concatenate(([0], np.cumsum(lengths)[:-1])).astype(np.int64)
    by_arm = np.ascontiguousarray(table[np.argsort(arms, kind="stable")])
    return RealSampler(np.empty((0, 0)), np.empty((0, 0, 0)), starts, lengths.astype(np.int64), by_arm)


@scratch.of(RealSampler)
@compiled
def no_room(sampler: RealSampler) -> Floats:
    """Nothing is needed."""
    return np.empty(0)


@draw.of(RealSampler)
@compiled
def draw_values(sampler: RealSampler, arm: int, rng: np.random.Generator, room: Floats, values: Floats) -> float:
    """Pull an arm: fills `values` with the observed variables and, last, the reward, which it gives too."""
    if len(sampler.table) > 0:
        row = sampler.starts[arm] + int(rng.random() * sampler.lengths[arm])
        values[:] = sampler.table[row]
        return float(values[-1])
    values[:] = sampler.means[arm]
    for noise in range(sampler.roots.shape[2]):
        normal = rng.standard_normal()
        for place in range(len(values)):
            values[place] += sampler.roots[arm, place, noise] * normal
    return float(values[-1])


@fill.of(RealSampler)
@compiled
def draw_real_many(sampler: RealSampler, arm: int, rng: np.random.Generator, values: Floats) -> None:
    """Pull one arm as often as `values` has rows."""
    room = no_room(sampler)
    for row in range(len(values)):
        draw_values(sampler, arm, rng, room, values[row])

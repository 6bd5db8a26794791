"""Eq. 2 on data sets with fixed numbers of rows per arm, in worlds whose distributions are known exactly.

A data set is drawn as a table of counts, multinomial from P(S, Y | arm): no step assumes that S separates. All data
sets are estimated in one call, each as its own group of arms.
"""

from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np

from ...core.compiled import Floats, Ints
from ...core.estimators import sample_mean, sharing_estimate, sharing_variance
from ..worlds import DiscreteSCM

AT_ONCE = 2000
"""Data sets in memory at a time."""


class Seen(NamedTuple):
    """A world seen through S."""

    joint: Floats
    """(arms, cells, 2): P(S, Y | arm)."""
    groups: Ints
    """(arms,): the setting of I_NS."""

    @property
    def means(self) -> Floats:
        """The mean reward of each arm."""
        means: Floats = self.joint[:, :, 1].sum(axis=1)
        return means


def see(world: DiscreteSCM, through: Iterable[str], not_separated: Iterable[str] = ()) -> Seen:
    """The exact distribution of S and Y under every arm."""
    names = [*through, world.problem.target]
    joint = np.array([world.distribution(arm, names).reshape(-1, 2) for arm in world.problem.arms])
    return Seen(joint / joint.sum(axis=(1, 2), keepdims=True), world.problem.arm_groups(not_separated))


def draw_tables(joint: Floats, rows: Sequence[int], count: int, rng: np.random.Generator) -> Ints:
    """Tables of many data sets: (data sets, arms, ...)."""
    drawn = [rng.multinomial(n, p.ravel(), size=count) for n, p in zip(rows, joint, strict=True)]
    return np.stack(drawn, axis=1).reshape(count, *joint.shape)


def shared_estimates(tables: Ints, groups: Ints) -> Floats:
    """Eq. 2 / 6 for each data set and arm."""
    apart = np.arange(len(tables))[:, None] * (groups.max() + 1) + groups
    flat = sharing_estimate(tables.reshape(-1, *tables.shape[2:]), apart.ravel())
    return flat.reshape(tables.shape[:2])


def own_estimates(tables: Ints) -> Floats:
    """The sample mean for each data set and arm."""
    return sample_mean(tables.reshape(-1, *tables.shape[2:])).reshape(tables.shape[:2])


def decomposed_variance(seen: Seen, rows: Sequence[int]) -> Floats:
    """The variance that appendix A gives for every arm, within its group."""
    variance = np.empty(len(rows))
    for group in range(int(seen.groups.max()) + 1):
        members = np.flatnonzero(seen.groups == group)
        joint = seen.joint[members]
        total = joint.sum(axis=(0, 2))
        reward = np.minimum(joint[:, :, 1].sum(axis=0) / np.maximum(total, 1e-300), 1.0)
        for place, arm in enumerate(members.tolist()):
            variance[arm] = sharing_variance(joint.sum(axis=2), reward, np.array(rows)[members], place).shared
    return variance


class Errors(NamedTuple):
    """Per data set and arm: how far eq. 2 and the sample mean are from the truth."""

    shared: Floats
    own: Floats


def errors_of(seen: Seen, rows: Sequence[int], data_sets: int, rng: np.random.Generator) -> Errors:
    """Draw data sets and estimate every arm from each."""
    shared, own = [], []
    for start in range(0, data_sets, AT_ONCE):
        tables = draw_tables(seen.joint, rows, min(AT_ONCE, data_sets - start), rng)
        shared.append(shared_estimates(tables, seen.groups) - seen.means)
        own.append(own_estimates(tables) - seen.means)
    return Errors(np.concatenate(shared), np.concatenate(own))

"""How rows are drawn in compiled code: the operations, and the samplers of discrete and real-valued worlds."""

from typing import Any, NamedTuple

import numpy as np

from ...core.compiled import Floats, Ints, Operation, by_reference, compiled


@Operation
def scratch(sampler: Any) -> Any:
    """Room that `draw` may use, made once for many draws."""
    raise NotImplementedError


@Operation
def draw(sampler: Any, arm: int, rng: np.random.Generator, room: Any, seen: Any) -> float:
    """Pull an arm: fills `seen` with the observed variables, gives the reward."""
    raise NotImplementedError


@compiled
def fill(sampler: Any, arm: int, rng: np.random.Generator, seen: Any, rewards: Any) -> None:
    """Pull one arm as often as `rewards` is long."""
    room = scratch(sampler)
    for row in range(len(rewards)):
        rewards[row] = draw(sampler, arm, rng, room, seen[row])


@by_reference
class Sampler(NamedTuple):
    """A world as arrays. Nodes are the shared noises and the variables; mechanisms are numbered tables."""

    order: Ints
    """(arms, nodes): the nodes in an order in which parents come first."""
    mechanism: Ints
    """(arms, nodes): which mechanism sets the node."""
    parents: Ints
    """(mechanisms, most parents): nodes, -1 where there are fewer."""
    strides: Ints
    """(mechanisms, most parents): the row of the table is the dot product with the parents' values."""
    sizes: Ints
    """(mechanisms,): how many levels it chooses from."""
    starts: Ints
    """(mechanisms,): where its table begins."""
    cumulative: Floats
    """Flat: mechanism, row, cumulative probability of each level."""
    observed: Ints
    """The nodes of the observed variables."""
    target: int
    """The node of the reward."""


@scratch.of(Sampler)
@compiled
def values_of_nodes(sampler: Sampler) -> Ints:
    """Buffer for the value of every node."""
    return np.empty(sampler.order.shape[1], dtype=np.int64)


@draw.of(Sampler)
@compiled
def draw_levels(sampler: Sampler, arm: int, rng: np.random.Generator, values: Ints, codes: Ints) -> int:
    """Pull an arm: fills `codes` with the observed variables, gives the reward; `values` is scratch, one per node."""
    for position in range(sampler.order.shape[1]):
        node = sampler.order[arm, position]
        mechanism = sampler.mechanism[arm, node]
        row = 0
        for place in range(sampler.parents.shape[1]):
            parent = sampler.parents[mechanism, place]
            if parent < 0:
                break
            row += values[parent] * sampler.strides[mechanism, place]
        at = sampler.starts[mechanism] + row * sampler.sizes[mechanism]
        chance = rng.random()
        level = 0
        while chance >= sampler.cumulative[at + level]:
            level += 1
        values[node] = level
    for place in range(len(sampler.observed)):
        codes[place] = values[sampler.observed[place]]
    return int(values[sampler.target])


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

"""Drawing from a discrete world: compiled ancestral sampling over flat tables."""

from typing import NamedTuple

import numpy as np

from ...core.compiled import Floats, Ints, by_reference, compiled
from .drawing import draw, scratch


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


@compiled
def draw_many(sampler: Sampler, arm: int, rng: np.random.Generator, codes: Ints, rewards: Ints) -> None:
    """Pull one arm as often as `rewards` is long."""
    values = values_of_nodes(sampler)
    for row in range(len(rewards)):
        rewards[row] = draw_levels(sampler, arm, rng, values, codes[row])

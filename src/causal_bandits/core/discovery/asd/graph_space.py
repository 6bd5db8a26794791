"""All graphs that ASD searches, as bit masks, and what is asked of them.

JCI1, JCI2, JCI3 and known targets fix every edge at a context, so a graph is its edges between system nodes.
"""

import itertools
from dataclasses import dataclass
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ....errors import OptionError
from ...compiled import Floats
from ...graphs.enumeration import edge_sets

Masks = NDArray[np.uint8]

MOST_GRAPHS = 300_000


@dataclass(frozen=True)
class Space:
    """Which graphs: `targets[c]` is the mask of system nodes that context c acts on."""

    system: int
    targets: tuple[int, ...]
    sufficient: bool = False
    acyclic: bool = True

    @property
    def contexts(self) -> int:
        """The number of contexts."""
        return len(self.targets)

    @property
    def count(self) -> int | None:
        """How many graphs there are; None when they are too many to list."""
        if self.system > 5:
            return None
        pairs = self.system * (self.system - 1) // 2
        directed = (1, 3, 25, 543, 29281)[self.system - 1] if self.acyclic else 1 << 2 * pairs
        count = directed * (1 if self.sufficient else 1 << pairs)
        return count if count <= MOST_GRAPHS else None


class Graphs(NamedTuple):
    """(graphs, system nodes): masks of the parents and of the spouses of each node."""

    parents: Masks
    spouses: Masks


def list_graphs(space: Space) -> Graphs:
    """All graphs of a space, directed part by directed part.

    >>> len(list_graphs(Space(3, (1, 2))).parents)  # 25 DAGs, 8 sets of bidirected edges
    200
    """
    if space.count is None:
        raise OptionError(f"there are too many graphs over {space.system} system variables to list; use engine='asp'")
    n = space.system
    pairs = list(itertools.combinations(range(n), 2))
    if space.acyclic:
        directed = list(edge_sets(n))
    else:
        arrows = [*pairs, *((j, i) for i, j in pairs)]
        directed = [tuple(itertools.compress(arrows, bits)) for bits in itertools.product((0, 1), repeat=len(arrows))]
    parents = np.zeros((len(directed), n), dtype=np.uint8)
    for row, edges in enumerate(directed):
        for tail, head in edges:
            parents[row, head] |= 1 << tail
    sets = [()] if space.sufficient else list(itertools.product((0, 1), repeat=len(pairs)))
    spouses = np.zeros((len(sets), n), dtype=np.uint8)
    for row, chosen in enumerate(sets):
        for one, other in itertools.compress(pairs, chosen):
            spouses[row, one] |= 1 << other
            spouses[row, other] |= 1 << one
    return Graphs(np.repeat(parents, len(sets), axis=0), np.tile(spouses, (len(directed), 1)))


class Query(NamedTuple):
    """A feature of a graph: `a` and `b` separated given a mask, an edge a -> b, a <-> b, or a an ancestor of b."""

    kind: Literal["separated", "edge", "confounded", "ancestor"]
    a: int
    b: int
    given: int = 0


class Answer(NamedTuple):
    """Minimum loss, the graphs that have the lowest losses, and how sure each queried feature is."""

    loss: float
    confidence: Floats
    """Per query: minimum loss without the feature minus minimum loss with it, in nats."""
    graphs: Graphs
    """The best graphs, best first."""
    losses: Floats
    """Their losses."""
    targets: tuple[int, ...]
    """What each context acts on in the best graph: as declared, or as found."""
    proven: bool
    """False when time ran out before the search was over."""

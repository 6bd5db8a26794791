"""All graphs that ASD searches, as bit masks, which of them background knowledge allows, and what is asked of them.

JCI1, JCI2, JCI3 and known targets fix every edge at a context, so a graph is its edges between system nodes.
"""

import itertools
import re
from dataclasses import dataclass
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ....errors import OptionError, UnknownVariableError, listing
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


# Background knowledge: edges that must or must not be there


Edge = tuple[int, int, bool]
"""From, to, and whether it is bidirected."""


@dataclass(frozen=True)
class Background:
    """Forbidden and required edges between system nodes, by number."""

    forbidden: tuple[Edge, ...] = ()
    required: tuple[Edge, ...] = ()

    @classmethod
    def read(cls, names: tuple[str, ...], forbidden: tuple[str, ...], required: tuple[str, ...]) -> "Background":
        """From texts such as "A -> B" and "A <-> B"; what contradicts itself is rejected.

        >>> Background.read(("A", "B"), ("A <-> B",), ("A -> B",))
        Background(forbidden=((0, 1, True),), required=((0, 1, False),))
        """
        no = tuple(_edge(text, names) for text in forbidden)
        yes = tuple(_edge(text, names) for text in required)
        both = sorted(set(no) & set(yes))
        if both:
            raise OptionError(f"edge {_text(both[0], names)!r} is both forbidden and required; drop one of the two")
        return cls(no, yes)

    def allows(self, graphs: Graphs) -> NDArray[np.bool_]:
        """Which graphs have all required edges and no forbidden one."""
        allowed = np.ones(len(graphs.parents), dtype=np.bool_)
        for edge in self.required:
            allowed &= has_edge(graphs, edge)
        for edge in self.forbidden:
            allowed &= ~has_edge(graphs, edge)
        return allowed


def has_edge(graphs: Graphs, edge: Edge) -> NDArray[np.bool_]:
    """Which graphs have an edge."""
    tail, head, bidirected = edge
    masks = graphs.spouses if bidirected else graphs.parents
    present: NDArray[np.bool_] = (masks[:, head] >> tail & 1).astype(np.bool_)
    return present


def split_edge(text: str) -> tuple[str, str, str]:
    """An edge as its first end, arrow and second end."""
    match = re.fullmatch(r"\s*(.+?)\s*(<->|->)\s*(.+?)\s*", text)
    if match is None:
        raise OptionError(f"edge {text!r} cannot be read; expected 'A -> B' or 'A <-> B'")
    return match[1], match[2], match[3]


def _edge(text: str, names: tuple[str, ...]) -> Edge:
    first, arrow, second = split_edge(text)
    ends = []
    for name in (first, second):
        if name not in names:
            raise UnknownVariableError(f"edge {text!r} names {name!r}; expected one of {listing(names)}")
        ends.append(names.index(name))
    if ends[0] == ends[1]:
        raise OptionError(f"edge {text!r} joins a variable with itself")
    if arrow == "<->":
        return min(ends), max(ends), True
    return ends[0], ends[1], False


def _text(edge: Edge, names: tuple[str, ...]) -> str:
    return f"{names[edge[0]]} {'<->' if edge[2] else '->'} {names[edge[1]]}"


# Questions and answers


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

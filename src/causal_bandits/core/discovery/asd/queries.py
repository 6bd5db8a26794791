"""Queries to an engine, and its answers."""

from typing import Literal, NamedTuple

from ...compiled import Floats
from .graph_space import Graphs


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

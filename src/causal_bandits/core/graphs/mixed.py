"""MixedGraph: the graph of an SCM, with directed and bidirected edges (paper, sec. 2.1)."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations
from typing import TypeAlias

from ...errors import GraphError, UnknownVariableError, brief, listing
from .masks import Masks, bits, masks_of, union

Names: TypeAlias = str | Iterable[str]
"""One name or several. A string is always one name, never its letters."""


@dataclass(frozen=True, init=False, eq=False, repr=False)
class MixedGraph:
    """Nodes, directed edges ``a -> b`` and bidirected edges ``a <-> b``.

    A bidirected edge is a shared hidden cause. Two nodes may be joined by ``->``, ``<-`` and ``<->`` at once;
    the directed part may have cycles, but no node is joined to itself. Naming an edge twice is naming it once.
    Immutable and hashable. Two graphs are equal when they have the same nodes and the same edges, in whatever order:
    the node order only fixes the order in which answers are listed. Nodes given as a set are sorted by name.

    Args:
        nodes: Names of the nodes.
        directed: Pairs (a, b) for ``a -> b``.
        bidirected: Pairs (a, b) for ``a <-> b``.

    >>> graph = MixedGraph(["A", "B", "Y"], directed=[("A", "B"), ("B", "Y")], bidirected=[("Y", "A")])
    >>> graph
    MixedGraph(A -> B, B -> Y, A <-> Y)
    >>> graph == MixedGraph(["Y", "B", "A"], directed=[("B", "Y"), ("A", "B")], bidirected=[("A", "Y")])
    True
    """

    nodes: tuple[str, ...]
    directed: tuple[tuple[str, str], ...]
    bidirected: tuple[tuple[str, str], ...]

    def __init__(
        self,
        nodes: Names,
        directed: Iterable[tuple[str, str]] = (),
        bidirected: Iterable[tuple[str, str]] = (),
    ) -> None:
        for role, given in (("nodes", nodes), ("directed", directed), ("bidirected", bidirected)):
            odd = isinstance(given, bytes | bytearray | memoryview | range) or getattr(given, "ndim", 1) == 0
            if odd or not isinstance(given, Iterable):
                raise GraphError(f"{role} is {brief(given)}; expected a list of names, or of pairs of names")
        names = (nodes,) if isinstance(nodes, str) else tuple(nodes)
        position = _positions(names)
        if isinstance(nodes, set | frozenset):  # hash order changes from run to run
            names = tuple(sorted(names))
            position = _positions(names)
        arrows = {_checked_edge(edge, position) for edge in directed}
        arcs = {tuple(sorted(_checked_edge(edge, position))) for edge in bidirected}
        # Frozen: only this constructor may write, and it must go around the guard to do so.
        object.__setattr__(self, "nodes", names)
        object.__setattr__(self, "directed", tuple((names[i], names[j]) for i, j in sorted(arrows)))
        object.__setattr__(self, "bidirected", tuple((names[i], names[j]) for i, j in sorted(arcs)))

    def __eq__(self, other: object) -> bool:
        return self._key == other._key if isinstance(other, MixedGraph) else NotImplemented

    def __hash__(self) -> int:
        return hash(self._key)

    def __repr__(self) -> str:
        arrows = [f"{tail} -> {head}" for tail, head in self.directed]
        arcs = [f"{one} <-> {other}" for one, other in self.bidirected]
        joined = {name for edge in self.directed + self.bidirected for name in edge}
        alone = [name for name in self.nodes if name not in joined]
        return f"MixedGraph({', '.join(arrows + arcs + alone)})"

    # ---- names and bits ----

    @cached_property
    def masks(self) -> Masks:
        """The families of every node as integers; bit i is ``nodes[i]``.

        >>> MixedGraph(["A", "Y"], [("A", "Y")]).masks.parents
        (0, 1)
        """
        place = self._position
        return masks_of(
            len(self.nodes),
            [(place[tail], place[head]) for tail, head in self.directed],
            [(place[one], place[other]) for one, other in self.bidirected],
        )

    def mask(self, names: Names) -> int:
        """The set of these nodes as an integer.

        >>> MixedGraph(["A", "B", "Y"]).mask({"A", "Y"})
        5
        """
        if not isinstance(names, Iterable):
            raise UnknownVariableError(f"{brief(names)} is not a list of nodes; expected a name or a list of names")
        result = 0
        for name in (names,) if isinstance(names, str) else names:
            result |= 1 << _index(name, self._position)
        return result

    def names(self, mask: int) -> tuple[str, ...]:
        """The nodes of such an integer, in node order.

        >>> MixedGraph(["A", "B", "Y"]).names(5)
        ('A', 'Y')
        """
        return tuple(self.nodes[i] for i in bits(mask))

    # ---- families ----

    def parents(self, xs: Names) -> tuple[str, ...]:
        """The nodes with a directed edge into any of xs, in node order.

        >>> MixedGraph(["A", "B", "Y"], [("A", "Y"), ("B", "Y")]).parents("Y")
        ('A', 'B')
        """
        return self.names(union(self.masks.parents, self.mask(xs)))

    def children(self, xs: Names) -> tuple[str, ...]:
        """The nodes that any of xs has a directed edge into, in node order.

        >>> MixedGraph(["A", "B", "Y"], [("A", "Y"), ("A", "B")]).children("A")
        ('B', 'Y')
        """
        return self.names(union(self.masks.children, self.mask(xs)))

    def spouses(self, xs: Names) -> tuple[str, ...]:
        """The nodes joined to any of xs by a bidirected edge, in node order.

        >>> MixedGraph(["A", "Y"], bidirected=[("A", "Y")]).spouses("Y")
        ('A',)
        """
        return self.names(union(self.masks.spouses, self.mask(xs)))

    def ancestors(self, xs: Names) -> tuple[str, ...]:
        """The nodes with a directed path to any of xs; xs themselves are included, as in the paper.

        >>> MixedGraph(["A", "B", "Y"], [("A", "B"), ("B", "Y")]).ancestors("B")
        ('A', 'B')
        """
        return self.names(union(self.masks.ancestors, self.mask(xs)))

    def descendants(self, xs: Names) -> tuple[str, ...]:
        """The nodes that any of xs has a directed path to; xs themselves are included, as in the paper.

        >>> MixedGraph(["A", "B", "Y"], [("A", "B"), ("B", "Y")]).descendants(["B"])
        ('B', 'Y')
        """
        return self.names(union(self.masks.descendants, self.mask(xs)))

    # ---- order ----

    @property
    def is_acyclic(self) -> bool:
        """Whether the directed edges form no cycle.

        >>> MixedGraph(["A", "B"], [("A", "B"), ("B", "A")]).is_acyclic
        False
        """
        return all(component == 1 << node for node, component in enumerate(self.masks.components))

    def topological_order(self) -> tuple[str, ...]:
        """Every node after its parents; where several may come next, the first in node order does.

        >>> MixedGraph(["Y", "B", "A"], [("A", "Y")]).topological_order()
        ('B', 'A', 'Y')
        """
        if not self.is_acyclic:
            cycle = next(names for names in self.strongly_connected_components() if len(names) > 1)
            raise GraphError(f"a cyclic graph has no topological order: {listing(cycle)} lie on a cycle")
        order: list[int] = []
        done = 0
        while len(order) < len(self.nodes):
            ready = (i for i, parents in enumerate(self.masks.parents) if not done >> i & 1 and not parents & ~done)
            order.append(next(ready))
            done |= 1 << order[-1]
        return tuple(self.nodes[i] for i in order)

    def strongly_connected_components(self) -> tuple[tuple[str, ...], ...]:
        """The groups of nodes that reach each other by directed paths, each group at its first node's place.

        >>> MixedGraph(["A", "B", "Y"], [("A", "Y"), ("Y", "A"), ("Y", "B")]).strongly_connected_components()
        (('A', 'Y'), ('B',))
        """
        return tuple(self.names(component) for component in dict.fromkeys(self.masks.components))

    # ---- new graphs from this one ----

    def do(self, xs: Names) -> "MixedGraph":
        """The graph under a perfect intervention on xs: every edge with an arrowhead at one of them is cut.

        >>> MixedGraph(["A", "B", "Y"], [("A", "B"), ("B", "Y")], [("B", "Y")]).do("B")
        MixedGraph(B -> Y, A)
        """
        cut = set(self.names(self.mask(xs)))
        return MixedGraph(
            self.nodes,
            [(tail, head) for tail, head in self.directed if head not in cut],
            [(one, other) for one, other in self.bidirected if one not in cut and other not in cut],
        )

    def with_context(self, targets: Mapping[str, Names], *, confounded: bool = False) -> "MixedGraph":
        """Add levers, each with directed edges into its targets.

        ``confounded`` joins every pair of the new variables by a bidirected edge (JCI3): the settings of an experiment
        are rarely chosen independently of each other.

        >>> MixedGraph(["A", "Y"], [("A", "Y")]).with_context({"I": "A", "J": ["A", "Y"]}, confounded=True)
        MixedGraph(A -> Y, I -> A, J -> A, J -> Y, I <-> J)
        """
        for name in targets:
            if name in self._position:
                raise GraphError(f"lever {name!r} is already a node; give it another name")
        arrows = [(name, head) for name, heads in targets.items() for head in self.names(self.mask(heads))]
        arcs = list(combinations(targets, 2)) if confounded else []
        return MixedGraph([*self.nodes, *targets], [*self.directed, *arrows], [*self.bidirected, *arcs])

    def subgraph(self, nodes: Names) -> "MixedGraph":
        """These nodes, in this graph's order, and the edges among them.

        >>> MixedGraph(["A", "B", "Y"], [("A", "B"), ("B", "Y")]).subgraph({"Y", "B"})
        MixedGraph(B -> Y)
        """
        kept = dict.fromkeys(self.names(self.mask(nodes)))
        return MixedGraph(
            kept,
            [edge for edge in self.directed if edge[0] in kept and edge[1] in kept],
            [edge for edge in self.bidirected if edge[0] in kept and edge[1] in kept],
        )

    def relabel(self, mapping: Mapping[str, str]) -> "MixedGraph":
        """The same graph under new names; names that the mapping leaves out stay.

        >>> MixedGraph(["A", "Y"], [("A", "Y")]).relabel({"Y": "reward"})
        MixedGraph(A -> reward)
        """
        self.mask(mapping)  # rejects unknown names
        new = {name: mapping.get(name, name) for name in self.nodes}
        return MixedGraph(
            new.values(),
            [(new[tail], new[head]) for tail, head in self.directed],
            [(new[one], new[other]) for one, other in self.bidirected],
        )

    @cached_property
    def _position(self) -> dict[str, int]:
        return {name: i for i, name in enumerate(self.nodes)}

    @cached_property
    def _key(self) -> tuple[frozenset[object], ...]:
        arcs = frozenset(frozenset(edge) for edge in self.bidirected)
        return frozenset(self.nodes), frozenset(self.directed), arcs


def _positions(names: tuple[str, ...]) -> dict[str, int]:
    for name in names:
        if not isinstance(name, str) or not name:
            raise GraphError(f"node name {brief(name)} is not a non-empty string")
    position = {name: i for i, name in enumerate(names)}
    if len(position) < len(names):
        twice = dict.fromkeys(name for name in names if names.count(name) > 1)
        raise GraphError(f"node names must differ, but these occur more than once: {listing(twice)}")
    return position


def _index(name: str, position: Mapping[str, int]) -> int:
    if not isinstance(name, str) or name not in position:
        raise UnknownVariableError(f"the graph has no node {brief(name)}; its nodes are {listing(position)}")
    return position[name]


def _checked_edge(edge: tuple[str, str], position: Mapping[str, int]) -> tuple[int, int]:
    # A two-letter string would unpack like a pair, and a set has no direction.
    if not isinstance(edge, tuple | list) or len(edge) != 2:
        raise GraphError(f"edge {brief(edge)} is not a pair of node names")
    one, other = (_index(name, position) for name in edge)
    if one == other:
        raise GraphError(f"edge {brief(edge)} is a self-loop; edges join two different nodes")
    return one, other

"""All DAGs over a few labeled nodes, and their classes up to permuting the nodes other than the target."""

from collections.abc import Iterable, Iterator, Sequence
from itertools import combinations, permutations, product
from typing import NamedTuple, TypeAlias

from ...errors import GraphError, UnknownVariableError, brief, listing
from ..validation import validated
from .mixed import MixedGraph, Names

MOST_NODES = 5

Edges: TypeAlias = tuple[tuple[int, int], ...]


class DagClass(NamedTuple):
    """One DAG for all that differ from it by a permutation of the non-target nodes, and how many those are."""

    graph: MixedGraph
    size: int


@validated
def all_dags(nodes: Names) -> Iterator[MixedGraph]:
    """Every DAG over these nodes, in a fixed order that starts with the empty graph.

    There are 1, 3, 25, 543 and 29281 of them over 1 to 5 nodes; more nodes are rejected.

    >>> list(all_dags(["A", "B"]))
    [MixedGraph(A, B), MixedGraph(A -> B), MixedGraph(B -> A)]
    """
    names = _few_names(nodes)
    return (_graph(names, edges) for edges in edge_sets(len(names)))


@validated
def dag_classes(nodes: Names, target: str, *, with_parent: bool = True) -> list[DagClass]:
    """The classes of DAGs up to permuting the nodes other than the target.

    The graph of a class is the first of its members in the order of `all_dags`. ``with_parent`` leaves out the DAGs
    whose target has no parent, and so nothing to learn from. Over 4 nodes, 343 of the 543 DAGs remain, in 64 classes.

    >>> for graph, size in dag_classes(["A", "B", "Y"], "Y")[:3]:
    ...     print(size, graph)
    2 MixedGraph(B -> Y, A)
    1 MixedGraph(A -> Y, B -> Y)
    2 MixedGraph(A -> Y, Y -> B)
    >>> len(dag_classes(["A", "B", "C", "Y"], "Y"))
    64
    """
    names = _few_names(nodes)
    if target not in names:
        raise UnknownVariableError(f"the target {brief(target)} is not one of the nodes {listing(names)}")
    goal = names.index(target)
    moves = list(_permutations_fixing(goal, len(names)))
    seen: set[Edges] = set()
    classes = []
    for edges in edge_sets(len(names)):
        if edges in seen or (with_parent and all(head != goal for _, head in edges)):
            continue
        orbit = {tuple(sorted((move[tail], move[head]) for tail, head in edges)) for move in moves}
        seen |= orbit
        classes.append(DagClass(_graph(names, edges), len(orbit)))
    return classes


def _few_names(nodes: Names) -> tuple[str, ...]:
    names = MixedGraph(nodes).nodes  # rejects bad names
    if len(names) > MOST_NODES:
        raise GraphError(f"there are too many DAGs over {len(names)} nodes to list; use at most {MOST_NODES} nodes")
    return names


def _graph(names: Sequence[str], edges: Iterable[tuple[int, int]]) -> MixedGraph:
    return MixedGraph(names, [(names[tail], names[head]) for tail, head in edges])


def edge_sets(n: int) -> Iterator[Edges]:
    """The sorted edges of every DAG over n nodes: each pair is unjoined, joined forwards, or joined backwards."""
    choices = [((), ((i, j),), ((j, i),)) for i, j in combinations(range(n), 2)]
    for chosen in product(*choices):
        edges = tuple(sorted(edge for group in chosen for edge in group))
        if _is_acyclic(n, edges):
            yield edges


def _is_acyclic(n: int, edges: Edges) -> bool:
    parents = [0] * n
    for tail, head in edges:
        parents[head] |= 1 << tail
    left = (1 << n) - 1
    # Remove nodes without parents until none is left; what remains then is a cycle.
    while ready := sum(1 << i for i in range(n) if left >> i & 1 and not parents[i] & left):
        left ^= ready
    return not left


def _permutations_fixing(fixed: int, n: int) -> Iterator[tuple[int, ...]]:
    for order in permutations(i for i in range(n) if i != fixed):
        yield (*order[:fixed], fixed, *order[fixed:])

"""Which statements hold in which graphs: the m- (or sigma-) separation truth of everything, once, compressed."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...compiled import Bools, Ints, compiled
from .graph_space import Graphs, Masks, Space, list_graphs
from .statements import Statements, all_statements


class SeparationTable(NamedTuple):
    """`truth[rows[g], columns[s]]` says whether statement s holds in graph g; rows and columns are distinct."""

    graphs: Graphs
    statements: Statements
    rows: NDArray[np.int32]
    columns: NDArray[np.int32]
    truth: Bools


@compiled
def _union(masks: Ints, members: int) -> int:
    result, node = 0, 0
    while members:
        if members & 1:
            result |= masks[node]
        members >>= 1
        node += 1
    return result


@compiled
def _close(masks: Ints) -> None:
    """Reflexive and transitive closure, in place (Warshall)."""
    for node in range(len(masks)):
        masks[node] |= 1 << node
    for middle in range(len(masks)):
        for node in range(len(masks)):
            if masks[node] >> middle & 1:
                masks[node] |= masks[middle]


class _Families(NamedTuple):
    """The families of every node of one graph, as masks."""

    parents: Ints
    children: Ints
    spouses: Ints
    own: Ints
    """Children in the same component: the moves that sigma-separation adds; none for m-separation."""
    ancestors: Ints


@compiled
def _reach(families: _Families, start: int, given: int, colliders: int) -> int:
    """The nodes that an open walk from `start` reaches: `graphs.separation` in compiled form."""
    head, tail = 0, 1 << start
    seen_head, seen_tail = head, tail
    while head | tail:
        backward = (head & colliders) | (tail & ~given)
        to_head = _union(families.children, (head | tail) & ~given) | _union(families.spouses, backward)
        to_head |= _union(families.own, head & given)
        to_tail = _union(families.parents, backward)
        head, tail = to_head & ~seen_head, to_tail & ~seen_tail
        seen_head |= head
        seen_tail |= tail
    return seen_head | seen_tail


@compiled
def _families(graphs: Graphs, graph: int, targets: Ints, sigma: bool) -> _Families:
    """One graph with its contexts: known targets, and a bidirected clique among contexts (JCI3)."""
    system = graphs.parents.shape[1]
    nodes = system + len(targets)
    parents, children, spouses, own = np.zeros((4, nodes), dtype=np.int64)
    contexts = ((1 << len(targets)) - 1) << system
    for node in range(system):
        parents[node] = graphs.parents[graph, node]
        spouses[node] = graphs.spouses[graph, node]
        for context in range(len(targets)):
            parents[node] |= (targets[context] >> node & 1) << (system + context)
    for context in range(system, nodes):
        spouses[context] = contexts & ~(1 << context)
    for node in range(nodes):
        for other in range(nodes):
            children[other] |= (parents[node] >> other & 1) << node
    ancestors = parents.copy()
    _close(ancestors)
    if sigma:
        descendants = children.copy()
        _close(descendants)
        own[:] = children & ancestors & descendants
    return _Families(parents, children, spouses, own, ancestors)


@compiled
def separations(graphs: Graphs, targets: Ints, statements: Statements, sigma: bool) -> Masks:
    """(graphs, statements / 8): the truth of every statement, eight to a byte."""
    count, system = graphs.parents.shape
    nodes = system + len(targets)
    packed = np.zeros((count, (len(statements.first) + 7) // 8), dtype=np.uint8)
    reached = np.empty((system, 1 << nodes), dtype=np.int64)
    for graph in range(count):
        families = _families(graphs, graph, targets, sigma)
        for given in range(1 << nodes):
            colliders = _union(families.ancestors, given)
            for start in range(system):
                if not given >> start & 1:
                    reached[start, given] = _reach(families, start, given, colliders)
        for place in range(len(statements.first)):
            mask = reached[statements.first[place], statements.given[place]]
            if not mask >> statements.second[place] & 1:
                packed[graph, place >> 3] |= 1 << (place & 7)
    return packed


def build_table(space: Space) -> SeparationTable:
    """Every graph against every statement, then only distinct rows and columns are kept."""
    graphs = list_graphs(space)
    statements = all_statements(space.system, space.contexts)
    targets = np.array(space.targets, dtype=np.int64)
    packed = separations(graphs, targets, statements, not space.acyclic)
    kinds, rows = _distinct(packed)
    truth = np.unpackbits(kinds, axis=1, bitorder="little", count=len(statements.first))
    columns_packed, columns = _distinct(np.packbits(truth.T, axis=1))
    kept = np.unpackbits(columns_packed, axis=1, count=len(truth)).T.astype(np.bool_)
    return SeparationTable(graphs, statements, rows, columns, np.ascontiguousarray(kept))


def _distinct(packed: Masks) -> tuple[Masks, NDArray[np.int32]]:
    """The distinct rows, and for each row which of them it is."""
    keys = np.ascontiguousarray(packed).view(np.dtype((np.void, packed.shape[1]))).ravel()
    _, first, place = np.unique(keys, return_index=True, return_inverse=True)
    return packed[first], place.reshape(-1).astype(np.int32)

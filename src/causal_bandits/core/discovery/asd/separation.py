"""Which statements hold in which graphs: the m- (or sigma-) separation truth of everything, once, compressed.

Masks of nodes are arrays over graphs and conditioning sets, so that one operation serves them all.
"""

from functools import lru_cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...compiled import Bools, Ints
from .graph_space import Graphs, Masks, Space, list_graphs
from .statements import Statements, all_statements

Nodes = NDArray[np.unsignedinteger]
"""Sets of nodes as masks, in as few bytes as they need."""
BLOCK = 2**17
"""Pairs of a graph and a conditioning set that are looked at together; they stay in the processor's cache."""


class SeparationTable(NamedTuple):
    """`truth[rows[g], columns[s]]` says whether statement s holds in graph g; rows and columns are distinct."""

    graphs: Graphs
    statements: Statements
    rows: NDArray[np.int32]
    columns: NDArray[np.int32]
    truth: Bools


def closure(masks: Nodes) -> Nodes:
    """(graphs, nodes): what each node reaches in any number of steps, itself included (Warshall)."""
    reach = masks | (1 << np.arange(masks.shape[1])).astype(masks.dtype)
    for middle in range(reach.shape[1]):
        through = (reach >> middle & 1).astype(np.bool_)
        reach = np.where(through, reach | reach[:, middle : middle + 1], reach)
    return reach


def _union(masks: Nodes, members: Nodes) -> Nodes:
    """(graphs, sets): the union of the masks, (graphs, nodes), of these members, (graphs, sets)."""
    found = np.zeros_like(members)
    for node in range(masks.shape[1]):
        found |= masks[:, node, None] * (members >> node & 1)
    return found


class _Families(NamedTuple):
    """(graphs, nodes) each: the families of every node, as masks."""

    parents: Nodes
    children: Nodes
    spouses: Nodes
    own: Nodes
    """Children in the same component: the moves that sigma-separation adds; none for m-separation."""
    ancestors: Nodes


def _families(graphs: Graphs, targets: Ints, sigma: bool) -> _Families:
    """Graphs with their contexts: known targets, and a bidirected clique among contexts (JCI3)."""
    count, system = graphs.parents.shape
    nodes = system + len(targets)
    kind = np.uint8 if nodes <= 8 else np.uint16
    parents, children, spouses, own = np.zeros((4, count, nodes), dtype=kind)
    acts = (targets[:, None] >> np.arange(system) & 1) << np.arange(system, nodes)[:, None]
    parents[:, :system] = graphs.parents | acts.sum(axis=0).astype(kind)
    spouses[:, :system] = graphs.spouses
    contexts = ((1 << len(targets)) - 1) << system
    spouses[:, system:] = contexts & ~(1 << np.arange(system, nodes))
    for node in range(nodes):
        children |= (parents[:, node, None] >> np.arange(nodes, dtype=kind) & 1) << node
    ancestors = closure(parents)
    if sigma:
        own = children & ancestors & closure(children)
    return _Families(parents, children, spouses, own, ancestors)


def _reach(families: _Families, start: int, given: Nodes, colliders: Nodes) -> Nodes:
    """(graphs, sets): what an open walk from `start` reaches given every set; `graphs.separation` for many graphs."""
    head, tail = np.zeros_like(colliders), np.full_like(colliders, 1 << start)
    seen_head, seen_tail = head, tail
    cyclic = families.own.any()
    while head.any() or tail.any():
        backward = (head & colliders) | (tail & ~given)
        to_head = _union(families.children, (head | tail) & ~given) | _union(families.spouses, backward)
        if cyclic:
            to_head |= _union(families.own, head & given)
        to_tail = _union(families.parents, backward)
        head, tail = to_head & ~seen_head, to_tail & ~seen_tail
        seen_head, seen_tail = seen_head | head, seen_tail | tail
    return seen_head | seen_tail


def separations(graphs: Graphs, targets: Ints, statements: Statements, sigma: bool) -> Masks:
    """(graphs, statements / 8): the truth of every statement, eight to a byte."""
    count, system = graphs.parents.shape
    given = np.arange(1 << (system + len(targets)))
    packed = np.empty((count, (len(statements.first) + 7) // 8), dtype=np.uint8)
    each = max(BLOCK // len(given), 1)
    for begin in range(0, count, each):
        block = slice(begin, begin + each)
        families = _families(Graphs(graphs.parents[block], graphs.spouses[block]), targets, sigma)
        holds = np.empty((len(families.parents), len(statements.first)), dtype=np.bool_)
        sets = np.broadcast_to(given.astype(families.parents.dtype), (len(holds), len(given)))
        colliders = _union(families.ancestors, sets)
        for start in range(system):
            which = statements.first == start
            reached = _reach(families, start, sets, colliders)[:, statements.given[which]]
            holds[:, which] = (reached >> statements.second[which] & 1) == 0
        packed[block] = np.packbits(holds, axis=1, bitorder="little")
    return packed


@lru_cache(maxsize=8)
def separation_table(space: Space) -> SeparationTable:
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

"""Separation in mixed graphs: d-separation as in the paper's Definition 1, and sigma-separation for cycles."""

from itertools import combinations
from math import comb
from typing import Literal, TypeAlias

from ...errors import GraphError, OptionError, brief, listing, whole_number
from ..validation import validated
from .masks import bits, union
from .mixed import MixedGraph, Names

Criterion: TypeAlias = Literal["auto", "d", "sigma"]

MOST_SETS = 2**20


@validated
def separated(graph: MixedGraph, a: Names, b: Names, given: Names = (), *, criterion: Criterion = "auto") -> bool:
    """Whether every path between a and b is blocked by ``given``.

    Criterion ``"d"`` is Definition 1: a path is blocked by an end in ``given``, by a collider that is not an
    ancestor of ``given``, or by a non-collider in ``given`` (with bidirected edges this is m-separation).
    Under ``"sigma"``, the criterion for cyclic models in general, a non-collider in ``given`` only blocks
    when one of its outgoing edges on the path leaves its strongly connected component. ``"auto"`` is d for
    acyclic graphs, where the two agree, else sigma.

    By the same definition a node in both a and b, and not in ``given``, is a path of length zero: not separated.

    Args:
        graph: The graph.
        a: A node or several.
        b: A node or several.
        given: The nodes conditioned on.
        criterion: ``"auto"``, ``"d"`` or ``"sigma"``, as above.

    >>> graph = MixedGraph(["I", "S", "Y"], directed=[("I", "S"), ("S", "Y")])
    >>> separated(graph, "I", "Y"), separated(graph, "I", "Y", given="S")
    (False, True)
    """
    from_a, to_b, condition = graph.mask(a), graph.mask(b), graph.mask(given)
    return not _connected(graph, from_a, condition, _is_sigma(graph, criterion)) & to_b


@validated
def separates(graph: MixedGraph, given: Names, contexts: Names, target: str, *, criterion: Criterion = "auto") -> bool:
    """Whether ``given`` separates every lever in ``contexts`` from the target.

    For a partial separating set (S, I') pass ``contexts`` = I' and put the other levers in ``given``.

    >>> graph = MixedGraph(["S", "Y"], directed=[("S", "Y")]).with_context({"I": "S", "J": "Y"})
    >>> separates(graph, "S", ["I", "J"], "Y"), separates(graph, ["S", "J"], "I", "Y")
    (False, True)
    """
    sources, goal, condition = graph.mask(contexts), graph.mask(target), graph.mask(given)
    _check_apart(graph, sources, goal, condition, "the separating set")
    return not _connected(graph, sources, condition, _is_sigma(graph, criterion)) & goal


@validated
def separating_sets(
    graph: MixedGraph,
    contexts: Names,
    target: str,
    within: Names | None = None,
    *,
    max_size: int | None = None,
    criterion: Criterion = "auto",
) -> list[tuple[str, ...]]:
    """Every set that separates all of ``contexts`` from the target: the smallest first, then by node order.

    Args:
        graph: The graph, with the context nodes.
        contexts: Nodes to separate from the target.
        target: The reward.
        within: Nodes a set may use; by default all but the contexts and the target.
        max_size: Size of the largest sets to try.
        criterion: As in `separated`.

    >>> graph = MixedGraph(["A", "B", "Y"], directed=[("A", "B"), ("B", "Y")]).with_context({"I": "A"})
    >>> separating_sets(graph, "I", "Y")
    [('A',), ('B',), ('A', 'B')]
    """
    sources, goal = graph.mask(contexts), graph.mask(target)
    others = (1 << len(graph.nodes)) - 1 & ~(sources | goal)
    allowed = others if within is None else graph.mask(within)
    _check_apart(graph, sources, goal, allowed, "within")
    candidates = graph.names(allowed)
    max_size = None if max_size is None else whole_number("max_size", max_size, 0)
    largest = len(candidates) if max_size is None else min(max_size, len(candidates))
    number = sum(comb(len(candidates), size) for size in range(largest + 1))
    if number > MOST_SETS:
        raise OptionError(f"{number} sets are too many to try (at most {MOST_SETS}); name fewer nodes or set max_size")
    sigma = _is_sigma(graph, criterion)
    return [
        chosen
        for size in range(largest + 1)
        for chosen in combinations(candidates, size)
        if not _connected(graph, sources, graph.mask(chosen), sigma) & goal
    ]


def _connected(graph: MixedGraph, sources: int, given: int, sigma: bool) -> int:
    """The nodes that an open walk reaches from the sources, as a mask.

    A state is a node with how the walk came to it: along an edge with its arrowhead here (``head``), or
    backwards along an edge out of it (``tail``). An open walk exists exactly when an open path does, because
    colliders need only be ancestors of ``given``; tests compare with a search over paths.

    Sigma adds one move: from ``head`` at a node of ``given`` to its children in its own component. Coming
    backwards to such a node, from u in its component, needs none: some directed path inside the component
    leads from u to the node, so the walk can come by ``head`` instead.
    """
    masks = graph.masks
    colliders = union(masks.ancestors, given)
    seen_head = head = 0
    seen_tail = tail = sources & ~given  # an end of a path is a non-collider, open unless it is in given
    while head | tail:
        backward = (head & colliders) | (tail & ~given)
        to_head = union(masks.children, (head | tail) & ~given) | union(masks.spouses, backward)
        to_tail = union(masks.parents, backward)
        if sigma:
            for node in bits(head & given):
                to_head |= masks.children[node] & masks.components[node]
        head, tail = to_head & ~seen_head, to_tail & ~seen_tail
        seen_head, seen_tail = seen_head | head, seen_tail | tail
    return (seen_head | seen_tail) & ~given


def _is_sigma(graph: MixedGraph, criterion: Criterion) -> bool:
    if criterion not in ("auto", "d", "sigma"):
        raise OptionError(f"criterion {brief(criterion)} is unknown; choose 'auto', 'd' or 'sigma'")
    return criterion != "d" and not graph.is_acyclic


def _check_apart(graph: MixedGraph, sources: int, goal: int, chosen: int, what: str) -> None:
    if sources & goal:
        raise GraphError(f"the target {listing(graph.names(goal))} is among the levers")
    if chosen & goal:
        raise GraphError(f"{what} contains the target {listing(graph.names(goal))}, which is not allowed")
    if chosen & sources:
        raise GraphError(
            f"{what} contains {listing(graph.names(chosen & sources))}, which it should separate from the target"
        )

"""Slow twins of causal_bandits.core.graphs.pomis: brute force over worlds' arms, and over paths.

A set is minimal when no proper subset leaves the target the same ancestors to be set by; it is possibly optimal when
its border, computed with plain sets, is itself.
"""

from itertools import chain, combinations

from causal_bandits.core.graphs import MixedGraph


def powerset(names: tuple[str, ...]) -> list[tuple[str, ...]]:
    return list(chain.from_iterable(combinations(names, size) for size in range(len(names) + 1)))


def cut(graph: MixedGraph, xs: tuple[str, ...]) -> MixedGraph:
    return MixedGraph(
        graph.nodes,
        [edge for edge in graph.directed if edge[1] not in xs],
        [edge for edge in graph.bidirected if not set(edge) & set(xs)],
    )


def ancestors(graph: MixedGraph, target: str) -> set[str]:
    found = {target}
    while new := {tail for tail, head in graph.directed if head in found} - found:
        found |= new
    return found


def border(graph: MixedGraph, target: str) -> set[str]:
    """Definition 4 of the paper: the smallest T with Y in T, De(T) = T and CC(T) = T within An(Y), by trying all."""
    within = sorted(ancestors(graph, target))
    for candidate in powerset(tuple(within)):
        territory = set(candidate)
        if target not in territory:
            continue
        leaves = any(tail in territory and head not in territory and head in within for tail, head in graph.directed)
        joined = any(len(territory & {a, b}) == 1 and {a, b} <= set(within) for a, b in graph.bidirected)
        if not leaves and not joined:
            return {tail for tail, head in graph.directed if head in territory} - territory
    raise AssertionError("An(Y) itself is closed")


def pomis(graph: MixedGraph, target: str) -> list[set[str]]:
    others = tuple(name for name in graph.nodes if name != target)
    return [set(xs) for xs in powerset(others) if border(cut(graph, xs), target) == set(xs)]


def minimal(graph: MixedGraph, target: str) -> list[set[str]]:
    """X such that every proper subset differs in what reaches the target: each x keeps a path past the others."""
    others = tuple(name for name in graph.nodes if name != target)
    found = []
    for xs in powerset(others):
        smaller = [w for w in powerset(xs) if len(w) < len(xs)]
        if all(
            set(xs) & ancestors(cut(graph, xs), target) != set(w) & ancestors(cut(graph, xs), target) for w in smaller
        ):
            found.append(set(xs))
    return found


def projection(graph: MixedGraph, onto: set[str]) -> tuple[set[tuple[str, str]], set[frozenset[str]]]:
    """Edges of the latent projection from every path whose inner nodes are all hidden."""
    hidden = [name for name in graph.nodes if name not in onto]

    def leads(start: str, end: str) -> bool:
        """A directed path with hidden inner nodes, of one edge or more."""
        ahead = {head for tail, head in graph.directed if tail == start}
        for _ in graph.nodes:
            ahead |= {head for tail, head in graph.directed if tail in ahead and tail in hidden}
        return end in ahead

    directed = {(a, b) for a in onto for b in onto if a != b and leads(a, b)}
    bidirected = set()
    for a, b in combinations(sorted(onto), 2):
        roots = [(h, h) for h in hidden] + [*graph.bidirected, *((y, x) for x, y in graph.bidirected)]
        for left, right in roots:
            to_a = left == a or (left in hidden and leads(left, a))
            to_b = right == b or (right in hidden and leads(right, b))
            if to_a and to_b:
                bidirected.add(frozenset((a, b)))
    return directed, bidirected

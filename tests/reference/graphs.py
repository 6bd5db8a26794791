"""Slow, obvious twins of causal_bandits.core.graphs: searches over paths, over orders and over draws.

They read only ``nodes``, ``directed`` and ``bidirected`` of a graph.
"""

from collections import defaultdict
from collections.abc import Iterator, Set
from fractions import Fraction
from itertools import pairwise, product
from typing import NamedTuple

from causal_bandits.core.graphs import MixedGraph


class Step(NamedTuple):
    """One edge as met on a path: where it leads, and whether it has an arrowhead at its start and at its end."""

    start: str
    end: str
    head_at_start: bool
    head_at_end: bool


def reachable(graph: MixedGraph, start: str) -> set[str]:
    """The descendants of a node, itself included, by following edges until nothing is new."""
    found = {start}
    while new := {head for tail, head in graph.directed if tail in found} - found:
        found |= new
    return found


def steps(graph: MixedGraph) -> list[Step]:
    """Every edge in both directions of travel."""
    found = [Step(tail, head, False, True) for tail, head in graph.directed]
    found += [Step(head, tail, True, False) for tail, head in graph.directed]
    found += [Step(one, other, True, True) for one, other in graph.bidirected]
    found += [Step(other, one, True, True) for one, other in graph.bidirected]
    return found


def paths(graph: MixedGraph, a: str, b: str) -> Iterator[tuple[Step, ...]]:
    """Every path from a to b: each node at most once, and each choice of edge between two nodes a path of its own."""
    leaving = defaultdict(list)
    for step in steps(graph):
        leaving[step.start].append(step)

    def extend(path: tuple[Step, ...], at: str, visited: frozenset[str]) -> Iterator[tuple[Step, ...]]:
        if at == b:
            yield path
            return
        for step in leaving[at]:
            if step.end not in visited:
                yield from extend((*path, step), step.end, visited | {step.end})

    yield from extend((), a, frozenset([a]))


class Separation:
    """Definition 1 and the sigma rule, read off every path. Paths are listed once per graph and pair."""

    def __init__(self, graph: MixedGraph, *, sigma: bool) -> None:
        below = {node: reachable(graph, node) for node in graph.nodes}
        self.ancestors = {node: {other for other in graph.nodes if node in below[other]} for node in graph.nodes}
        self.component = {node: frozenset(below[node] & self.ancestors[node]) for node in graph.nodes}
        self.sigma = sigma
        # Paths with the same colliders and the same blockers are blocked by the same sets: keep one of them.
        self.kinds = {
            (a, b): {self.kind(path) for path in paths(graph, a, b)} for a in graph.nodes for b in graph.nodes
        }

    def kind(self, path: tuple[Step, ...]) -> tuple[frozenset[str], frozenset[str]]:
        """The colliders of a path, and the non-colliders other than its ends that block it when given."""
        colliders, blockers = set(), set()
        for before, after in pairwise(path):
            node = before.end
            if before.head_at_end and after.head_at_start:
                colliders.add(node)
                continue
            out = [] if before.head_at_end else [before.start]
            out += [] if after.head_at_start else [after.end]
            if not self.sigma or any(self.component[other] != self.component[node] for other in out):
                blockers.add(node)
        return frozenset(colliders), frozenset(blockers)

    def separated(self, a: Set[str], b: Set[str], given: Set[str]) -> bool:
        """Whether every path between a and b is blocked."""
        above = {ancestor for node in given for ancestor in self.ancestors[node]}
        return not any(
            colliders <= above and not blockers & given
            for one in a - given
            for other in b - given
            for colliders, blockers in self.kinds[one, other]
        )


def random_dag_distribution(order: tuple[str, ...], max_target_parents: int) -> dict[MixedGraph, Fraction]:
    """The exact law of appendix B.2, by walking through every fan-out and every sequence of picks."""
    law: dict[frozenset[tuple[str, str]], Fraction] = {frozenset(): Fraction(1)}
    target = order[-1]
    for i in reversed(range(len(order) - 1)):
        after = order[i + 1 :]
        longer: dict[frozenset[tuple[str, str]], Fraction] = defaultdict(Fraction)
        for (edges, weight), fan_out in product(law.items(), range(1, len(after) + 1)):
            for picks in product(after, repeat=fan_out):
                grown = edges
                for pick in picks:
                    full = sum(head == target for _, head in grown) == max_target_parents
                    if not (pick == target and full):
                        grown = grown | {(order[i], pick)}
                longer[grown] += weight / len(after) / len(after) ** fan_out
        law = longer
    return {MixedGraph(order, edges): weight for edges, weight in law.items()}

"""Hypothesis strategies for graphs."""

from itertools import combinations, permutations

from hypothesis import strategies as st

from causal_bandits.core.graphs import MixedGraph

NAMES = ("A", "B", "C", "D", "Y")


@st.composite
def mixed_graphs(draw: st.DrawFn, *, acyclic: bool = False) -> MixedGraph:
    nodes = NAMES[: draw(st.integers(1, len(NAMES)))]
    possible = list(combinations(nodes, 2) if acyclic else permutations(nodes, 2))
    pairs = list(combinations(nodes, 2))
    directed = draw(st.sets(st.sampled_from(possible))) if possible else set()
    bidirected = draw(st.sets(st.sampled_from(pairs))) if pairs else set()
    return MixedGraph(draw(st.permutations(nodes)), directed, bidirected)

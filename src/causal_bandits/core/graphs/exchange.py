"""Graphs to and from networkx, hidden causes in the convention of DoWhy: a node with ``observed="no"``.

networkx has no bidirected edges. ``A <-> Y`` is therefore converted to a hidden node U with edges ``U -> A`` and ``U ->
Y``.
"""

from itertools import combinations
from typing import TYPE_CHECKING, Any

from ...errors import GraphError, brief, missing_extra
from .mixed import MixedGraph

if TYPE_CHECKING:
    import networkx as nx


def to_networkx(graph: MixedGraph) -> "nx.DiGraph":
    """The graph as a networkx DiGraph.

    Its nodes have the attribute ``observed="yes"``. Each bidirected edge becomes a hidden node, named
    ``U(A,Y)`` after its children, with ``observed="no"``; a graph without bidirected edges gets none.

    >>> G = to_networkx(MixedGraph(["A", "Y"], [("A", "Y")], [("A", "Y")]))
    >>> list(G.nodes(data="observed"))
    [('A', 'yes'), ('Y', 'yes'), ('U(A,Y)', 'no')]
    >>> list(G.edges)
    [('A', 'Y'), ('U(A,Y)', 'A'), ('U(A,Y)', 'Y')]
    """
    if not isinstance(graph, MixedGraph):
        raise GraphError(f"graph is {brief(graph)}; expected a MixedGraph")
    try:
        import networkx as nx
    except ImportError:
        raise missing_extra("networkx", "networkx") from None
    result = nx.DiGraph()
    result.add_nodes_from(graph.nodes, observed="yes")
    result.add_edges_from(graph.directed)
    for one, other in graph.bidirected:
        hidden = f"U({one},{other})"
        while hidden in result:
            hidden += "'"
        result.add_node(hidden, observed="no")
        result.add_edges_from([(hidden, one), (hidden, other)])
    return result


def from_networkx(G: "nx.DiGraph") -> MixedGraph:  # noqa: N803 - networkx users know it as G
    """The mixed graph of a directed networkx graph.

    A node with ``observed="no"`` is a hidden cause. It must have no parents, and becomes a bidirected edge
    between every two of its children; with fewer than two children it is mere noise and is left out.
    All other nodes are observed.

    >>> import networkx as nx
    >>> G = nx.DiGraph([("A", "B"), ("U", "A"), ("U", "Y")])
    >>> G.nodes["U"]["observed"] = "no"
    >>> from_networkx(G)
    MixedGraph(A -> B, A <-> Y)
    """
    if not all(hasattr(G, name) for name in ("is_directed", "nodes", "edges")):
        raise GraphError(f"{brief(G)} is not a networkx graph; pass a DiGraph")
    if not G.is_directed():
        raise GraphError("an undirected networkx graph has no causal directions; pass a DiGraph")
    hidden = [node for node, observed in G.nodes(data="observed") if observed == "no"]
    for node in hidden:
        if G.in_degree(node):
            raise GraphError(
                f"hidden node {brief(node)} has a parent, which no bidirected edge can express; make it observed"
            )
    concealed = set(hidden)
    return MixedGraph(
        [node for node in G.nodes if node not in concealed],
        [(tail, head) for tail, head in G.edges() if tail not in concealed],
        [pair for node in hidden for pair in combinations(G.successors(node), 2)],
    )


def plain_graph(graph: MixedGraph) -> dict[str, Any]:
    """A graph as plain values for JSON: what MixedGraph takes."""
    return {
        "nodes": list(graph.nodes),
        "directed": [list(edge) for edge in graph.directed],
        "bidirected": [list(edge) for edge in graph.bidirected],
    }

"""Where to intervene (Lee and Bareinboim 2018, 2019): the minimal intervention sets that may be optimal.

MUCT     minimal unobserved-confounders' territory: {Y}, closed under hidden common causes and descendants within An(Y).
IB       interventional border: the parents of the MUCT outside of it.
POMIS    X is possibly optimal exactly when IB(do(X)) = X; the best arm of any world over the graph sets such an X.
"""

from itertools import combinations

from ...errors import GraphError, OptionError, listing
from ..validation import validated
from .masks import bits, union
from .mixed import MixedGraph, Names

MOST_VARIABLES = 16
"""Sets are tried one by one."""


@validated
def pomis_sets(graph: MixedGraph, target: str, manipulable: Names | None = None) -> list[tuple[str, ...]]:
    """The possibly-optimal minimal intervention sets, smaller ones first.

    Args:
        graph: An acyclic graph.
        target: The reward.
        manipulable: Variables that can be set; the graph is then projected onto these and the target, since leaving out
            the sets that cannot be set would lose optimal ones (Lee and Bareinboim 2019).

    >>> instrument = MixedGraph(["Z", "X", "Y"], [("Z", "X"), ("X", "Y")], [("X", "Y")])
    >>> pomis_sets(instrument, "Y"), pomis_sets(instrument, "Y", manipulable=["Z"])
    ([('Z',), ('X',)], [('Z',)])
    """
    _checked(graph, target, manipulable)
    kept = graph if manipulable is None else latent_projection(graph, [target, *graph.names(graph.mask(manipulable))])
    goal, candidates = _checked(kept, target, None)
    return [kept.names(x) for x in _subsets(candidates) if _border(kept.do(kept.names(x)), goal) == x]


@validated
def latent_projection(graph: MixedGraph, onto: Names) -> MixedGraph:
    """The graph over some of the nodes, the others hidden (Verma and Pearl 1990), in this graph's order.

    a -> b where a directed path leads through hidden nodes alone; a <-> b where one leads to each from a hidden node,
    or from the two ends of a bidirected edge.

    >>> latent_projection(MixedGraph(["X", "Z", "Y"], [("X", "Z"), ("Z", "Y")], [("X", "Y")]), ["X", "Y"])
    MixedGraph(X -> Y, X <-> Y)
    """
    kept = graph.mask(onto)
    hidden = (1 << len(graph.nodes)) - 1 & ~kept
    reach = [_first_kept(graph, node, kept) for node in range(len(graph.nodes))]
    directed = [(tail, head) for tail in bits(kept) for head in bits(reach[tail]) if head != tail]
    sources = [(reach[node], reach[node]) for node in bits(hidden)]
    for one in range(len(graph.nodes)):
        for other in bits(graph.masks.spouses[one]):
            ends = [1 << end if kept >> end & 1 else reach[end] for end in (one, other)]
            sources.append((ends[0], ends[1]))
    arcs = [(a, b) for left, right in sources for a in bits(left) for b in bits(right) if a != b]
    names = graph.nodes
    return MixedGraph(
        graph.names(kept),
        [(names[tail], names[head]) for tail, head in directed],
        [(names[a], names[b]) for a, b in arcs],
    )


def _first_kept(graph: MixedGraph, start: int, kept: int) -> int:
    """The kept nodes that directed paths from a node meet first."""
    found, seen, ahead = 0, 0, graph.masks.children[start]
    while ahead:
        found |= ahead & kept
        seen |= ahead
        ahead = union(graph.masks.children, ahead & ~kept) & ~seen
    return found


def _territory(graph: MixedGraph, goal: int) -> int:
    """MUCT: within An(Y), add spouses and descendants until nothing is new."""
    within = union(graph.masks.ancestors, goal)
    territory, grown = 0, goal
    while territory != grown:
        territory = grown
        grown |= (union(graph.masks.spouses, grown) | union(graph.masks.descendants, grown)) & within
    return territory


def _border(graph: MixedGraph, goal: int) -> int:
    territory = _territory(graph, goal)
    return union(graph.masks.parents, territory) & ~territory


def _checked(graph: MixedGraph, target: str, manipulable: Names | None) -> tuple[int, int]:
    """The target and the variables that may be set, as masks."""
    if not graph.is_acyclic:
        raise GraphError("the graph has a directed cycle; minimal intervention sets are defined for acyclic graphs")
    goal = graph.mask(target)
    everything = (1 << len(graph.nodes)) - 1
    candidates = everything & ~goal if manipulable is None else graph.mask(manipulable)
    if candidates & goal:
        raise GraphError(f"the target {target!r} cannot be manipulated; leave it out of manipulable")
    if candidates.bit_count() > MOST_VARIABLES:
        raise OptionError(
            f"{candidates.bit_count()} variables have too many subsets to try (at most {MOST_VARIABLES} variables); "
            f"name fewer than {listing(graph.names(candidates), 4)} in manipulable"
        )
    return goal, candidates


def _subsets(mask: int) -> list[int]:
    """All subsets, smaller ones first, then by node order."""
    members = list(bits(mask))
    sizes = range(len(members) + 1)
    return [sum(1 << member for member in chosen) for size in sizes for chosen in combinations(members, size)]

"""Cycles among linear equations: solved at once for the variables that cause each other."""

import numpy as np

from ...core.compiled import Floats
from ...core.graphs import MixedGraph
from ...core.problem import Arm
from ...errors import WorldError, listing


def parts_in_order(graph: MixedGraph) -> list[list[int]]:
    """The strongly connected components as node numbers, each after the components of its parents.

    >>> parts_in_order(MixedGraph(["Y", "B", "A"], [("A", "B"), ("B", "A"), ("B", "Y")]))
    [[1, 2], [0]]
    """
    place = {name: number for number, name in enumerate(graph.nodes)}
    parts = [[place[name] for name in part] for part in graph.strongly_connected_components()]
    return sorted(parts, key=lambda part: graph.masks.ancestors[part[0]].bit_count())


def converge(weights: Floats, part: list[int], values: Floats) -> None:
    """Turn what the equations of a part add by themselves into its values, in place: (I - B)^-1 of it."""
    outside = weights[part]
    outside[:, part] = 0.0
    values[part] = np.linalg.solve(np.eye(len(part)) - weights[np.ix_(part, part)], values[part] + outside @ values)


def check_stable(weights: Floats, part: list[int], names: tuple[str, ...], arm: Arm) -> None:
    """Reject feedback that grows: a spectral radius of 1 or more."""
    radius = np.abs(np.linalg.eigvals(weights[np.ix_(part, part)])).max(initial=0.0)
    if not radius < 1:
        raise WorldError(
            f"the feedback among {listing(names[place] for place in part)} has a spectral radius of {radius:.4g} under "
            f"{arm}, and values converge only below 1; lower the coefficients on the cycle"
        )

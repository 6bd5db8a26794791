"""Worlds over the graphs of Lee and Bareinboim (2018): intervening on everything is not always best."""

from typing import Literal, get_args

import numpy as np

from ...core.graphs import MixedGraph
from ...core.seeds import Seed, generator
from ...core.validation import validated
from ...errors import OptionError, brief
from .discrete_scm import DiscreteSCM
from .mechanisms import Mechanism, perfect

Diagram = Literal["iv", "front-door", "xyzwst"]

DIAGRAMS: dict[str, MixedGraph] = {
    "iv": MixedGraph(["Z", "X", "Y"], [("Z", "X"), ("X", "Y")], [("X", "Y")]),
    "front-door": MixedGraph(["X", "Z", "Y"], [("X", "Z"), ("Z", "Y")], [("X", "Y")]),
    "xyzwst": MixedGraph(
        ["S", "T", "Z", "X", "W", "Y"],
        [("Z", "X"), ("X", "Y"), ("W", "Y"), ("S", "W"), ("T", "X"), ("T", "Y")],
        [("X", "W"), ("Z", "Y")],
    ),
}


@validated
def lee_bareinboim_world(diagram: Diagram = "iv", *, seed: Seed = None) -> DiscreteSCM:
    """Binary variables with random mechanisms over one of their graphs, perfect interventions on all but Y.

    Every bidirected edge is a separate coin; a mechanism is nearly deterministic, as in the worlds that separate the
    intervention sets. Deviation: the paper fixes one world per graph; here the seed draws it.

    Args:
        diagram: Name of the graph, a key of `DIAGRAMS`.
        seed: Seed or Generator of the mechanisms.

    >>> lee_bareinboim_world("iv", seed=0).graph
    MixedGraph(Z -> X, X -> Y, X <-> Y)
    """
    if diagram not in get_args(Diagram):
        raise OptionError(f"diagram={brief(diagram)}; expected one of {', '.join(get_args(Diagram))}")
    return random_tables(DIAGRAMS[diagram], generator(seed))


def random_tables(graph: MixedGraph, rng: np.random.Generator, *, sharpness: float = 0.3) -> DiscreteSCM:
    """Binary variables over any acyclic graph, each row of each table from Dirichlet(sharpness, sharpness).

    Args:
        graph: Acyclic graph over the variables, with the reward Y.
        rng: Generator of the tables.
        sharpness: Parameter of the Dirichlet; the smaller, the closer to deterministic.
    """
    coins = {f"U({a},{b})": (a, b) for a, b in graph.bidirected}
    mechanisms = {}
    for name in graph.nodes:
        parents = [*graph.parents(name), *(coin for coin, ends in coins.items() if name in ends)]
        mechanisms[name] = Mechanism(parents, rng.dirichlet([sharpness] * 2, size=(2,) * len(parents)))
    return DiscreteSCM(
        variables=dict.fromkeys(graph.nodes, 2),
        mechanisms=mechanisms,
        interventions={f"I_{name}": perfect(name) for name in graph.nodes if name != "Y"},
        noise={coin: rng.dirichlet([2, 2]).tolist() for coin in coins},
    )

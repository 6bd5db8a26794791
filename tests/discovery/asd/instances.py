"""Random instances for both engines: weights as data give them, and weights made to confuse."""

import numpy as np
from numpy.typing import NDArray

from causal_bandits.core.discovery.asd.graph_space import Graphs, Space, list_graphs
from causal_bandits.core.discovery.asd.separation import separations
from causal_bandits.core.discovery.asd.statements import all_statements

SPACES = [
    Space(2, (1,)),
    Space(2, (1,), sufficient=True),
    Space(3, (1, 2)),
    Space(3, (1, 6), sufficient=True),
    Space(3, (1, 2), acyclic=False),
    Space(4, (1, 2, 4)),
    Space(4, (1, 2, 4), sufficient=True),
]


def truth(space: Space, graphs: Graphs) -> NDArray[np.bool_]:
    """(graphs, statements): which statements hold."""
    statements = all_statements(space.system, space.contexts)
    packed = separations(graphs, np.array(space.targets), statements, not space.acyclic)
    return np.unpackbits(packed, axis=1, bitorder="little", count=len(statements.first)).astype(np.bool_)


def weights(space: Space, rng: np.random.Generator) -> NDArray[np.float64]:
    """Realistic: a random graph's statements with errors and left-out tests; adversarial: anything."""
    count = len(all_statements(space.system, space.contexts).first)
    if rng.random() < 0.3:
        return rng.normal(scale=3, size=count)
    graphs = list_graphs(space)
    place = rng.integers(len(graphs.parents), size=1)
    separated = truth(space, Graphs(graphs.parents[place], graphs.spouses[place]))[0]
    independent = 3.7 * rng.random(count)  # log p - log .025 is at most 3.7
    dependent = -rng.gamma(0.7, 20, size=count)
    wrong = rng.random(count) < 0.1
    found = np.where(separated != wrong, independent, dependent)
    found[rng.random(count) < 0.1] = 0
    return found

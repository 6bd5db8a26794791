"""The paper's worlds: random binary mechanisms on a graph, with cycles too, and the example of sec. 3.2."""

from collections.abc import Callable, Mapping
from typing import Literal

import numpy as np

from ...core.graphs import MixedGraph
from ...core.problem import Level
from ...core.seeds import Seed, generator
from ...core.validation import validated
from ...errors import WorldError, brief
from .discrete_scm import DiscreteSCM
from .mechanisms import Effect, Mechanism, perfect

# The paper's simulated worlds (appendix B.1)


@validated
def paper_world(graph: MixedGraph, *, target: str = "Y", seed: Seed = None) -> DiscreteSCM:
    """Binary variables on a DAG with perfect interventions on every variable but the target.

    Each parent of X gets a random target value; with m parents at theirs, P(X = 1) = (1 + m) / (2 + parents).
    A bidirected edge, which the paper does not have here, is a fair coin that counts as a parent of both its ends.

    Args:
        graph: Acyclic graph over the variables and the target.
        target: Name of the reward.
        seed: Seed or Generator of the parents' target values.

    >>> graph = MixedGraph(["A", "B", "Y"], directed=[("A", "B"), ("B", "Y")])
    >>> world = paper_world(graph, seed=0)
    >>> len(world.problem.arms), sorted(set(world.means.round(3).tolist()))
    (9, [0.333, 0.444, 0.5, 0.556, 0.667])
    """
    if target not in graph.nodes:
        raise WorldError(f"target {brief(target)} is not a node of the graph; its nodes are {list(graph.nodes)}")
    if not graph.is_acyclic:
        raise WorldError("the graph has a directed cycle; use cyclic_world(), or a graph without one")
    return counting_world(graph, target, random_targets(graph, generator(seed)))


def random_targets(graph: MixedGraph, rng: np.random.Generator) -> dict[str, list[int]]:
    """A target value for each parent of each variable: its parents in the graph, then the coins it shares."""
    return {name: rng.integers(2, size=len(parents_and_coins(graph, name))).tolist() for name in graph.nodes}


def counting_world(
    graph: MixedGraph, target: str, wanted: Mapping[str, list[int]], start: Mapping[str, Level] | None = None
) -> DiscreteSCM:
    """The world with these target values; cycles converge from `start`."""
    return DiscreteSCM(
        variables=dict.fromkeys(graph.nodes, 2),
        mechanisms={name: _counting(parents_and_coins(graph, name), wanted[name]) for name in graph.nodes},
        interventions={f"I_{name}": perfect(name) for name in graph.nodes if name != target},
        target=target,
        noise={coin_of(arc): [0.5, 0.5] for arc in graph.bidirected},
        cycles="unique" if start is None else "iterate",
        start=start,
    )


def coin_of(arc: tuple[str, str]) -> str:
    """The name of the coin behind a bidirected edge."""
    return f"U({arc[0]},{arc[1]})"


def parents_and_coins(graph: MixedGraph, name: str) -> list[str]:
    """The parents of a variable in the graph, then the coins it shares."""
    return [*graph.parents(name), *(coin_of(arc) for arc in graph.bidirected if name in arc)]


def _counting(parents: list[str], wanted: list[int]) -> Mechanism:
    def chances(*values: int) -> list[float]:
        matches = sum(value == target for value, target in zip(values, wanted, strict=True))
        one = (1 + matches) / (2 + len(parents))
        return [1 - one, one]

    return Mechanism(parents, chances)


@validated
def cyclic_world(graph: MixedGraph, *, target: str = "Y", seed: Seed = None) -> DiscreteSCM:
    """The binary variables of `paper_world` on a graph that may have cycles, also through the reward.

    Each parent of X has a target value; with m of them at theirs, P(X = 1) = (1 + m) / (2 + parents). Target values are
    random, but every variable on a cycle has a random level at rest, and leaves it with higher probability if more of
    its parents in the same strongly connected component have left theirs. So feedback is positive around every cycle,
    and updates from rest converge for every noise; this equilibrium is observed. Without cycles it is `paper_world`.

    Args:
        graph: Graph over the variables and the target.
        target: Name of the reward.
        seed: Seed or Generator of the target values and levels at rest.

    >>> graph = MixedGraph(["A", "B", "Y"], directed=[("A", "B"), ("B", "A"), ("B", "Y")])
    >>> world = cyclic_world(graph, seed=0)
    >>> len(world.problem.arms), world.graph == graph, world.separating_sets()
    (9, True, [('B',), ('A', 'B')])
    """
    if target not in graph.nodes:
        raise WorldError(f"target {brief(target)} is not a node of the graph; its nodes are {list(graph.nodes)}")
    rng = generator(seed)
    wanted = random_targets(graph, rng)
    parts = [part for part in graph.strongly_connected_components() if len(part) > 1]
    if not parts:
        return counting_world(graph, target, wanted)
    rest = dict(zip(graph.nodes, rng.integers(2, size=len(graph.nodes)).tolist(), strict=True))
    for part in parts:
        for name in part:
            for position, parent in enumerate(graph.parents(name)):
                if parent in part:
                    wanted[name][position] = 1 ^ rest[parent] ^ rest[name]
    return counting_world(graph, target, wanted, rest)


# The example of sec. 3.2 (Fig. 1): which separating set is best depends on the mechanisms, not on the graph


Best = Literal["S2", "AB", "S3"]


@validated
def example_world(best: Best = "S2") -> DiscreteSCM:
    """I acts on A and B, then A, B -> S2 -> S3 -> Y, with mechanisms that make the named set the best.

    - ``S2``: the paper's: A = I, B = 1 - I, S2 = A xor B xor U1, S3 = S2 xor U2, Y = S3. Through {A, B} the two
      arms share nothing, and given S3 there is nothing left to learn.
    - ``AB``: A and B are noisy, S2 = A xor B xor U1, S3 and Y copy S2: only given {A, B} is something left to learn.
    - ``S3``: A = I, B = 1 - I, S2 is their pair, S3 = A xor U2, Y = S3 xor U3: the arms first meet in S3.

    Deviation: the paper writes I_A and I_B in the equation of S2 without defining them; read as A and B. Then
    A xor B is always 1 in its example, and the arms do not differ at all.

    Args:
        best: Name of the set to make the best: ``"S2"``, ``"AB"`` or ``"S3"``.

    >>> example_world("S3").means.round(2).tolist()
    [0.38, 0.62]
    """
    flips = {0: (0.3, 0.3), 1: (0.1, 0.3)} if best == "AB" else {0: (0.0, 0.0), 1: (0.0, 0.0)}
    if best == "S3":
        second = Mechanism(["A", "B"], lambda a, b: 2 * a + b)
        third, reward = _noisy("S2", lambda s: int(s >= 2), 0.3), _noisy("S3", int, 0.2)
    else:
        second = Mechanism(["A", "B"], lambda a, b: _flip(a ^ b, 0.3))
        third, reward = _noisy("S2", int, 0.2 if best == "S2" else 0.0), _noisy("S3", int, 0.0)
    coin = Mechanism([], [0.5, 0.5])
    effects: dict[Level, Effect] = {
        i: {"A": Mechanism([], _flip(i, a)), "B": Mechanism([], _flip(1 - i, b))} for i, (a, b) in flips.items()
    }
    return DiscreteSCM(
        variables={"A": 2, "B": 2, "S2": 4 if best == "S3" else 2, "S3": 2, "Y": 2},
        mechanisms={"A": coin, "B": coin, "S2": second, "S3": third, "Y": reward},
        interventions={"I": effects},
    )


def _flip(value: int, chance: float) -> list[float]:
    """The distribution of a bit that is `value` but for a flip."""
    return [1 - chance, chance] if value == 0 else [chance, 1 - chance]


def _noisy(parent: str, function: Callable[[int], int], chance: float) -> Mechanism:
    return Mechanism([parent], lambda value: _flip(function(value), chance))

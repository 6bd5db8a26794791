"""Slow, obvious twins for worlds with cycles: equations solved case by case, and graphs without their cycles."""

import itertools
from collections.abc import Iterator, Mapping
from typing import Any

import networkx as nx
import numpy as np
from numpy.typing import NDArray

from causal_bandits import DiscreteSCM
from causal_bandits.core.graphs import MixedGraph
from causal_bandits.core.problem import Level
from causal_bandits.research.worlds.mechanisms import Mechanism
from tests.reference.graphs import reachable

Values = dict[str, Any]


def equation(world: DiscreteSCM, name: str, how: Any, uniform: float, values: Values) -> Level:
    """The level of a variable: a set one, or where its uniform noise falls in the row of its parents."""
    if not isinstance(how, Mechanism):
        level: Level = how
        return level
    row = how.table(*(values[parent] for parent in how.parents))
    for level, total in zip(world.variables[name].levels, itertools.accumulate(row), strict=True):
        if uniform < total - 1e-9:
            return level
    return world.variables[name].levels[-1]


def in_force(world: DiscreteSCM, arm: Mapping[str, Level]) -> dict[str, Any]:
    """What sets each variable under an arm of levels and mechanisms."""
    how: dict[str, Any] = dict(world.mechanisms)
    for lever, value in arm.items():
        how.update(world.interventions[lever][value])
    return how


def parts_in_order(world: DiscreteSCM, how: Mapping[str, Any]) -> list[list[str]]:
    """The strongly connected components among the variables, parents first."""
    G: nx.DiGraph[str] = nx.DiGraph()
    G.add_nodes_from(world.variables)
    G.add_edges_from((p, name) for name, each in how.items() if isinstance(each, Mechanism) for p in each.parents)
    order = nx.condensation(G)
    parts = [order.nodes[part]["members"] for part in nx.topological_sort(order)]
    return [[name for name in world.variables if name in part] for part in parts]


def equilibrium(
    world: DiscreteSCM,
    how: Mapping[str, Any],
    parts: list[list[str]],
    uniforms: Mapping[str, float],
    noise: Mapping[str, int],
) -> Values:
    """Component by component: all its variables at once, again and again, until nothing changes."""
    converged: Values = dict(noise)
    for names in parts:
        converged |= {name: (world.start or {}).get(name, world.variables[name].levels[0]) for name in names}
        for _ in range(200):
            new = {name: equation(world, name, how[name], uniforms[name], converged) for name in names}
            if all(converged[name] == new[name] for name in names):
                break
            converged |= new
        else:
            raise AssertionError("it does not converge")
    return {name: converged[name] for name in world.variables}


def simulated(world: DiscreteSCM, arm: Mapping[str, Level], draws: int, rng: np.random.Generator) -> Iterator[Values]:
    """Equilibria of this many draws of all noises."""
    how = in_force(world, arm)
    parts = parts_in_order(world, how)
    for _ in range(draws):
        noise = {name: int(rng.choice(len(p), p=p)) for name, p in world.noise.items()}
        yield equilibrium(world, how, parts, {name: rng.random() for name in world.variables}, noise)


def enumerated_equilibria(world: DiscreteSCM, arm: Mapping[str, Level], cuts: int) -> NDArray[np.float64]:
    """P(V | arm) where all probabilities are multiples of 1 / cuts, so that one uniform value between two will do."""
    how = in_force(world, arm)
    parts = parts_in_order(world, how)
    cells = [(k + 0.5) / cuts for k in range(cuts)]
    law: NDArray[np.float64] = np.zeros([variable.size for variable in world.variables.values()])
    for levels in itertools.product(*(range(len(p)) for p in world.noise.values())):
        chance = float(np.prod([p[k] for p, k in zip(world.noise.values(), levels, strict=True)]))
        noise = dict(zip(world.noise, levels, strict=True))
        for values in itertools.product(cells, repeat=len(world.variables)):
            found = equilibrium(world, how, parts, dict(zip(world.variables, values, strict=True)), noise)
            law[tuple(world.variables[name].code(level) for name, level in found.items())] += chance
    law /= cuts ** len(world.variables)
    return law


def acyclified(graph: MixedGraph) -> "nx.DiGraph[str]":
    """Bongers et al. (2021), Definition A.13, with hidden causes as nodes: sigma-separation is d-separation in it.

    A node gets the parents of its component that lie outside it; a hidden cause of one member is one of all, and the
    members of a component share one.
    """
    below = {node: reachable(graph, node) for node in graph.nodes}
    component = {node: frozenset(other for other in below[node] if node in below[other]) for node in graph.nodes}
    G: nx.DiGraph[str] = nx.DiGraph()
    G.add_nodes_from(graph.nodes)
    for tail, head in graph.directed:
        if tail not in component[head]:
            G.add_edges_from((tail, member) for member in component[head])
    for number, members in enumerate(dict.fromkeys(component.values())):
        if len(members) > 1:
            G.add_edges_from((f"component {number}", member) for member in members)
    for one, other in graph.bidirected:
        G.add_edges_from((f"hidden {one} {other}", member) for member in component[one] | component[other])
    return G

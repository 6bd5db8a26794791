"""Maiti, Nair and Sinha 2022: the effects by hand and against worlds, what is thin, and what is pulled."""

import itertools

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from causal_bandits import DiscreteSCM, MixedGraph
from causal_bandits.core.graphs import random_mixed_graph
from causal_bandits.research.comparators import MaitiObserving
from causal_bandits.research.comparators.lattimore import smallest_tau
from causal_bandits.research.comparators.maiti import (
    c_component,
    condition,
    effect_means,
    is_identified,
    observed_ease,
)
from causal_bandits.research.experiments.families import single_interventions
from causal_bandits.research.worlds import paper_world, parallel_world
from tests.policies.comparators.plans import rounds, rows_of

FRONT_DOOR = MixedGraph(["X", "Z", "Y"], [("X", "Z"), ("Z", "Y")], [("X", "Y")])
COUNTS = np.array([[[6, 2], [1, 1]], [[2, 2], [2, 4]]])
"""20 rows by X, Z and Y."""


def test_the_front_door_by_hand() -> None:
    """P(y | do(x)) = sum_z P(z | x) sum_x' P(x') P(y | x', z), which the formula for c-components is here.

    P(x') = 1/2 each; P(Z = 1 | x) = 1/5, 3/5; P(y | x', z): 1/4, 1/2 at X = 0 and 1/2, 2/3 at X = 1, so the inner sum
    is 3/8 at Z = 0 and 7/12 at Z = 1.
    """
    wanted = [4 / 5 * 3 / 8 + 1 / 5 * 7 / 12, 2 / 5 * 3 / 8 + 3 / 5 * 7 / 12]
    np.testing.assert_allclose(effect_means(COUNTS, FRONT_DOOR, "X"), wanted)
    back_door = [(1 / 4 + 1 / 2) / 2, (1 / 2 + 2 / 3) / 2]  # of Z, through X: sum_x' P(x') P(y | x', z)
    np.testing.assert_allclose(effect_means(COUNTS, FRONT_DOOR, "Z"), back_door)


def test_what_is_thin_by_hand() -> None:
    """X is with Y in a c-component of size 2 with the parent Z: the rarest of all values has 1 of 20 rows, squared.

    Z is alone, with the parent X: the rarest of (X, Z) has 2 of 20. m: both are below 1 / 2, and 2 are not more than 2.
    """
    assert observed_ease(COUNTS, FRONT_DOOR, "X") == pytest.approx((1 / 20) ** 2)
    assert observed_ease(COUNTS, FRONT_DOOR, "Z") == pytest.approx(2 / 20)
    assert smallest_tau(np.array([1 / 400, 1 / 10])) == 2
    assert smallest_tau(np.array([0.4, 0.4, 0.4])) == 3
    assert observed_ease(COUNTS, FRONT_DOOR, "elsewhere") == 1
    confounded = MixedGraph(FRONT_DOOR.nodes, FRONT_DOOR.directed, [("X", "Z")])
    assert not is_identified(confounded, "X")
    assert observed_ease(COUNTS, confounded, "X") == 0


def test_conditions() -> None:
    """In X -> Z -> Y with X <-> Y: P(x), P(z | x), P(y | x, z). With A <-> B <-> C the later ones carry the parents."""
    assert [condition(FRONT_DOOR, name) for name in FRONT_DOOR.nodes] == [(), ("X",), ("X", "Z")]
    graph = MixedGraph(["R", "A", "B", "C", "Y"], [("R", "A"), ("C", "Y")], [("A", "B"), ("B", "C")])
    assert c_component(graph, "C") == ("A", "B", "C")
    assert condition(graph, "B") == ("R", "A")
    assert condition(graph, "C") == ("R", "A", "B")
    assert condition(graph, "Y") == ("C",)


def levers(graph: MixedGraph) -> list[str]:
    return [name for name in graph.nodes if name != "Y"]


@given(st.integers(0, 2**32 - 1), st.integers(2, 4))
@settings(max_examples=60, deadline=None)
def test_effects_are_the_worlds_wherever_they_are_identified(seed: int, size: int) -> None:
    """From the exact distribution of do(), in random worlds with hidden common causes, to 1e-9."""
    rng = np.random.default_rng(seed)
    graph = random_mixed_graph([*"ABCD"[:size], "Y"], rng, p_directed=0.5, p_bidirected=0.4)
    assume(graph.parents("Y"))
    world = paper_world(graph, seed=rng)
    policy = MaitiObserving(single_interventions(world).problem, graph=graph, horizon=100)
    exact = world.distribution({}, policy.graph.nodes)
    for name in policy.graph.nodes[:-1]:
        if is_identified(policy.graph, name):
            wanted = [world.distribution({f"I_{name}": level}, ["Y"])[1] for level in (0, 1)]
            np.testing.assert_allclose(effect_means(exact, policy.graph, name), wanted, atol=1e-9)  # type: ignore[arg-type]


def literal(joint: NDArray[np.float64], graph: MixedGraph, name: str, level: int) -> float:
    """E[Y | do(X = x)] with all conditions written out: V_j given all before it in one order, value by value."""
    order = graph.topological_order()
    places = [graph.nodes.index(each) for each in order]
    joint = joint.transpose(places)
    at, component = order.index(name), c_component(graph, name)

    def given_before(values: tuple[int, ...], place: int) -> float:
        above, whole = joint[values[: place + 1]].sum(), joint[values[:place]].sum()
        return float(above / whole)

    total = 0.0
    for values in itertools.product(range(2), repeat=len(order)):
        if values[at] != level or not values[order.index("Y")]:
            continue
        outside, inside = 1.0, 0.0
        for place, node in enumerate(order):
            outside *= given_before(values, place) if node not in component else 1.0
        for other in range(2):
            mixed = (*values[:at], other, *values[at + 1 :])
            inside += float(np.prod([given_before(mixed, order.index(node)) for node in component]))
        total += inside * outside
    return total


@given(st.integers(0, 2**32 - 1))
@settings(max_examples=30, deadline=None)
def test_effects_against_the_formula_written_out(seed: int) -> None:
    """Tian and Pearl's product with full conditions; the same, since a true distribution needs no more of them."""
    rng = np.random.default_rng(seed)
    graph = random_mixed_graph(["A", "B", "C", "Y"], rng, p_directed=0.6, p_bidirected=0.3)
    assume(graph.parents("Y"))
    graph = graph.subgraph(graph.ancestors("Y"))
    exact = paper_world(graph, seed=rng).distribution({}, graph.nodes)
    for name in levers(graph):
        wanted = [literal(exact, graph, name, level) for level in (0, 1)]
        np.testing.assert_allclose(effect_means(exact, graph, name), wanted, atol=1e-9)  # type: ignore[arg-type]


def test_half_observes_then_the_thin_are_pulled_then_the_best() -> None:
    """Budget 200 on X, V, W -> Y with X <-> Y: X is not identified, V and W are fair coins.

    After 100 rounds of do() all three have q < 1 / 2, and X alone q < 1 / 3: m = 3, and do(X = x) get 50 pulls each.
    E[Y | do(V = v)] = sum over x and w of P(x) P(w) P(Y = 1 | x, v, w).
    """
    graph = MixedGraph(["X", "V", "W", "Y"], [("X", "Y"), ("V", "Y"), ("W", "Y")], [("X", "Y")])
    world = single_interventions(paper_world(graph, seed=1))
    policy = MaitiObserving(world.problem, graph=graph, horizon=400, seed=0)
    assert policy.budget == 200
    assert set(rounds(policy, world, 100)) == {0}
    observed = rows_of(policy)
    arms = {str(arm): number for number, arm in enumerate(world.problem.arms)}
    pulled = [arms["do(X=0)"], arms["do(X=1)"]]
    assert np.bincount(rounds(policy, world, 100, seed=2), minlength=7)[pulled].tolist() == [50, 50]
    counts = np.zeros((2, 2, 2, 2))
    for _, codes, y in observed:
        counts[(*codes, y)] += 1
    share = [counts.sum(axis=tuple({0, 1, 2, 3} - {place})) / 100 for place in range(3)]
    y_given = counts[..., 1] / counts.sum(axis=3)
    means = np.zeros(7)
    means[0] = counts[..., 1].sum() / 100
    for level in (0, 1):
        means[pulled[level]] = np.mean([y for arm, _, y in rows_of(policy) if arm == pulled[level]])
        means[arms[f"do(V={level})"]] = np.einsum("x,w,xw->", share[0], share[2], y_given[:, level])
        means[arms[f"do(W={level})"]] = np.einsum("x,v,xv->", share[0], share[1], y_given[:, :, level])
    np.testing.assert_allclose(policy.scores(), means)
    assert set(rounds(policy, world, 30, seed=3)) == {int(np.argmax(means))}
    assert policy.recommend().arm == world.problem.arms[int(np.argmax(means))]


def test_without_latents_and_back_doors_it_is_the_parallel_bandit() -> None:
    """C = {X}, so q_i = min_x P(X_i = x), k_i = 1; both values of a rare variable are pulled."""
    world = parallel_world(4, rare=2, chance=0.02)
    policy = MaitiObserving(world.problem, graph=world.graph, horizon=400, budget=200, seed=0)
    assert c_component(policy.graph, "X1") == ("X1",)
    assert policy.graph.nodes == ("X1", "Y")  # the others are no ancestors
    rounds(policy, world, 100)
    pulled = set(rounds(policy, world, 100, seed=2))
    assert {str(world.problem.arms[arm]) for arm in pulled} == {"do(X1=0)", "do(X1=1)"}
    assert policy.scores()[3] == policy.scores()[0]  # X2 is no cause of Y


def test_hidden_nodes_are_projected_out() -> None:
    """A graph with its hidden causes as nodes is the same as one with bidirected edges."""
    nodes = MixedGraph(["X", "Z", "U", "Y"], [("X", "Z"), ("Z", "Y"), ("U", "X"), ("U", "Y")])
    world: DiscreteSCM = single_interventions(paper_world(FRONT_DOOR, seed=0))
    assert MaitiObserving(world.problem, graph=nodes, horizon=10).graph == FRONT_DOOR

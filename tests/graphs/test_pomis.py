"""Where to intervene: against brute force, the literature's examples, and the best arms of random worlds."""

from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from causal_bandits import DiscreteSCM, MixedGraph
from causal_bandits.core.graphs import (
    latent_projection,
    pomis_sets,
    random_mixed_graph,
)
from causal_bandits.errors import GraphError, OptionError, UnknownVariableError
from causal_bandits.research.worlds import Mechanism, perfect
from tests.reference import pomis as slow

IV = MixedGraph(["Z", "X", "Y"], [("Z", "X"), ("X", "Y")], [("X", "Y")])
FRONT_DOOR = MixedGraph(["X", "Z", "Y"], [("X", "Z"), ("Z", "Y")], [("X", "Y")])
CONFOUNDED = MixedGraph(["Z", "X", "W", "Y"], [("Z", "X"), ("X", "Y"), ("W", "Y")], [("X", "W"), ("Z", "Y")])


@st.composite
def acyclic(draw: st.DrawFn, most: int = 6) -> MixedGraph:
    nodes = list("ABCDEY"[6 - draw(st.integers(2, most)) :])
    pairs = list(combinations(nodes, 2))
    order = dict(zip(nodes, draw(st.permutations(range(len(nodes)))), strict=True))
    arrows = [(a, b) if order[a] < order[b] else (b, a) for a, b in draw(st.sets(st.sampled_from(pairs)))]
    return MixedGraph(nodes, arrows, draw(st.sets(st.sampled_from(pairs), max_size=5)))


def as_sets(found: list[tuple[str, ...]]) -> list[set[str]]:
    return [set(each) for each in found]


def test_examples_of_the_literature() -> None:
    """Lee and Bareinboim 2018, Figs. 2, 3 and 5; front door with Z fixed: 2019, sec. 3."""
    assert pomis_sets(IV, "Y") == [("Z",), ("X",)]
    assert pomis_sets(FRONT_DOOR, "Y") == [(), ("Z",)]
    assert pomis_sets(CONFOUNDED, "Y") == [(), ("W",), ("X", "W")]
    assert pomis_sets(FRONT_DOOR, "Y", manipulable=["X"]) == [(), ("X",)]


def test_filtering_is_not_projecting() -> None:
    """Front door with Z fixed: of {} and {Z} only {} would be left, though do(X) may be the best."""
    assert [each for each in pomis_sets(FRONT_DOOR, "Y") if "Z" not in each] == [()]
    assert ("X",) in pomis_sets(FRONT_DOOR, "Y", manipulable=["X"])


@given(acyclic())
def test_fast_is_brute_force(graph: MixedGraph) -> None:
    key = lambda xs: (len(xs), sorted(xs))  # noqa: E731
    assert sorted(as_sets(pomis_sets(graph, "Y")), key=key) == sorted(slow.pomis(graph, "Y"), key=key)
    minimal = slow.minimal(graph, "Y")
    assert all(each in minimal for each in as_sets(pomis_sets(graph, "Y")))


@given(acyclic(), st.data())
def test_projection_is_brute_force(graph: MixedGraph, data: st.DataObject) -> None:
    onto = data.draw(st.sets(st.sampled_from(graph.nodes))) | {"Y"}
    projected = latent_projection(graph, onto)
    directed, bidirected = slow.projection(graph, onto)
    assert set(projected.directed) == directed
    assert {frozenset(edge) for edge in projected.bidirected} == bidirected


@given(acyclic(), st.permutations("ABCDE"))
def test_names_do_not_matter(graph: MixedGraph, letters: list[str]) -> None:
    mapping = dict(zip("ABCDE", [f"{letter}*" for letter in letters], strict=True))
    mapping = {old: new for old, new in mapping.items() if old in graph.nodes}
    moved = as_sets(pomis_sets(graph.relabel(mapping), "Y"))
    assert all({mapping[name] for name in each} in moved for each in as_sets(pomis_sets(graph, "Y")))
    assert len(moved) == len(pomis_sets(graph, "Y"))


@given(acyclic())
def test_without_latents_the_parents_are_the_only_set(graph: MixedGraph) -> None:
    plain = MixedGraph(graph.nodes, graph.directed)
    assert pomis_sets(plain, "Y") == [plain.parents("Y")]


def random_world(graph: MixedGraph, manipulable: list[str], rng: np.random.Generator) -> DiscreteSCM:
    """Binary variables with random tables; a fair or unfair coin per bidirected edge."""
    coins = {f"U{i}": edge for i, edge in enumerate(graph.bidirected)}
    mechanisms = {}
    for name in graph.nodes:
        parents = [*graph.parents(name), *(coin for coin, ends in coins.items() if name in ends)]
        table = rng.dirichlet([0.3, 0.3], size=(2,) * len(parents))  # nearly deterministic, as the worst worlds are
        mechanisms[name] = Mechanism(parents, table)
    noise = {coin: rng.dirichlet([1, 1]).tolist() for coin in coins}
    levers = {f"I_{name}": perfect(name) for name in manipulable}
    return DiscreteSCM(dict.fromkeys(graph.nodes, 2), mechanisms, levers, noise=noise)


@pytest.mark.parametrize("seed", range(25))
def test_a_pomis_arm_is_the_best(seed: int) -> None:
    """In every world over the graph the best arm sets a POMIS; exact means, with and without variables to leave."""
    rng = np.random.default_rng(seed)
    graph = random_mixed_graph(["A", "B", "C", "Y"], rng, p_directed=0.7, p_bidirected=0.4)
    for manipulable in (["A", "B", "C"], ["A", "C"]):
        world = random_world(graph, manipulable, rng)
        sets = as_sets(pomis_sets(graph, "Y", manipulable=manipulable))
        of_arm = [{name.removeprefix("I_") for name in arm.active} for arm in world.problem.arms]
        among = max(mean for mean, set_by in zip(world.means, of_arm, strict=True) if set_by in sets)
        assert among == pytest.approx(world.means.max(), abs=1e-12)


def test_bad_input() -> None:
    with pytest.raises(GraphError, match="directed cycle"):
        pomis_sets(MixedGraph(["A", "Y"], [("A", "Y"), ("Y", "A")]), "Y")
    with pytest.raises(UnknownVariableError, match="no node 'Q'"):
        pomis_sets(IV, "Q")
    with pytest.raises(UnknownVariableError, match="no node 'Q'"):
        pomis_sets(IV, "Y", manipulable=["Q"])
    with pytest.raises(GraphError, match="cannot be manipulated"):
        pomis_sets(IV, "Y", manipulable=["Y"])
    many = [f"X{i}" for i in range(20)]
    with pytest.raises(OptionError, match="20 variables have too many subsets"):
        pomis_sets(MixedGraph([*many, "Y"]), "Y")

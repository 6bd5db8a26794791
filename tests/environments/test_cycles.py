"""Discrete worlds with cycles: their solutions, exact means, interventions, draws and separations."""

import itertools
import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from causal_bandits import DiscreteSCM, MixedGraph
from causal_bandits.core.compiled import Floats
from causal_bandits.core.graphs import random_mixed_graph, separates, separating_sets
from causal_bandits.core.problem import Level
from causal_bandits.errors import WorldError
from causal_bandits.research.worlds import Mechanism, cyclic_world, paper_world, perfect
from causal_bandits.research.worlds.mechanisms import Nudge
from tests.reference.cycles import enumerated_equilibria, simulated

FOLLOW = [[0.8, 0.2], [0.2, 0.8]]
LOOP = {"A": Mechanism(["B"], FOLLOW), "B": Mechanism(["A"], FOLLOW), "Y": Mechanism(["B"], FOLLOW)}


def loop(**changes: Any) -> DiscreteSCM:
    options: dict[str, Any] = {"mechanisms": LOOP, "interventions": {"I_A": perfect("A")}, "cycles": "iterate"}
    return DiscreteSCM(dict.fromkeys("ABY", 2), **{**options, **changes})


def cyclic_graph(rng: np.random.Generator, bidirected: float = 0.3) -> MixedGraph:
    while True:
        graph = random_mixed_graph(list("ABCY"), rng, p_directed=0.35, p_bidirected=bidirected, acyclic=False)
        if not graph.is_acyclic and graph.parents("Y"):
            return graph


def sets_of(graph: MixedGraph) -> list[tuple[str, ...]]:
    """Those that separate the levers on A, B and C from Y."""
    return separating_sets(graph.with_context({f"I_{name}": name for name in "ABC"}), ["I_A", "I_B", "I_C"], "Y")


# Solutions


def test_two_variables_by_hand() -> None:
    """Each follows the other with probability .6 and is 0 or 1 by itself with .2; from 0 and 0 the lower solution."""
    world = loop()
    np.testing.assert_allclose(world.distribution({}, ["A", "B"]), [[0.64, 0.04], [0.04, 0.28]], atol=1e-12)
    upper = loop(start={"A": 1, "B": 1})
    np.testing.assert_allclose(upper.distribution({}, ["A", "B"]), [[0.28, 0.04], [0.04, 0.64]], atol=1e-12)
    np.testing.assert_allclose(world.distribution({"I_A": 1}, ["A", "B"]), [[0.0, 0.0], [0.2, 0.8]], atol=1e-12)
    np.testing.assert_allclose(world.means, [0.2 + 0.6 * 0.32, 0.2 + 0.6 * 0.2, 0.2 + 0.6 * 0.8], atol=1e-12)


def who_listens(**changes: Any) -> DiscreteSCM:
    """A coin that both see says which of A and B copies the other, so each noise has one solution."""
    mechanisms = {
        "A": Mechanism(["U", "B"], lambda u, b: [1 - b, b] if u else [0.7, 0.3]),
        "B": Mechanism(["U", "A"], lambda u, a: [0.4, 0.6] if u else [1 - a, a]),
        "Y": Mechanism(["A", "B"], lambda a, b: [0.9 - 0.4 * a - 0.3 * b, 0.1 + 0.4 * a + 0.3 * b]),
    }
    options: dict[str, Any] = {"interventions": {"I_A": perfect("A"), "I_B": perfect("B")}, "noise": {"U": [0.5, 0.5]}}
    return DiscreteSCM(dict.fromkeys("ABY", 2), mechanisms, **{**options, **changes})


def test_a_unique_solution_by_hand() -> None:
    world = who_listens()
    np.testing.assert_allclose(world.distribution({}, ["A", "B"]), [[0.55, 0.0], [0.0, 0.45]], atol=1e-12)
    np.testing.assert_allclose(world.distribution({"I_A": 0}, ["B"]), [0.5 + 0.5 * 0.4, 0.5 * 0.6], atol=1e-12)
    assert world.means[0] == pytest.approx(0.1 + 0.7 * 0.45)
    assert str(world.graph) == "MixedGraph(A -> B, A -> Y, B -> A, B -> Y, A <-> B)"


@pytest.mark.parametrize("start", [{}, {"A": 1}, {"B": 1}, {"A": 1, "B": 1}])
def test_a_unique_solution_is_where_updates_settle_from_anywhere(start: dict[str, int]) -> None:
    np.testing.assert_allclose(who_listens(cycles="iterate", start=start).means, who_listens().means, atol=1e-12)


@given(st.integers(0, 10_000), st.sampled_from([{}, {"A": 1, "B": 1, "Y": 1}]))
@settings(max_examples=15, deadline=None)
def test_exact_distributions_are_those_of_every_noise_gone_through(seed: int, start: dict[str, Level]) -> None:
    """Tables in quarters that rise with every parent, a shared coin, a perfect and a soft lever; all cases in turn."""
    rng = np.random.default_rng(seed)
    names, tables = ["A", "B", "Y"], {}
    for name in names:
        tables[name] = rising([other for other in [*names, "U"] if other != name and rng.random() < 0.7], rng)
    levers: dict[str, Any] = {"I_A": perfect("A"), "soft": {0: {}, 1: {"B": rising(["A"], rng)}}}
    world = DiscreteSCM(
        dict.fromkeys(names, 2), tables, levers, noise={"U": [0.25, 0.75]}, cycles="iterate", start=start
    )
    for arm in world.problem.arms:
        expected = enumerated_equilibria(world, arm, 4)
        np.testing.assert_allclose(world.distribution(arm), expected, atol=1e-12)
        assert world.means[world.problem.index(arm)] == pytest.approx(expected.sum(axis=(0, 1))[1])


def rising(parents: list[str], rng: np.random.Generator) -> Mechanism:
    """So that updates from all 0 or all 1 converge."""
    base, steps = int(rng.integers(3)), rng.integers(1, 3, size=len(parents))

    def chances(*levels: int) -> list[float]:
        one = min(4, base + int(steps @ np.array(levels, dtype=np.int64))) / 4
        return [1 - one, one]

    return Mechanism(parents, chances)


def test_exact_means_are_those_of_simulated_equilibria() -> None:
    """Null: the reward of a simulated equilibrium has the exact mean; four arms of four confounded worlds, 1,000 draws.

    Standard error sqrt(m (1 - m) / 1000); 16 comparisons at 4 standard errors alarm falsely in 0.1% of seeds. Seed 5.
    """
    rng = np.random.default_rng(5)
    for number in range(4):
        world = cyclic_world(cyclic_graph(rng), seed=number)
        for place in rng.choice(len(world.problem.arms), 4, replace=False):
            exact = world.means[place]
            found = [values["Y"] for values in simulated(world, world.problem.arms[place], 1000, rng)]
            assert abs(np.mean(found) - exact) <= 4 * np.sqrt(exact * (1 - exact) / 1000) + 1e-12, world.graph


def test_draws_are_of_the_exact_distribution() -> None:
    """Null: drawn cells have their exact probabilities; three worlds, 20,000 draws of do(), 16 cells each.

    Standard error sqrt(p (1 - p) / 20000); 48 comparisons at 4.5 alarm falsely in 0.03% of seeds. Seed 1.
    """
    rng = np.random.default_rng(1)
    for number in range(3):
        world = cyclic_world(cyclic_graph(rng), seed=number)
        rows = world.sample({}, 20_000, rng)
        exact = world.distribution({}, ["A", "B", "C", "Y"])
        found = np.zeros_like(exact)
        np.add.at(found, (*rows.codes.T, rows.rewards.astype(np.int64)), 1 / 20_000)
        assert np.all(np.abs(found - exact) <= 4.5 * np.sqrt(exact * (1 - exact) / 20_000) + 1e-12)


def test_nudges_act_inside_a_cycle() -> None:
    """By hand: odds of following or not times e; the two tables give the law as in the first test."""
    world = loop(interventions={"nudge": {"none": {}, "up": {"A": Nudge(1.0)}}})
    low, high = 0.2 * math.e / (0.8 + 0.2 * math.e), 0.8 * math.e / (0.2 + 0.8 * math.e)
    ones = low * 0.8 + (high - low) * 0.2  # B is up by itself or follows A; A is up by itself or follows B
    assert world.distribution({"nudge": "up"}, ["A", "B"])[1, 1] == pytest.approx(ones)


def test_without_cycles_it_is_the_papers_world() -> None:
    graph = MixedGraph(list("ABY"), [("A", "B"), ("B", "Y")], [("A", "Y")])
    np.testing.assert_array_equal(cyclic_world(graph, seed=3).means, paper_world(graph, seed=3).means)


# Separation


def _given_set(world: DiscreteSCM, arm: Any, chosen: tuple[str, ...]) -> Floats:
    """P(Y = 1 | S, arm), nan where S never takes the value."""
    joint = world.distribution(arm, [*chosen, "Y"])
    total = joint.sum(axis=-1)
    with np.errstate(invalid="ignore"):
        return np.where(total > 1e-12, joint[..., 1] / total, np.nan)


def _depends(world: DiscreteSCM, chosen: tuple[str, ...]) -> bool:
    """Whether E[Y | S] differs between arms."""
    found = np.stack([_given_set(world, arm, chosen) for arm in world.problem.arms])
    low, high = (pick(np.where(np.isnan(found), other, found), axis=0) for pick, other in ((np.min, 9), (np.max, -9)))
    return bool(np.any(high - low > 1e-9))


def test_sigma_separating_sets_leave_nothing_to_the_arm() -> None:
    """In 40 random worlds, half of them confounded, E[Y | S] is the same for all arms exactly where S separates."""
    rng = np.random.default_rng(2)
    found = {True: 0, False: 0}
    for number in range(40):
        graph = cyclic_graph(rng, 0.2 * (number % 2))
        while number < 30 and not sets_of(graph):
            graph = cyclic_graph(rng, 0.2 * (number % 2))
        world = cyclic_world(graph, seed=number)
        assert world.separating_sets() == sets_of(graph)
        for size in range(4):
            for chosen in itertools.combinations("ABC", size):
                separating = chosen in world.separating_sets()
                assert separating != _depends(world, chosen), (world.graph, chosen)
                found[separating] += 1
    assert min(found.values()) > 40


def test_d_separation_is_not_valid() -> None:
    """A -> B <=> C <- Y: {B, C} d-separates A from Y, but not by sigma-separation, and not in the numbers."""
    graph = MixedGraph(["A", "B", "C", "Y"], [("A", "B"), ("B", "C"), ("C", "B"), ("Y", "C")])
    for seed in range(5):
        world = cyclic_world(graph, seed=seed)
        single = [arm for arm in world.problem.arms if set(arm.active) <= {"I_A"}]
        extended = graph.with_context({"I_A": "A"})
        assert separates(extended, ["B", "C"], "I_A", "Y", criterion="d")
        assert not separates(extended, ["B", "C"], "I_A", "Y")
        found = [_given_set(world, arm, ("B", "C")) for arm in single]
        assert np.nanmax(np.abs(found[1] - found[2])) > 0.001, "far above rounding"


# Bad input


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"cycles": "unique"}, r"cycle through 'A', 'B' has 2 solutions for some noise under do\(\); make it exactly"),
        (
            {"cycles": "unique", "mechanisms": {**LOOP, "A": Mechanism(["B"], FOLLOW[::-1])}},
            r"cycle through 'A', 'B' has no solution for some noise under do\(\); make it exactly one, or make",
        ),
        (
            {"mechanisms": {**LOOP, "A": Mechanism(["B"], FOLLOW[::-1])}},
            r"cycle through 'A', 'B' does not converge for some noise under do\(\): its updates repeat without end",
        ),
        (
            {"interventions": {"I": {0: {}, 1: {"A": Mechanism(["B"], FOLLOW[::-1])}}}},
            r"does not converge for some noise under do\(I=1\)",
        ),
        ({"mechanisms": {**LOOP, "A": Mechanism(["A"], FOLLOW)}}, "'A' is a parent of itself; a cycle needs two"),
        ({"cycles": "some"}, "cycles='some'; expected one of unique, iterate"),
        ({"cycles": "unique", "start": {"A": 1}}, "start is where updates begin; pass cycles='iterate' with it"),
        ({"start": ["A"]}, r"start is \['A'\]; expected a mapping from variables to levels"),
        ({"start": {"Z": 1}}, "'Z' is not a variable; expected one of 'A', 'B', 'Y'"),
        ({"start": {"A": 7}}, "7 is not a level of 'A'"),
    ],
)
def test_cycles_that_are_refused(changes: dict[str, Any], message: str) -> None:
    with pytest.raises(Exception, match=message) as caught:
        loop(**changes)
    assert type(caught.value).__module__ == "causal_bandits.errors"


def test_a_cycle_that_is_too_large_is_refused() -> None:
    rng = np.random.default_rng(0)
    names = list("ABCDE")
    tables = {
        name: Mechanism([other for other in names if other != name], rng.dirichlet(np.ones(2), size=(2,) * 4))
        for name in names
    }
    everything = {**tables, "Y": Mechanism(["A"], FOLLOW)}
    with pytest.raises(WorldError, match=r"has 45,435,424 combinations of noises, parents and levels, and 4,194,304"):
        DiscreteSCM(dict.fromkeys([*names, "Y"], 2), everything, {"I": perfect("A")}, cycles="iterate")


def test_the_papers_world_points_to_the_cyclic_one() -> None:
    with pytest.raises(WorldError, match=r"directed cycle; use cyclic_world\(\)"):
        paper_world(MixedGraph(["A", "Y"], [("A", "Y"), ("Y", "A")]))
    with pytest.raises(WorldError, match="target 'Z' is not a node of the graph"):
        cyclic_world(MixedGraph(["A", "Y"]), target="Z")

import itertools
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import stats

from causal_bandits import DiscreteSCM, MixedGraph
from causal_bandits.core.compiled import interpreted
from causal_bandits.core.graphs import dag_classes, random_dag, random_mixed_graph, separates
from causal_bandits.errors import (
    CausalBanditsError,
    OptionError,
    ProblemError,
    UnknownArmError,
    UnknownLevelError,
    UnknownVariableError,
    WorldError,
)
from causal_bandits.research.worlds import Mechanism, discrete_scm, paper_world, perfect
from causal_bandits.research.worlds.sampler import draw, fill

from .worlds import chain, enumerated, random_scm

SEEDS = range(8)


@pytest.mark.parametrize("seed", SEEDS)
def test_distribution_equals_enumeration(seed: int) -> None:
    world = random_scm(seed)
    for arm, mean in zip(world.problem.arms, world.means, strict=True):
        joint = enumerated(world, arm)
        np.testing.assert_allclose(world.distribution(arm), joint, atol=1e-12)
        assert joint.sum() == pytest.approx(1)
        assert mean == pytest.approx(joint[..., 1].sum())
        np.testing.assert_allclose(world.distribution(arm, ["Y", "B"]), joint.sum(axis=(0, 2)).T, atol=1e-12)
        assert world.distribution(arm, []) == pytest.approx(1)


def test_random_worlds_cover_what_they_should() -> None:
    worlds = [random_scm(seed) for seed in SEEDS]
    assert any(world.graph.bidirected for world in worlds)
    assert {world.variables["C"].size for world in worlds} == {2, 3}
    assert any(world.graph.children("Y") for world in worlds)


def chi_squared(observed: NDArray[np.int64], chances: NDArray[np.float64]) -> float:
    """The p-value of Pearson's test; cells expected to hold fewer than five rows are one cell."""
    expected = chances * observed.sum()
    assert not observed[expected < 1e-9].any()
    large = expected >= 5
    counts, hopes = [*observed[large]], [*expected[large]]
    if expected[~large].sum() >= 5:
        counts, hopes = [*counts, observed[~large].sum()], [*hopes, expected[~large].sum()]
    hopes = np.array(hopes) * (sum(counts) / sum(hopes))  # what is left over is too rare to test
    return float(stats.chisquare(counts, hopes).pvalue) if len(counts) > 1 else 1.0


@pytest.mark.parametrize("seed", SEEDS)
def test_sampling_follows_the_distribution(seed: int) -> None:
    """Null: rows follow P(V | arm). Pearson's chi-squared test on 4000 rows for each of 6 or 8 arms.

    Standard error of a cell's frequency at most 0.008. Bonferroni over the arms: false-alarm rate 1e-4 per world.
    Seeds 0 to 7.
    """
    world = random_scm(seed)
    rng = np.random.default_rng(seed)
    for number, arm in enumerate(world.problem.arms):
        rows = world.sample(arm, 4000, rng)
        assert np.all(rows.arms == number)
        counts = np.zeros([variable.size for variable in world.variables.values()], dtype=np.int64)
        np.add.at(counts, (*rows.codes.T, rows.rewards), 1)
        assert chi_squared(counts.ravel(), world.distribution(arm).ravel()) > 1e-4 / len(world.problem.arms)


@pytest.mark.parametrize("seed", SEEDS)
def test_large_worlds_are_summed_as_small_ones_are(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    world = random_scm(seed)
    plain = [world.distribution(arm) for arm in world.problem.arms]
    monkeypatch.setattr(discrete_scm, "ENUMERABLE", 0)
    for arm, joint in zip(world.problem.arms, plain, strict=True):
        np.testing.assert_allclose(world.distribution(arm), joint, atol=1e-12)
    np.testing.assert_allclose(random_scm(seed).means, world.means, atol=1e-12)


@pytest.mark.parametrize("length", [9, 12, 52])
def test_chain_of_copies_in_closed_form(length: int) -> None:
    """A bit copied n times, wrong each time with probability 0.1, is right in the end with (1 + 0.8^n) / 2."""
    world = chain(length)
    right = (1 + 0.8 ** (length - 1)) / 2
    assert world.means == pytest.approx([0.5, 1 - right, right], abs=1e-12)


def test_what_an_intervention_does_is_not_what_seeing_tells() -> None:
    """U is fair, A = U with probability 0.8, P(Y = 1 | U) is 0.1 or 0.9: A and Y go together, and A does nothing."""
    world = DiscreteSCM(
        variables={"A": 2, "Y": 2},
        noise={"U": [0.5, 0.5]},
        mechanisms={
            "A": Mechanism(["U"], [[0.8, 0.2], [0.2, 0.8]]),
            "Y": Mechanism(["U"], [[0.9, 0.1], [0.1, 0.9]]),
        },
        interventions={"I_A": perfect("A")},
    )
    seen = world.distribution({})
    assert (seen[1] / seen[1].sum())[1] == pytest.approx(0.8 * 0.9 + 0.2 * 0.1)  # P(Y = 1 | A = 1)
    np.testing.assert_allclose(world.means, [0.5, 0.5, 0.5])  # P(Y = 1 | do(A = a))
    np.testing.assert_allclose(world.distribution({"A": 1}), [[0.0, 0.0], [0.5, 0.5]])
    assert world.graph == MixedGraph(["A", "Y"], bidirected=[("A", "Y")])


def test_soft_intervention_and_named_levels() -> None:
    world = DiscreteSCM(
        variables={"mood": ["low", "high"], "Y": 2},
        mechanisms={
            "mood": Mechanism([], [0.5, 0.5]),
            "Y": Mechanism("mood", lambda mood: [0.2, 0.8] if mood == "high" else 0),
        },
        interventions={
            "nudge": {"none": {}, "gentle": {"mood": Mechanism([], [0.25, 0.75])}, "hard": {"mood": "high"}}
        },
    )
    np.testing.assert_allclose(world.means, [0.4, 0.6, 0.8])
    assert world.problem.targets == (("nudge", ("mood",)),)
    assert world.pull({"nudge": "hard"}, np.random.default_rng(0))["mood"] == "high"


def test_arms_may_turn_an_edge_round() -> None:
    """No order of the variables fits both arms; each arm has its own."""
    copy = [[1.0, 0.0], [0.0, 1.0]]
    world = DiscreteSCM(
        variables={"A": 2, "B": 2, "Y": 2},
        mechanisms={"A": Mechanism([], [0.5, 0.5]), "B": Mechanism(["A"], copy), "Y": Mechanism(["B"], copy)},
        interventions={"I": {"idle": {}, "turned": {"A": Mechanism(["B"], copy), "B": Mechanism([], [0.1, 0.9])}}},
    )
    np.testing.assert_allclose(world.means, [0.5, 0.9])
    rows = world.sample({"I": "turned"}, 100, np.random.default_rng(0))
    np.testing.assert_array_equal(rows.codes[:, 0], rows.codes[:, 1])
    assert world.graph.directed == (("A", "B"), ("B", "A"), ("B", "Y"))


def markov(world: DiscreteSCM) -> int:
    """Where the graph separates I_i from Y by S and the other levers, P(Y | S, arm) does not depend on I_i."""
    levers = world.problem.intervention_names
    graph = world.graph.with_context(dict(world.problem.targets))
    names = world.problem.observed_names
    joints = np.stack([world.distribution(arm, [*names, "Y"]) for arm in world.problem.arms])
    found = 0
    for size in range(len(names) + 1):
        for chosen in itertools.combinations(range(len(names)), size):
            dropped = tuple(1 + place for place in range(len(names)) if place not in chosen)
            joint = joints.sum(axis=dropped).reshape(len(joints), -1, 2)
            for lever in levers:
                others = [name for name in levers if name != lever]
                if separates(graph, [*(names[place] for place in chosen), *others], lever, "Y"):
                    found += 1
                    check_equal_rewards(joint, world.problem.arm_groups(others))
    return found


def check_equal_rewards(joint: NDArray[np.float64], groups: NDArray[np.int64]) -> None:
    total = joint.sum(axis=2)
    for group in range(groups.max() + 1):
        for cell in range(joint.shape[1]):
            rewards = [
                joint[a, cell, 1] / total[a, cell] for a in np.flatnonzero(groups == group) if total[a, cell] > 0
            ]
            np.testing.assert_allclose(rewards, rewards[:1] * len(rewards), atol=1e-9)


@pytest.mark.parametrize("place", range(1, 64, 7))
def test_markov_property_of_the_classes(place: int) -> None:
    assert markov(paper_world(dag_classes(["A", "B", "C", "Y"], "Y")[place].graph, seed=place)) > 0


def test_markov_property_of_a_larger_dag() -> None:
    assert markov(paper_world(random_dag(["A", "B", "C", "D", "Y"], "Y", 3), seed=3)) > 0


def test_markov_property_with_bidirected_edges() -> None:
    found = 0
    for seed in range(12):
        graph = random_mixed_graph(["A", "B", "C", "Y"], seed, p_directed=0.5, p_bidirected=0.3)
        found += markov(paper_world(graph, seed=seed))
    assert found > 50


def test_markov_property_with_soft_interventions_and_shared_noise() -> None:
    assert sum(markov(random_scm(seed)) for seed in range(30)) > 20


@pytest.mark.parametrize("seed", [0, 1])
def test_compiled_sampler_equals_interpreted(seed: int) -> None:
    world = random_scm(seed)
    sampler = world.sampler
    for arm in range(len(world.problem.arms)):
        rows = world.sample(world.problem.arms[arm], 20, np.random.default_rng(seed))
        codes, rewards = np.empty_like(rows.codes), np.empty_like(rows.rewards)
        interpreted(fill)(sampler, arm, np.random.default_rng(seed), codes, rewards)
        np.testing.assert_array_equal(codes, rows.codes)
        np.testing.assert_array_equal(rewards, rows.rewards)
        rng, values, one = (
            np.random.default_rng(seed),
            np.empty(sampler.order.shape[1], dtype=np.int64),
            codes[0].copy(),
        )
        for row in range(20):
            assert interpreted(draw)(sampler, arm, rng, values, one) == rewards[row]
            np.testing.assert_array_equal(one, codes[row])


def test_pull_is_one_row_by_name() -> None:
    world = random_scm(0)
    pulled = world.pull(world.problem.arms[3], np.random.default_rng(5))
    rows = world.sample(world.problem.arms[3], 1, np.random.default_rng(5))
    assert pulled == {
        **dict(zip(world.problem.observed_names, rows.codes[0].tolist(), strict=True)),
        "Y": rows.rewards[0],
    }


@pytest.mark.parametrize("count", [-1, 1.5, "3"])
def test_bad_counts(count: Any) -> None:
    with pytest.raises(OptionError, match=f"count={count!r}"):
        random_scm(0).sample({}, count, np.random.default_rng(0))


def test_unknown_arms_and_variables() -> None:
    world = chain(3)
    with pytest.raises(UnknownVariableError, match="'J' is not a lever"):
        world.distribution({"J": 1})
    with pytest.raises(UnknownArmError, match="3 is not an arm"):
        world.pull(3, np.random.default_rng(0))  # type: ignore[arg-type]
    with pytest.raises(UnknownVariableError, match="'Z' is not a variable; expected one of 'X0', 'X1', 'Y'"):
        world.distribution({}, ["Z"])


COIN = Mechanism([], [0.5, 0.5])


def make(**changes: Any) -> DiscreteSCM:
    mechanisms = {"A": COIN, "Y": Mechanism(["A"], [[0.9, 0.1], [0.1, 0.9]]), **changes.pop("mechanisms", {})}
    world: dict[str, Any] = {"variables": {"A": 2, "Y": 2}, "interventions": {"I_A": perfect("A")}}
    return DiscreteSCM(**{**world, "mechanisms": mechanisms, **changes})


@pytest.mark.parametrize(
    ("changes", "error", "message"),
    [
        ({"mechanisms": {"A": Mechanism(["Y"], np.eye(2))}}, WorldError, r"2 solutions for some noise under do\(\)"),
        ({"mechanisms": {"A": Mechanism(["A"], np.eye(2))}}, WorldError, "'A' is a parent of itself"),
        ({"variables": {"A": 2, "B": 2, "Y": 2}}, WorldError, "no mechanism for 'B'"),
        ({"mechanisms": {"Z": COIN}}, UnknownVariableError, "'Z' is not a variable; expected one of 'A', 'Y'"),
        ({"mechanisms": {"A": Mechanism(["Z"], np.eye(2))}}, UnknownVariableError, "'A' has a parent 'Z'"),
        (
            {"interventions": {"I": {0: {}, 1: {"A": Mechanism(["Z"], np.eye(2))}}}},
            UnknownVariableError,
            "'A' has a parent 'Z' that is neither variable nor noise",
        ),
        ({"interventions": {"I": perfect("Z")}}, UnknownVariableError, "'Z' is not a variable"),
        ({"interventions": {"I": perfect("A", [0, 7])}}, UnknownLevelError, "7 is not a level of 'A'"),
        ({"interventions": {}}, ProblemError, "at least one lever"),
        ({"mechanisms": {"A": Mechanism([], [0.2, 0.3, 0.5])}}, WorldError, r"'A' has shape \(3,\); expected \(2,\)"),
        ({"mechanisms": {"Y": COIN, "A": Mechanism(["Y"], [0.5, 0.5])}}, WorldError, r"'A' has shape \(2,\)"),
        ({"mechanisms": {"A": Mechanism([], [0.5, 0.6])}}, WorldError, "'A' holds rows that are not probabilities"),
        ({"mechanisms": {"A": Mechanism([], [-0.5, 1.5])}}, WorldError, "'A' holds rows that are not probabilities"),
        ({"mechanisms": {"A": Mechanism([], [np.nan, 1.0])}}, WorldError, "'A' holds rows that are not probabilities"),
        ({"mechanisms": {"Y": Mechanism(["A"], lambda _: [1, 0, 0])}}, WorldError, "'Y' got .*; expected 2 prob"),
        ({"mechanisms": {"Y": Mechanism(["A"], lambda _: "red")}}, UnknownLevelError, "'red' is not a level of 'Y'"),
        ({"variables": {"A": 2, "Y": 3}}, WorldError, r"target 'Y' has levels \(0, 1, 2\)"),
        ({"variables": {"A": 2, "Y": ["no", "yes"]}}, WorldError, "target 'Y' has levels"),
        ({"target": "Z"}, WorldError, "target 'Z' is not among the variables 'A', 'Y'"),
        (
            {"interventions": {"I": perfect("A"), "J": perfect("A")}},
            WorldError,
            r"arm do\(I=0, J=0\): 'I' and 'J' both act on 'A'; list the allowed arms",
        ),
        ({"noise": {"U": [0.5, 0.6]}}, WorldError, r"noise 'U' is \[0.5, 0.6\]; expected probabilities"),
        ({"noise": {"U": [1.0]}}, WorldError, r"noise 'U' is \[1.0\]"),
        ({"noise": {"U": [-0.5, 1.5]}}, WorldError, "noise 'U' is"),
        ({"noise": {"A": [0.5, 0.5]}}, WorldError, "'A' names both a variable and a noise"),
    ],
)
def test_worlds_that_contradict_themselves(
    changes: dict[str, Any], error: type[CausalBanditsError], message: str
) -> None:
    with pytest.raises(error, match=message):
        make(**changes)


def test_more_nodes_than_can_be_summed_over() -> None:
    with pytest.raises(WorldError, match="53 variables and 0 noises; at most 52 together"):
        chain(53)


def test_two_levers_on_one_variable_are_fine_when_the_arms_keep_them_apart() -> None:
    world = make(interventions={"I": perfect("A"), "J": perfect("A")}, arms=[{}, {"I": 1}, {"J": 0}])
    np.testing.assert_allclose(world.means, [0.5, 0.9, 0.1])


def test_a_ragged_table_can_be_shown() -> None:
    assert repr(Mechanism(["A"], [[0.5], [0.2, 0.8]])) == "Mechanism(parents=['A'], ragged table)"

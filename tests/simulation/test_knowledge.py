"""Knowledge taken from worlds: right where it is given, and refused in words where it is not there."""

from typing import Any

import numpy as np
import pytest

import causal_bandits as cb
from causal_bandits import DiscreteSCM, LoggedWorld, MixedGraph, Problem, StructurelessWorld
from causal_bandits.core.policies import POLICIES, Tier
from causal_bandits.errors import CausalBanditsError, GraphError, OptionError, ProblemError, WorldError
from causal_bandits.research.simulation import entries, field, told
from causal_bandits.research.worlds import paper_world
from tests.contracts.kinds import SINGLES, WORLD

CHAIN = paper_world(MixedGraph(["A", "B", "Y"], [("A", "B"), ("B", "Y")]), seed=0)
CONFOUNDED = paper_world(MixedGraph(["A", "B", "Y"], [("A", "B"), ("B", "Y")], [("B", "Y")]), seed=0)
ONE = paper_world(MixedGraph(["A", "Y"], [("A", "Y")]), seed=0)
NONE = StructurelessWorld(CHAIN, seed=1)
LOGGED = LoggedWorld(
    Problem("Y", {"A": float}, {"I": 2}, reward=float), {"I": [0, 1], "A": [0.5, 0.1], "Y": [1.0, 2.0]}
)


def options_of(name: str, world: Any, **more: Any) -> dict[str, Any]:
    factory: Any = told(name, world, horizon=100, **more)
    found: dict[str, Any] = factory.keywords
    return found


def test_what_is_told_is_true() -> None:
    options = options_of("c-ucb", CHAIN)
    assert options["separating"] == ("B",)
    assert options["horizon"] == 100
    for number, arm in enumerate(CHAIN.problem.arms):
        np.testing.assert_allclose(options["chances"][number], CHAIN.distribution(arm, ["B"]))
    assert options_of("pomis-ts", CONFOUNDED)["graph"] == CONFOUNDED.graph
    assert options_of("ucb-plus", CHAIN)["parents"] == 1
    assert str(options_of("causal-ts-known", CHAIN)["discovery"]) == "KnownSets({B})"


def test_parents_that_do_not_separate_are_not_told() -> None:
    """Where A acts on the reward through a latent, {A, B} does though the parent {B} does not."""
    graph = MixedGraph(["A", "B", "Y"], [("A", "B"), ("B", "Y")], [("A", "Y")])
    sets = cb.separating_sets(graph.with_context({"I_A": "A", "I_B": "B"}), ["I_A", "I_B"], "Y")
    world = paper_world(graph, seed=0)
    if sets:
        assert options_of("c-ts", world)["separating"] == sets[0]
    else:
        with pytest.raises(WorldError):
            told("c-ts", world, horizon=100)
    with pytest.raises(WorldError, match="does not provide a separating set and P"):
        told("c-ts", CONFOUNDED, horizon=100)


TELLING = {"c-ucb", "c-ts", "pomis-ts", "ucb-plus", "causal-ts-known", "hac-ucb", "graph-posterior"}


@pytest.mark.parametrize("name", sorted(TELLING))
def test_a_world_that_does_not_know_says_so(name: str) -> None:
    others = "these policies do not need it: ts, main-effects-ts, causal-ts, "
    with pytest.raises(WorldError, match=f"does not provide .*which '{name}' needs; {others}"):
        told(name, NONE, horizon=100)


def test_logged_data_have_no_graph_and_no_probabilities() -> None:
    with pytest.raises(
        WorldError, match="the causal graph, which 'pomis-ts' needs; these policies do not need it: ucb-normal"
    ):
        told("pomis-ts", LOGGED, horizon=100)
    applies, refused = field(LOGGED, horizon=100)
    plain = {"ucb-normal", "causal-ucb-normal", "gaussian-ts", "causal-gaussian-ts"}
    assert set(applies) == plain | {"causal-gaussian-ts-safe"}
    assert refused.keys() == {"reward-ts", "safe"}
    assert all("cut it with bins(...)" in why for why in refused.values())


def test_what_a_policy_takes_for_granted_is_asked_of_the_world() -> None:
    """The graph posterior assumes no hidden common causes; a world with some says so."""
    with pytest.raises(
        WorldError, match="that it has no hidden common causes and no cycles, which 'graph-posterior' needs; these"
    ):
        told("graph-posterior", CONFOUNDED, horizon=100)
    assert options_of("graph-posterior", CHAIN) == {}
    assert "no hidden common causes" in cb.comparators.GraphPosteriorThompson.hints


def test_one_name_may_stand_for_a_set() -> None:
    """Also one of several letters: its letters are not names."""
    world = paper_world(MixedGraph(["X1", "X2", "Y"], [("X1", "X2"), ("X2", "Y")]), seed=0)
    assert told("hac-ucb", world, horizon=100, separating="X2")(world.problem, seed=0).options()["separating"] == ["X2"]


def test_asd_says_that_it_uses_what_levers_act_on() -> None:
    assert cb.CausalThompsonSampling(CHAIN.problem, discovery=cb.ASD()).hints == "intervention targets"
    unknown = cb.Problem("Y", {"A": 2}, {"I": 2})
    assert cb.CausalThompsonSampling(unknown, discovery=cb.ASD()).hints == "nothing"


def test_a_claimed_set() -> None:
    """A set that does not separate can be claimed, to see what a policy makes of it."""
    options = options_of("c-ucb", NONE, separating=["A"])
    np.testing.assert_allclose(options["chances"][0], CHAIN.distribution(CHAIN.problem.arms[0], ["A"]))
    assert options_of("hac-ucb", CONFOUNDED, separating=["B"])["separating"] == ("B",)


@pytest.mark.parametrize(
    "world",
    [NONE, SINGLES, *(pytest.param(world, marks=pytest.mark.slow) for world in (CHAIN, CONFOUNDED, WORLD))],
    ids=lambda world: str(world.problem),
)
def test_everything_that_applies_plays(world: Any) -> None:
    applies, refused = field(world, horizon=60)
    real = {name for name, entry in entries().items() if entry.policy.numbers is float or "reward" in name}
    assert set(applies) | set(refused) == entries().keys() - real
    for name, factory in applies.items():
        if name.startswith(("causal-ts-asd", "graph-posterior")):  # slow as long as they run interpreted
            continue
        policy = factory(world.problem, seed=0)
        cb.simulation.play(policy, world, 20, np.random.default_rng(0))
        assert isinstance(policy.tier, Tier)
        assert policy.recommend().arm in world.problem.arms
    assert all(reason.endswith(tuple("abcdefghijklmnopqrstuvwxyz]}0123456789')")) for reason in refused.values())


def test_tiers() -> None:
    of = {name: factory(WORLD.problem, seed=0).tier for name, factory in field(WORLD, horizon=100)[0].items()}
    assert of["ts"] == of["ucb1"] == of["ucb-small"] == Tier.REWARDS
    assert of["causal-ts"] == of["hac-ucb"] == of["ucb-plus"] == Tier.OBSERVED
    assert of["causal-ts-known"] == Tier.SEPARATING_SET
    assert of["c-ucb"] == of["c-ts"] == of["hac-ucb-told"] == Tier.PARENTS
    assert of["pomis-ts"] == of["pomis-kl-ucb"] == Tier.GRAPH
    assert of["safe"] == of["graph-posterior"] == Tier.OBSERVED
    labelled = {name for name, policy in POLICIES.items() if policy.simple_regret}
    assert labelled == {"lattimore-parallel"}


GRAPH = MixedGraph(["A", "B", "C", "Y"], [("A", "Y"), ("B", "Y")])
THREE = paper_world(GRAPH, seed=0)
LATENT = MixedGraph(GRAPH.nodes, GRAPH.directed, [("A", "B")])
CALLS: dict[str, tuple[Any, type[Exception], str]] = {
    "an unknown name": (lambda: told("ucb7", WORLD, horizon=9), OptionError, "policy 'ucb7' is unknown"),
    "no horizon": (lambda: told("c-ucb", WORLD, horizon=0), OptionError, "horizon=0; expected an integer"),
    "chances of another shape": (
        lambda: cb.comparators.CUCB(WORLD.problem, separating=["A"], chances=[[1, 0]], horizon=9),
        OptionError,
        r"chances has shape \(1, 2\); expected \(9, 2\)",
    ),
    "chances that are none": (
        lambda: cb.comparators.CTS(WORLD.problem, separating=["A"], chances=[[0.7, 0.7]] * 9),
        OptionError,
        "not probabilities",
    ),
    "chances as text": (
        lambda: cb.comparators.CTS(WORLD.problem, separating=["A"], chances="half"),
        OptionError,
        "chances has shape",
    ),
    "an unknown variable": (
        lambda: cb.comparators.HACUCB(WORLD.problem, separating=["Q"], horizon=9),
        LookupError,
        "'Q' is not an observed variable",
    ),
    "a variable named twice": (
        lambda: cb.comparators.HACUCB(WORLD.problem, separating=["A", "A"], horizon=9),
        OptionError,
        "names a variable twice",
    ),
    "a graph that is none": (
        lambda: cb.comparators.PomisTS(WORLD.problem, graph="A->Y"),  # type: ignore[arg-type]
        OptionError,
        "expected a MixedGraph",
    ),
    "a graph without a variable": (
        lambda: cb.comparators.PomisTS(WORLD.problem, graph=MixedGraph(["A", "Y"])),
        GraphError,
        "the graph has no node 'B', 'C'",
    ),
    "a POMIS without arms": (
        lambda: cb.comparators.PomisTS(SINGLES.problem, graph=GRAPH),
        ProblemError,
        "would play do\\(A, B\\), of which the problem lacks an arm",
    ),
    "arms that set two": (
        lambda: cb.comparators.LattimoreParallel(WORLD.problem, graph=GRAPH, horizon=9),
        ProblemError,
        "arms that set one variable",
    ),
    "unknown targets": (
        lambda: cb.comparators.UCBPlus(Problem("Y", {"A": 2}, {"I": 3}), parents=1, horizon=9),
        ProblemError,
        "which one variable 'I' sets",
    ),
    "soft levers": (
        lambda: cb.comparators.UCBPlus(
            Problem("Y", {"A": 2}, {"I": ["no", "soft"]}, targets={"I": "A"}), parents=1, horizon=9
        ),
        ProblemError,
        "a value 'soft', which is not a level of 'A'",
    ),
    "more parents than variables": (
        lambda: cb.comparators.UCBPlus(WORLD.problem, parents=3, horizon=9),
        OptionError,
        "at most 2",
    ),
    "a negative rate": (
        lambda: cb.comparators.EpsilonGreedy(WORLD.problem, rate=-1),
        OptionError,
        "rate=-1; expected a positive",
    ),
    "a certain delta": (
        lambda: cb.comparators.SuccessiveElimination(WORLD.problem, delta=1),
        OptionError,
        "number below 1",
    ),
    "a real reward": (lambda: cb.comparators.UCB1(LOGGED.problem), ProblemError, "Gaussian policy"),
    "no problem": (lambda: cb.comparators.UCB1(None), OptionError, "expected causal_bandits.Problem"),  # type: ignore[arg-type]
    "no problem, with targets": (
        lambda: cb.comparators.UCBPlus(None, parents=1, horizon=9),  # type: ignore[arg-type]
        OptionError,
        "expected causal_bandits.Problem",
    ),
    "a budget of nothing": (
        lambda: cb.comparators.LattimoreParallel(SINGLES.problem, graph=GRAPH, horizon=10, budget=0),
        OptionError,
        "budget=0",
    ),
    "causes that are not independent": (
        lambda: cb.comparators.LattimoreParallel(SINGLES.problem, graph=LATENT, horizon=10),
        GraphError,
        "needs independent causes of 'Y'",
    ),
}


@pytest.mark.parametrize("call", CALLS)
def test_one_sentence(call: str) -> None:
    enter, kind, message = CALLS[call]
    with pytest.raises(kind, match=message) as caught:
        enter()
    assert isinstance(caught.value, CausalBanditsError)


def test_a_set_too_large_to_count() -> None:
    many = Problem("Y", {f"X{i}": 4 for i in range(12)}, {"I": 2})
    with pytest.raises(ProblemError, match="too many to count"):
        cb.comparators.HACUCB(many, separating=many.observed_names, horizon=9)


def test_worlds_are_scms() -> None:
    assert isinstance(cb.worlds.bilodeau_world(horizon=500), DiscreteSCM)

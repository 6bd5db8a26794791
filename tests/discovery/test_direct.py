import itertools
import json
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from causal_bandits import DirectTesting, DiscreteSCM, History, MixedGraph, Problem
from causal_bandits.core.data import CountTables, TableLayout
from causal_bandits.core.discovery import Findings, SeparatingSet, discovery_from_dict
from causal_bandits.core.discovery.direct import Reading
from causal_bandits.core.graphs import dag_classes, separates
from causal_bandits.core.independence import IndependenceResult
from causal_bandits.errors import OptionError
from causal_bandits.research.worlds import DiscreteWorld, Mechanism, paper_world, perfect
from tests.problem.strategies import logs
from tests.reference.independence import g_squared_of_rows

TIED = 1e-4
"""Rounding in the ninth digit of a small G2 moves its p-value by so much."""

READINGS: list[Reading] = ["conditional", "marginal", "joint"]


def naive(
    problem: Problem, rows: list[dict[str, Any]], variables: tuple[str, ...], how: DirectTesting
) -> tuple[list[set[str]], dict[tuple[str, ...], IndependenceResult]]:
    """What S separates, test by test, from raw rows (a list: several answers where p-values tie); and the tests."""
    levers = problem.intervention_names
    largest = len(levers) if how.reading == "joint" else 1
    tests = {}
    for size in range(1, largest + 1):
        for tested in itertools.combinations(levers, size):
            others = [] if how.reading == "marginal" else [name for name in levers if name not in tested]
            tests[tested] = g_squared_of_rows(rows, tested, [*variables, *others])
    passed = {
        tested: result.p_value
        for tested, result in tests.items()
        if result.p_value > how.alpha and (result.dof > 0 or not how.require_evidence)
    }
    if how.reading != "joint" or not passed:
        return [{name for tested in passed for name in tested}], tests
    most = max(map(len, passed))
    best = max(p for tested, p in passed.items() if len(tested) == most)
    return [set(tested) for tested, p in passed.items() if len(tested) == most and p > best - TIED], tests


def discovered(problem: Problem, rows: list[dict[str, Any]], how: DirectTesting) -> list[SeparatingSet]:
    history = History(problem)
    for row in rows:
        arm = {name: row[name] for name in problem.intervention_names}
        history.extend(history.encode(arm, {name: row[name] for name in (*problem.observed_names, "Y")}))
    return how.discover(TableLayout.of(problem), history.tables(), len(history)).sets


@given(logs(), st.sampled_from(READINGS), st.booleans(), st.sampled_from([0.05, 0.3, 0.9]))
def test_every_reading_agrees_with_test_by_test(
    log: tuple[Problem, list[dict[str, Any]]], reading: Reading, require_evidence: bool, alpha: float
) -> None:
    problem, rows = log
    how = DirectTesting(alpha=alpha, reading=reading, require_evidence=require_evidence)
    found = discovered(problem, rows, how)
    assert [s.variables for s in found] == list(TableLayout.of(problem).names)
    for s in found:
        separated, tests = naive(problem, rows, s.variables, how)
        assert set(s.separated) in separated
        assert s.accepted == bool(separated[0])
        assert (s.evidence.rows, s.evidence.source) == (len(rows), "tested")
        assert s.evidence.tests.keys() == tests.keys()
        for tested, result in s.evidence.tests.items():
            assert result[:2] == pytest.approx(tests[tested][:2], rel=1e-9, abs=1e-9)
            assert result.p_value == pytest.approx(tests[tested].p_value, abs=TIED)


def test_without_data_nothing_is_rejected_unless_evidence_is_required() -> None:
    problem = Problem("Y", {"A": 2}, {"I": 2, "J": 2})
    for reading in READINGS:
        assert all(s.separated == ("I", "J") for s in discovered(problem, [], DirectTesting(reading=reading)))
        strict = DirectTesting(reading=reading, require_evidence=True)
        assert not any(s.accepted for s in discovered(problem, [], strict))


def test_joint_takes_the_largest_then_the_best_supported() -> None:
    """J matters, I and K do not: {I, K} wins over {I} and {K}, and nothing that holds J is accepted."""
    problem = Problem("Y", {}, {"I": 2, "J": 2, "K": 2})
    rows = [
        {"I": i, "J": j, "K": k, "Y": int(n < 5 + 14 * j)}
        for i, j, k in itertools.product((0, 1), repeat=3)
        for n in range(20)
    ]
    (only,) = discovered(problem, rows, DirectTesting(reading="joint"))
    assert only.separated == ("I", "K")
    accepted = {tested for tested, result in only.evidence.tests.items() if result.p_value > 0.05}
    assert accepted == {("I",), ("K",), ("I", "K")}


def as_if_infinite(world: DiscreteSCM, rows_per_arm: int = 10**7) -> tuple[TableLayout, CountTables]:
    """The counts to be expected from very many rows: sampling without the noise."""
    layout = TableLayout.of(world.problem)
    tables = layout.empty()
    for arm, pulled in enumerate(world.problem.arms):
        for place, names in enumerate(layout.names):
            chances = world.distribution(pulled, [*reversed(names), "Y"])  # the first variable varies fastest
            tables.table(place)[arm] = np.round(chances.reshape(-1, 2) * rows_per_arm)
    return layout, tables


def truth(world: DiscreteSCM, variables: tuple[str, ...]) -> tuple[str, ...]:
    """The levers that S and the other levers d-separate from Y."""
    graph = world.graph.with_context(dict(world.problem.targets))
    levers = world.problem.intervention_names
    return tuple(i for i in levers if separates(graph, [*variables, *(j for j in levers if j != i)], i, "Y"))


CONFOUNDED = [
    MixedGraph(["A", "B", "C", "Y"], [("A", "B"), ("B", "Y"), ("C", "Y")], [("A", "Y")]),
    MixedGraph(["A", "B", "Y"], [("A", "B"), ("B", "Y")], [("A", "B")]),
    MixedGraph(["A", "B", "Y"], [("A", "Y")], [("A", "B"), ("B", "Y")]),
]


@pytest.mark.parametrize(
    "graph", [*(c.graph for c in dag_classes(["A", "B", "C", "Y"], "Y")[::3]), *CONFOUNDED], ids=str
)
def test_in_the_limit_conditional_testing_finds_exactly_the_separating_sets(graph: MixedGraph) -> None:
    world = paper_world(graph, seed=0)
    layout, tables = as_if_infinite(world)
    for s in DirectTesting(alpha=0.001).discover(layout, tables, rows=0).sets:
        assert s.separated == truth(world, s.variables), s.variables


def sampled(world: DiscreteWorld, rows_per_arm: int, seed: int) -> tuple[TableLayout, CountTables]:
    rng = np.random.default_rng(seed)
    history = History(world.problem)
    for arm in world.problem.arms:
        history.extend(world.sample(arm, rows_per_arm, rng))
    return TableLayout.of(world.problem), history.tables()


def test_on_a_large_sample_of_a_paper_world() -> None:
    """Null: what the graph A -> B -> Y <- C says; 20000 rows for each of 27 arms.

    Each of the 14 true independences is rejected at alpha = 1e-6: false-alarm rate 1.4e-5. The weakest of the 10
    dependences has an expected G2 of 872 with standard error 59, thirteen of them above its critical value. Seed 3.
    """
    world = paper_world(MixedGraph(["A", "B", "C", "Y"], [("A", "B"), ("B", "Y"), ("C", "Y")]), seed=1)
    layout, tables = sampled(world, 20_000, seed=3)
    for s in DirectTesting(alpha=1e-6).discover(layout, tables, 27 * 20_000).sets:
        assert s.separated == truth(world, s.variables), s.variables


def test_partial_sets() -> None:
    """Y = A or B: {A} separates I_A given I_B but not I_B; only {A, B} separates both.

    Null: the graph A -> Y <- B. Five true independences at alpha = 1e-6, false-alarm rate 5e-6. Every dependence
    moves P(Y = 1) by 0.4 or more between some two arms with 2000 rows each (standard error 0.016). Seed 4.
    """
    coin = Mechanism([], [0.5, 0.5])
    world = DiscreteSCM(
        variables={"A": 2, "B": 2, "Y": 2},
        mechanisms={
            "A": coin,
            "B": coin,
            "Y": Mechanism(["A", "B"], lambda a, b: [0.1, 0.9] if a or b else [0.9, 0.1]),
        },
        interventions={"I_A": perfect("A"), "I_B": perfect("B")},
    )
    layout, tables = sampled(world, 2000, seed=4)
    found = {s.variables: s.separated for s in DirectTesting(alpha=1e-6).discover(layout, tables, 18_000).sets}
    assert found == {(): (), ("A",): ("I_A",), ("B",): ("I_B",), ("A", "B"): ("I_A", "I_B")}
    joint = {s.variables: s.separated for s in DirectTesting(1e-6, "joint").discover(layout, tables, 18_000).sets}
    assert joint == found


def test_sets_read_as_sentences() -> None:
    problem = Problem("Y", {"A": 2}, {"I": 2, "J": 2})
    layout = TableLayout.of(problem)
    findings = Findings(layout, 0, np.array([[False, False], [True, True]]), "told")
    assert [str(s) for s in findings.sets] == ["{} separates nothing", "{A} separates I, J"]
    assert [s.accepted for s in findings.sets] == [False, True]
    assert findings.sets[0].evidence.tests == {}


@pytest.mark.parametrize("alpha", [0, 1, -0.1, 1.5, float("nan"), "0.05", None, True])
def test_bad_alpha(alpha: Any) -> None:
    with pytest.raises(OptionError, match=f"alpha={alpha!r}; expected a level between 0 and 1"):
        DirectTesting(alpha=alpha)


def test_bad_reading() -> None:
    with pytest.raises(OptionError, match="reading='loose'; expected one of conditional, marginal, joint"):
        DirectTesting(reading="loose")  # type: ignore[arg-type]


@given(st.floats(1e-9, 0.999), st.sampled_from(READINGS), st.booleans())
def test_round_trip_through_json(alpha: float, reading: Reading, require_evidence: bool) -> None:
    how = DirectTesting(alpha, reading, require_evidence)
    assert discovery_from_dict(json.loads(json.dumps(how.to_dict()))) == how


def test_unknown_discovery() -> None:
    with pytest.raises(OptionError, match=r"discovery 'oracle' is not known; expected one of .*'direct'"):
        discovery_from_dict({"name": "oracle"})

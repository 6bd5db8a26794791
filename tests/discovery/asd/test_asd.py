"""ASD as a discovery and by itself."""

import builtins
import json
from typing import Any

import numpy as np
import pytest

from causal_bandits import ASD, CausalThompsonSampling, MixedGraph, Problem
from causal_bandits.core.data import CountTables, History, TableLayout
from causal_bandits.core.discovery import discovery_from_dict
from causal_bandits.core.discovery.asd.asp import Asp
from causal_bandits.core.discovery.asd.graph_space import Background, Space
from causal_bandits.core.discovery.asd.statements import JointCounts, g_squared_of_pairs
from causal_bandits.core.graphs import separated
from causal_bandits.core.independence import g_squared
from causal_bandits.errors import MissingExtraError, OptionError, UnknownVariableError
from causal_bandits.research.simulation import play
from causal_bandits.research.worlds import paper_world

CHAIN = paper_world(MixedGraph(["A", "B", "C", "Y"], directed=[("A", "B"), ("B", "C"), ("C", "Y"), ("A", "Y")]), seed=5)


def uniform_history(rows: int, seed: int = 0) -> History:
    """As many rows of every arm."""
    rng = np.random.default_rng(seed)
    history = History(CHAIN.problem)
    for arm in CHAIN.problem.arms:
        history.extend(CHAIN.sample(arm, rows, rng))
    return history


def counted(history: History) -> tuple[TableLayout, CountTables]:
    return TableLayout.of(history.problem), history.tables()


def test_tests_of_pairs_equal_tests_from_rows() -> None:
    """Every pair and conditioning set against g_squared on a table counted row by row."""
    history = uniform_history(8)
    layout, tables = counted(history)
    joint = JointCounts.of(layout, tables)
    rows = history.rows
    columns = np.column_stack([rows.codes, rows.rewards, CHAIN.problem.arm_codes[rows.arms]])
    rng = np.random.default_rng(1)
    for _ in range(60):
        x, y = sorted(int(node) for node in rng.choice(7, size=2, replace=False))
        mask = int(rng.integers(128)) & ~(1 << x | 1 << y)
        given = columns[:, [node for node in range(7) if mask >> node & 1]]
        strata = np.unique(given, axis=0, return_inverse=True)[1].reshape(-1)
        table = np.zeros((strata.max() + 1, 3, 3))
        np.add.at(table, (strata, columns[:, x], columns[:, y]), 1)
        expected = g_squared(table)
        statistic, dof = g_squared_of_pairs(joint, np.array([x]), np.array([y]), np.array([mask]))
        assert statistic[0] == pytest.approx(expected.statistic)
        assert dof[0] == expected.dof


def test_enough_data_find_exactly_the_separating_sets() -> None:
    history = uniform_history(3000)
    layout, tables = counted(history)
    findings = ASD(partial=True).discover(layout, tables, len(history))
    graph = CHAIN.graph.with_context(dict(CHAIN.problem.targets), confounded=True)
    levers = CHAIN.problem.intervention_names
    for names, row in zip(layout.names, findings.separated, strict=True):
        for lever, found in zip(levers, row, strict=True):
            others = [name for name in levers if name != lever]
            assert found == separated(graph, lever, "Y", given={*names, *others}), (names, lever)


def test_without_partial_a_set_separates_all_or_nothing() -> None:
    history = uniform_history(300)
    layout, tables = counted(history)
    partial = ASD(partial=True).discover(layout, tables, 1)
    full = ASD().discover(layout, tables, 1)
    assert np.array_equal(full.separated.all(axis=1), partial.separated.all(axis=1))
    assert np.array_equal(full.separated.any(axis=1), full.separated.all(axis=1))
    assert partial.separated.any(axis=1).sum() > full.separated.any(axis=1).sum()
    for found in full.sets:
        assert set(found.evidence.confidence) == set(CHAIN.problem.intervention_names)
        assert found.accepted == all(value > 0 for value in found.evidence.confidence.values())


@pytest.mark.slow
def test_both_engines_discover_the_same() -> None:
    layout, tables = counted(uniform_history(40))
    listed = ASD(partial=True).discover(layout, tables, 1)
    searched = ASD(partial=True, engine="asp").discover(layout, tables, 1)
    confidences = [each.arrays["confidence"] for each in (searched, listed)]
    assert confidences[0] == pytest.approx(confidences[1], abs=1e-3)
    assert np.array_equal(searched.separated, listed.separated)


def test_no_data_is_no_evidence_and_no_set() -> None:
    policy = CausalThompsonSampling(CHAIN.problem, discovery=ASD(), seed=0)
    policy.ask()
    assert policy.separating_sets() == []
    assert {value for s in policy.separating_sets(rejected=True) for value in s.evidence.confidence.values()} == {0.0}


def test_a_table_explained() -> None:
    found = ASD().explain(uniform_history(3000), best=3)
    assert found.proven
    assert found.graph == CHAIN.graph.with_context(dict(CHAIN.problem.targets), confounded=True)
    assert [loss for _, loss in found.graphs] == sorted(loss for _, loss in found.graphs)
    assert len(found.graphs) == 3
    for tail, head in CHAIN.graph.directed:
        assert found.edges[f"{tail} -> {head}"] > 0
    assert found.edges["Y -> A"] < 0
    assert found.ancestors["A --> Y"] > 0
    assert found.ancestors["Y --> A"] < 0
    assert found.to_frame().columns == ["kind", "feature", "confidence"]
    searched = ASD(engine="asp").explain(uniform_history(3000))
    assert searched.graph == found.graph
    assert searched.edges == pytest.approx(found.edges, abs=0.1)  # weights of 1e5 nats are rounded to 1e-4


def test_every_optimal_graph_keeps_the_jci_constraints() -> None:
    for graph, _ in ASD().explain(uniform_history(20), best=20).graphs:
        levers = CHAIN.problem.intervention_names
        assert not graph.parents(levers)  # JCI1
        for lever, acted_on in CHAIN.problem.targets:
            assert graph.children(lever) == acted_on  # known targets
            assert set(graph.spouses(lever)) == set(levers) - {lever}  # JCI2 and JCI3


def test_background_knowledge_by_name() -> None:
    history = uniform_history(200)
    told = ASD(forbidden=["A -> B"], required=["A <-> B"]).explain(history)
    assert "A" not in told.graph.parents("B")
    assert "A" in told.graph.spouses("B")
    assert told.edges["A -> B"] == -np.inf


def test_a_policy_plays_saves_and_loads_with_it(tmp_path: Any) -> None:
    policy = CausalThompsonSampling(CHAIN.problem, discovery=ASD(forbidden=["Y -> A"]), seed=0)
    play(policy, CHAIN, 300, np.random.default_rng(0))
    policy.save(tmp_path / "policy.npz")
    again = CausalThompsonSampling.load(tmp_path / "policy.npz")
    assert again.discovery == policy.discovery
    assert again.separating_sets(rejected=True) == policy.separating_sets(rejected=True)
    assert again.ask(50) == policy.ask(50)


def test_options_round_trip_through_json() -> None:
    asd = ASD(alpha=0.01, sufficient=True, forbidden=("A -> B",), time_limit=3.0)
    assert discovery_from_dict(json.loads(json.dumps(asd.to_dict()))) == asd


def test_unknown_targets_go_to_the_asp_engine() -> None:
    problem = Problem("Y", {"A": 2}, {"I": 2})
    history = History(problem)
    rng = np.random.default_rng(0)
    for i in (0, 1):
        a = rng.integers(2, size=400) if i == 0 else (rng.random(400) < 0.9).astype(int)
        y = (rng.random(400) < 0.2 + 0.6 * a).astype(int)
        history.extend(history.encode_many({"A": a, "Y": y}, arm={"I": i}))
    found = ASD().explain(history)
    assert found.graph.children("I") == ("A",)
    with pytest.raises(OptionError, match=r"what 'I' acts on is not known; pass targets=.* or use engine='asp'"):
        ASD(engine="enumeration").explain(history)


def test_five_variables_need_the_asp_engine_or_no_confounders() -> None:
    wide = paper_world(MixedGraph(list("ABCDY"), directed=[("A", "Y")]), seed=0)
    with pytest.raises(OptionError, match="the graphs over 5 variables are too many to list; use engine='asp'"):
        CausalThompsonSampling(wide.problem, discovery=ASD(engine="enumeration"))


def test_missing_clingo_is_one_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    real = builtins.__import__

    def refuse(name: str, *rest: Any) -> Any:
        if name == "clingo":
            raise ImportError
        return real(name, *rest)

    monkeypatch.setattr(builtins, "__import__", refuse)
    with pytest.raises(MissingExtraError, match=r"pip install '\.\[asd\]'"):
        Asp(Space(2, (1,)), Background())
    with pytest.raises(MissingExtraError, match=r"clingo is not installed; .*; or use engine='enumeration'"):
        ASD(engine="asp", alpha=0.0123).explain(uniform_history(1))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"alpha": 0}, "alpha=0; expected a level between 0 and 1"),
        ({"engine": "magic"}, "engine='magic'; expected one of auto, enumeration, asp"),
        ({"time_limit": 0}, "time_limit=0; expected seconds above 0"),
        ({"forbidden": "A -> B"}, "forbidden='A -> B'; expected a list of edges"),
    ],
)
def test_bad_options(options: dict[str, Any], message: str) -> None:
    with pytest.raises(OptionError, match=message):
        ASD(**options)


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"forbidden": ["A B"]}, OptionError, "edge 'A B' cannot be read; expected 'A -> B' or 'A <-> B'"),
        ({"forbidden": ["A -> Z"]}, UnknownVariableError, "edge 'A -> Z' names 'Z'; expected one of 'A'"),
        ({"required": ["A -> A"]}, OptionError, "joins a variable with itself"),
        ({"required": ["A -> B"], "forbidden": ["A -> B"]}, OptionError, "is both forbidden and required"),
        ({"required": ["A -> B", "B -> A"]}, OptionError, "no graph satisfies"),
    ],
)
def test_bad_background(options: dict[str, Any], error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        CausalThompsonSampling(CHAIN.problem, discovery=ASD(**options))


def test_small_tables_are_refused() -> None:
    with pytest.raises(OptionError, match="joint counts need the table of all 3 observed variables; max_size is 2"):
        CausalThompsonSampling(CHAIN.problem, discovery=ASD(), max_size=2)


def test_too_many_variables_are_refused() -> None:
    names = [f"V{number}" for number in range(8)]
    wide = Problem("Y", dict.fromkeys(names, 2), {"I": 2}, targets={"I": "V0"})
    with pytest.raises(OptionError, match=r"ASD over 9 variables and 1 .* too many statements .*; use DirectTesting"):
        CausalThompsonSampling(wide, discovery=ASD())

"""One test per rule of the answer set program: it says what it must, and without it that is not said."""

from importlib import resources
from typing import NamedTuple

import clingo
import pytest

RULES = resources.files("causal_bandits.core.discovery.asd").joinpath("encoding.lp").read_text()


class Case(NamedTuple):
    """A rule, the facts it needs, and an atom that it alone derives or allows, or a state it alone forbids or costs."""

    rule: str
    facts: str
    kind: str
    goal: str = ""


DERIVES = [
    Case("edge(C, V) :- target(C, V).", "target(2,0).", "derives", "edge(2,0)"),
    Case("confounded(C, D) :- context(C), context(D), C < D.", "context(2;3).", "derives", "confounded(2,3)"),
    Case("bi(X, Y) :- confounded(X, Y).", "confounded(0,1).", "derives", "bi(0,1)"),
    Case("bi(Y, X) :- confounded(X, Y).", "confounded(0,1).", "derives", "bi(1,0)"),
    Case("node(V) :- system(V).", "system(0).", "derives", "node(0)"),
    Case("node(V) :- context(V).", "context(0).", "derives", "node(0)"),
    Case("ancestor(V, V) :- node(V).", "node(0).", "derives", "ancestor(0,0)"),
    Case("ancestor(X, Z) :- edge(X, Y), ancestor(Y, Z).", "edge(0,1). ancestor(1,2).", "derives", "ancestor(0,2)"),
    Case("collider(V, S) :- ancestor(V, W), member(W, S).", "ancestor(0,1). member(1,9).", "derives", "collider(0,9)"),
    Case("blocked(V, S) :- member(V, S).", "member(1,9).", "derives", "blocked(1,9)"),
    Case("asked(X, Y, S) :- statement(X, Y, S, _, _).", "statement(0,1,9,dependent,5).", "derives", "asked(0,1,9)"),
    Case("asked(X, Y, S) :- query(X, Y, S).", "query(0,1,9).", "derives", "asked(0,1,9)"),
    Case("start(X, S) :- asked(X, _, S).", "asked(0,1,9).", "derives", "start(0,9)"),
    Case("tail(X, S, X) :- start(X, S).", "start(0,9).", "derives", "tail(0,9,0)"),
    Case(
        "head(X, S, W) :- tail(X, S, V), not blocked(V, S), edge(V, W).",
        "tail(0,9,1). edge(1,2).",
        "derives",
        "head(0,9,2)",
    ),
    Case(
        "head(X, S, W) :- head(X, S, V), not blocked(V, S), edge(V, W).",
        "head(0,9,1). edge(1,2).",
        "derives",
        "head(0,9,2)",
    ),
    Case(
        "head(X, S, W) :- tail(X, S, V), not blocked(V, S), bi(V, W).",
        "tail(0,9,1). bi(1,2).",
        "derives",
        "head(0,9,2)",
    ),
    Case(
        "head(X, S, W) :- head(X, S, V), collider(V, S), bi(V, W).",
        "head(0,9,1). collider(1,9). bi(1,2).",
        "derives",
        "head(0,9,2)",
    ),
    Case(
        "tail(X, S, W) :- tail(X, S, V), not blocked(V, S), edge(W, V).",
        "tail(0,9,1). edge(2,1).",
        "derives",
        "tail(0,9,2)",
    ),
    Case(
        "tail(X, S, W) :- head(X, S, V), collider(V, S), edge(W, V).",
        "head(0,9,1). collider(1,9). edge(2,1).",
        "derives",
        "tail(0,9,2)",
    ),
    Case(
        "head(X, S, W) :- head(X, S, V), blocked(V, S), edge(V, W), ancestor(W, V), sigma.",
        "head(0,9,1). blocked(1,9). edge(1,2). ancestor(2,1). sigma.",
        "derives",
        "head(0,9,2)",
    ),
    Case(
        "connected(X, Y, S) :- head(X, S, Y), asked(X, Y, S).",
        "head(0,9,1). asked(0,1,9).",
        "derives",
        "connected(0,1,9)",
    ),
    Case(
        "connected(X, Y, S) :- tail(X, S, Y), asked(X, Y, S).",
        "tail(0,9,1). asked(0,1,9).",
        "derives",
        "connected(0,1,9)",
    ),
]
ALLOWS = [
    Case("{ edge(X, Y) } :- system(X), system(Y), X != Y.", "system(0;1).", "allows", "edge(0,1)"),
    Case(
        "{ confounded(X, Y) } :- system(X), system(Y), X < Y, not sufficient.",
        "system(0;1).",
        "allows",
        "confounded(0,1)",
    ),
    Case("{ edge(C, V) } :- free(C), system(V).", "free(2). system(0).", "allows", "edge(2,0)"),
]
FORBIDS = [
    Case(
        "#edge (X, Y) : edge(X, Y), system(X), system(Y), acyclic.",
        "system(0;1). acyclic. edge(0,1). edge(1,0).",
        "forbids",
    ),
    Case(":- forbid(X, Y), edge(X, Y).", "forbid(0,1). edge(0,1).", "forbids"),
    Case(":- require(X, Y), not edge(X, Y).", "require(0,1).", "forbids"),
    Case(":- forbid_confounded(X, Y), bi(X, Y).", "forbid_confounded(0,1). bi(0,1).", "forbids"),
    Case(":- require_confounded(X, Y), not bi(X, Y).", "require_confounded(0,1).", "forbids"),
]
COSTS = [
    Case(
        ":~ statement(X, Y, S, independent, W), connected(X, Y, S). [W, X, Y, S]",
        "statement(0,1,9,independent,7). connected(0,1,9).",
        "costs",
    ),
    Case(
        ":~ statement(X, Y, S, dependent, W), not connected(X, Y, S). [W, X, Y, S]",
        "statement(0,1,9,dependent,7).",
        "costs",
    ),
]
CASES = [*DERIVES, *ALLOWS, *FORBIDS, *COSTS]


def rules() -> list[str]:
    lines = [line.strip() for line in RULES.splitlines()]
    return [line for line in lines if line and not line.startswith(("%", "#defined", "#show"))]


def solve(*programs: str) -> list[int] | None:
    """The cost of an optimal model, [] where there is no cost, None where there is no model."""
    control = clingo.Control(["--warn=none"])
    for program in programs:
        control.add("base", [], program)
    control.ground([("base", [])])
    costs: list[list[int]] = []
    control.solve(on_model=lambda model: costs.append(list(model.cost)))
    return costs[-1] if costs else None


def test_every_rule_has_its_case() -> None:
    assert sorted(case.rule for case in CASES) == sorted(rules())


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.rule)
def test_rule(case: Case) -> None:
    with_it, without = RULES, RULES.replace(case.rule, "")
    if case.kind == "derives":
        denied = f":- {case.goal}."
        assert solve(with_it, case.facts, denied) is None
        assert solve(without, case.facts, denied) is not None
    elif case.kind == "allows":
        demanded = f":- not {case.goal}."
        assert solve(with_it, case.facts, demanded) is not None
        assert solve(without, case.facts, demanded) is None
    elif case.kind == "forbids":
        assert solve(with_it, case.facts) is None
        assert solve(without, case.facts) is not None
    else:
        assert solve(with_it, case.facts) == [7]
        assert solve(without, case.facts) in ([], [0])


def test_a_sufficient_graph_has_no_bidirected_edge() -> None:
    facts = "system(0;1). sufficient."
    assert solve(RULES, facts, ":- not confounded(0,1).") is None


def test_a_cycle_is_allowed_where_it_is_wanted() -> None:
    assert solve(RULES, "system(0;1). edge(0,1). edge(1,0).") is not None

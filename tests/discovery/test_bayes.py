import json
import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from causal_bandits import BayesFactors, DirectTesting, History, KnownSets, MixedGraph, Problem
from causal_bandits.core.compiled import interpreted
from causal_bandits.core.data import TableLayout
from causal_bandits.core.discovery import Findings, discovery_from_dict
from causal_bandits.core.discovery.bayes import Others
from causal_bandits.core.discovery.direct import lever_tests
from causal_bandits.core.independence import factors_of_arms
from causal_bandits.errors import OptionError
from causal_bandits.research.worlds import paper_world
from tests.discovery.readings import READINGS, probability
from tests.problem.strategies import gappy_logs, logs
from tests.reference import independence as reference


def naive(rows: list[dict[str, Any]], lever: str, given: list[str]) -> float:
    """log [P(Y | given) / P(Y | given, lever)] by predicting one reward after the other, from raw rows."""
    found = 0.0
    for names, sign in ((given, 1), ([*given, lever], -1)):
        seen: dict[tuple[Any, ...], list[int]] = {}
        for row in rows:
            counts = seen.setdefault(tuple(row[name] for name in names), [1, 1])
            found += sign * math.log(counts[row["Y"]] / sum(counts))
            counts[row["Y"]] += 1
    return found


def told(problem: Problem, rows: list[dict[str, Any]]) -> History:
    history = History(problem)
    for row in rows:
        arm = {name: row[name] for name in problem.intervention_names}
        seen = {name: row[name] for name in (*problem.observed_names, "Y")}
        history.extend(history.encode(arm, seen, missing=True))
    return history


def weighed(problem: Problem, rows: list[dict[str, Any]], how: BayesFactors) -> Findings:
    history = told(problem, rows)
    return how.discover(TableLayout.of(problem), history.tables(), len(history))


@given(logs(), st.sampled_from(READINGS), st.sampled_from([-1.0, 0.0, 1.0]))
def test_agrees_with_predicting_row_by_row(
    log: tuple[Problem, list[dict[str, Any]]], reading: Others, threshold: float
) -> None:
    """A marginal likelihood is the product of one-step predictions by Laplace's rule."""
    problem, rows = log
    levers = problem.intervention_names
    findings = weighed(problem, rows, BayesFactors(threshold, reading))
    for s in findings.sets:
        assert (s.evidence.rows, s.evidence.source, s.evidence.tests) == (len(rows), "weighed", {})
        assert s.evidence.log_bayes_factor.keys() == set(levers)
        assert s.evidence.given_others.keys() == (set(levers) if reading in ("both", "either") else set())
        for lever, nats in s.evidence.log_bayes_factor.items():
            others = [name for name in levers if name != lever]
            expected = naive(rows, lever, [*s.variables, *(others if reading == "conditional" else [])])
            assert nats == pytest.approx(expected, abs=1e-9)
            fixed = s.evidence.given_others.get(lever, nats)
            for_it = nats > threshold or (reading == "either" and fixed > threshold)
            assert (lever in s.separated) == (for_it and (fixed >= -5 or fixed == nats))
            if s.evidence.given_others:
                assert s.evidence.given_others[lever] == pytest.approx(
                    naive(rows, lever, [*s.variables, *others]), abs=1e-9
                )


@given(gappy_logs())
def test_agrees_with_counting_raw_rows(log: tuple[Problem, list[dict[str, Any]]]) -> None:
    """Values are missing, few arms are pulled, and not every combination is an arm."""
    problem, rows = log
    for s in weighed(problem, rows, BayesFactors()).sets:
        for lever in problem.intervention_names:
            others = [name for name in problem.intervention_names if name != lever]
            for found, given_ in ((s.evidence.log_bayes_factor, []), (s.evidence.given_others, others)):
                expected = reference.log_bayes_factor(rows, s.variables, lever, given_)
                assert found[lever] == pytest.approx(expected, rel=1e-9, abs=1e-11)


def test_large_counts_agree_with_counting_raw_rows() -> None:
    """Beyond the log factorials that are looked up."""
    rng, problem = np.random.default_rng(5), Problem("Y", {"A": 2}, {"I": 2, "J": 2})
    codes = rng.integers(2, size=(40_000, 4)).tolist()
    rows = [dict(zip(("A", "I", "J", "Y"), row, strict=True)) for row in codes]
    for s in weighed(problem, rows, BayesFactors()).sets:
        assert s.evidence.log_bayes_factor["I"] == pytest.approx(
            reference.log_bayes_factor(rows, s.variables, "I", []), rel=1e-9
        )
        assert s.evidence.given_others["J"] == pytest.approx(
            reference.log_bayes_factor(rows, s.variables, "J", ["I"]), rel=1e-9
        )


@given(gappy_logs())
def test_compiled_equals_interpreted(log: tuple[Problem, list[dict[str, Any]]]) -> None:
    problem, rows = log
    tables = told(problem, rows).tables()
    for reading in ("conditional", "marginal"):
        tests = lever_tests(problem, reading)[1]
        np.testing.assert_allclose(
            factors_of_arms(tables, tests), interpreted(factors_of_arms)(tables, tests), atol=1e-12
        )


@given(logs(), st.sampled_from(READINGS))
def test_the_probability_is_a_product_over_what_is_pooled(
    log: tuple[Problem, list[dict[str, Any]]], reading: Others
) -> None:
    problem, rows = log
    findings = weighed(problem, rows, BayesFactors(0.0, reading))
    assert findings.probability is not None
    for s, held in zip(findings.sets, findings.probability, strict=True):
        assert held == pytest.approx(math.prod(probability(s, lever) for lever in s.separated))


def test_told_sets_are_certain_and_tests_give_no_probability() -> None:
    layout = TableLayout.of(Problem("Y", {"A": 2}, {"I": 2}))
    assert KnownSets([["A"]]).discover(layout, layout.empty(), 0).probability == pytest.approx(np.ones(2))
    assert DirectTesting().discover(layout, layout.empty(), 0).probability is None


def test_without_data_nothing_is_shared() -> None:
    problem = Problem("Y", {"A": 2}, {"I": 2, "J": 2})
    for reading in READINGS:
        findings = weighed(problem, [], BayesFactors(reading=reading))
        assert np.all(findings.arrays["log_bayes_factor"] == 0)
        assert not findings.separated.any()


def test_in_a_world_with_a_chain() -> None:
    """A -> B -> Y: {B} and {A, B} separate both levers, {} and {A} leave I_B to be seen.

    Null: the graph; 4000 rows for each of 9 arms. The log Bayes factor of a true independence is about half a log of
    the rows per degree of freedom minus G2 / 2. The smallest of the four, I_B given B, is at most 8 and falls below 1
    when a chi-squared variable with 2 degrees of freedom exceeds 14: false-alarm rate 1e-3. Those of the two
    dependences are near -1300 with standard error 50. Seed 3.
    """
    world = paper_world(MixedGraph(["A", "B", "Y"], [("A", "B"), ("B", "Y")]), seed=1)
    rng, history = np.random.default_rng(3), History(world.problem)
    for arm in world.problem.arms:
        history.extend(world.sample(arm, 4000, rng))
    findings = BayesFactors().discover(TableLayout.of(world.problem), history.tables(), len(history))
    assert {s.variables for s in findings.sets if set(s.separated) == {"I_A", "I_B"}} == {("B",), ("A", "B")}
    by_set = {s.variables: s.evidence.log_bayes_factor for s in findings.sets}
    assert max(by_set[()]["I_B"], by_set[("A",)]["I_B"]) < -50


@pytest.mark.parametrize("threshold", [float("nan"), float("inf"), "1", None, True])
def test_bad_threshold(threshold: Any) -> None:
    with pytest.raises(OptionError, match=f"threshold={threshold!r}; expected a number of nats"):
        BayesFactors(threshold)


def test_bad_reading() -> None:
    with pytest.raises(OptionError, match="reading='joint'; expected one of both, either, marginal, conditional"):
        BayesFactors(reading="joint")  # type: ignore[arg-type]


@given(st.floats(-5, 5), st.sampled_from(READINGS))
def test_round_trip_through_json(threshold: float, reading: Others) -> None:
    how = BayesFactors(threshold, reading, veto=threshold + 5)
    assert discovery_from_dict(json.loads(json.dumps(how.to_dict()))) == how

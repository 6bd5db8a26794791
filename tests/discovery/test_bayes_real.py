"""Bayes factors where the reward is a real number: the two readings, what is accepted, and what is reported."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from causal_bandits import BayesFactors, CausalUCBNormal, History, LinearGaussianSCM, Problem
from causal_bandits.core.data import DesignLayout
from causal_bandits.core.discovery import Findings
from causal_bandits.core.policies import SafeGaussianThompson
from causal_bandits.errors import OptionError
from causal_bandits.research.worlds import shift
from tests.discovery.readings import READINGS, probability
from tests.policies.cases import SIX, Table, table_of
from tests.reference.regressions import by_contrasts

LAYOUT = DesignLayout.of(SIX)


def weighed(table: Table, how: BayesFactors) -> Findings:
    policy = CausalUCBNormal(SIX, discovery=how, seed=0)
    policy.tell_many(table)
    found = policy._discover()
    assert found is not None
    return found


def naive(table: Table, variables: tuple[str, ...], lever: str, others: list[str]) -> float:
    """From raw rows: a sum over the settings of the others."""
    history = History(SIX)
    rows = history.encode_many(table)
    values = LAYOUT.design(rows)[:, [*LAYOUT.columns[LAYOUT.names.index(variables)], -1]]
    levels, settings = (
        np.array(table[lever]),
        np.array([str([table[o][i] for o in others]) for i in range(len(values))]),
    )
    return sum(by_contrasts(values[settings == one], levels[settings == one]) for one in np.unique(settings))


@settings(max_examples=10, deadline=None)
@given(st.integers(18, 80), st.integers(0, 1000))
def test_both_readings_agree_with_the_raw_rows(rows: int, seed: int) -> None:
    table = table_of(rows, seed)
    for s in weighed(table, BayesFactors()).sets:
        assert (s.evidence.rows, s.evidence.source, s.evidence.tests) == (rows, "weighed", {})
        for lever, other in (("I", "J"), ("J", "I")):
            averaged, fixed = s.evidence.log_bayes_factor[lever], s.evidence.given_others[lever]
            assert averaged == pytest.approx(naive(table, s.variables, lever, []), abs=1e-4)
            assert fixed == pytest.approx(naive(table, s.variables, lever, [other]), abs=1e-4)
            assert (lever in s.separated) == (averaged > 1 and fixed >= -5)


def test_the_readings() -> None:
    table = table_of(300, 3)
    found = {reading: weighed(table, BayesFactors(0.5, reading)) for reading in READINGS}
    both = found["both"]
    arrays = {reading: each.arrays for reading, each in found.items()}
    factors, given = arrays["both"]["log_bayes_factor"], arrays["both"]["given_others"]
    np.testing.assert_array_equal(arrays["marginal"]["log_bayes_factor"], factors)
    np.testing.assert_array_equal(arrays["conditional"]["log_bayes_factor"], given)
    np.testing.assert_array_equal(arrays["either"]["given_others"], given)
    assert np.all(found["either"].separated >= both.separated)
    assert "given_others" not in {**arrays["marginal"], **arrays["conditional"]}
    for findings in found.values():
        assert findings.probability is not None
        for s, held in zip(findings.sets, findings.probability, strict=True):
            assert held == pytest.approx(np.prod([probability(s, lever) for lever in s.separated]))


def test_without_data_nothing_is_shared() -> None:
    for reading in READINGS:
        findings = BayesFactors(reading=reading).discover(LAYOUT, LAYOUT.empty(), 0)
        assert not findings.arrays["log_bayes_factor"].any()
        assert not findings.separated.any()


def test_what_the_other_levers_contradict_is_vetoed() -> None:
    """I acts up where J is idle and down where it is not: averaged over J nothing is seen of it."""
    problem = Problem("Y", {"A": float}, {"I": 2, "J": 2}, reward=float)
    rng = np.random.default_rng(6)
    rows = [
        {"I": i, "J": j, "A": float(rng.normal()), "Y": float(rng.normal()) + 2 * (i == j)}
        for i in (0, 1)
        for j in (0, 1)
        for _ in range(100)
    ]
    accepted = {}
    for veto in (5.0, 1e6):
        policy = SafeGaussianThompson(problem, discovery=BayesFactors(veto=veto), seed=0)
        policy.tell_many(rows)
        accepted[veto] = {s.variables: s.separated for s in policy.separating_sets()}
    assert accepted[1e6] == {(): ("I", "J"), ("A",): ("I", "J")}
    assert accepted[5.0] == {}


def test_in_a_world_with_a_chain() -> None:
    """A -> B -> Y: {B} and {A, B} separate both levers, {} and {A} leave I_B to be seen.

    Null: the graph; 4000 rows for each of 6 arms. A log Bayes factor for a true set is half a log of the rows per
    coefficient of a level minus half a chi-squared of as many degrees of freedom, at least 7 here with 2 or more: it
    falls below 1 with false-alarm rate 5e-3 at most for each of four. Those of dependences are below -1000. Seed 3.
    """
    world = LinearGaussianSCM(
        {("A", "B"): 1.0, ("B", "Y"): 1.0},
        {
            "I_A": {"idle": {}, "up": {"A": shift(1.0)}, "down": {"A": shift(-1.0)}},
            "I_B": {"idle": {}, "up": {"B": shift(1.0)}},
        },
    )
    rng, policy = np.random.default_rng(3), SafeGaussianThompson(world.problem, seed=0)
    for arm in world.problem.arms:
        policy.learn(world.sample(arm, 4000, rng))
    found = policy.separating_sets(rejected=True)
    assert {s.variables for s in found if set(s.separated) == {"I_A", "I_B"}} == {("B",), ("A", "B")}
    assert all(s.evidence.log_bayes_factor["I_B"] < -50 for s in found if "B" not in s.variables)


def test_rows_without_a_mediator_count_for_the_sets_that_do_without() -> None:
    """Each set is weighed on the rows that have all its variables: the same as if the others were never told."""
    table = table_of(200, 4)
    gaps: Table = {**table, "A": [None if row % 3 == 0 else a for row, a in enumerate(table["A"])]}
    whole: Table = {name: [value for row, value in enumerate(column) if row % 3] for name, column in table.items()}
    policy = SafeGaussianThompson(SIX, seed=0)
    policy.tell_many(gaps, missing=True)
    found = policy._discover()
    all_rows, fewer = (weighed(rows, BayesFactors(reading="either")) for rows in (table, whole))
    assert found is not None
    for place, names in enumerate(LAYOUT.names):
        twin = fewer if "A" in names else all_rows
        np.testing.assert_array_equal(found.separated[place], twin.separated[place])
        for part in ("log_bayes_factor", "given_others"):
            mine, theirs = found.arrays[part], twin.arrays[part]
            np.testing.assert_allclose(mine[place], theirs[place], atol=1e-8)


@pytest.mark.parametrize("veto", [float("nan"), "5", True])
def test_bad_veto(veto: Any) -> None:
    with pytest.raises(OptionError, match=f"veto={veto!r}; expected a number of nats, such as 5"):
        BayesFactors(veto=veto)

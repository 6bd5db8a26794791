import itertools
import json
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from causal_bandits import KnownSets, Problem
from causal_bandits.core.data import ArmMoments, DesignLayout, add_rows
from causal_bandits.core.discovery import Discovery, Findings, ResidualTesting, discovery_from_dict
from causal_bandits.core.discovery.residual import ResidualReading
from causal_bandits.core.independence import Factor
from causal_bandits.errors import OptionError
from tests.reference.residuals import Log, agree, residual_test_of_rows

READINGS: list[ResidualReading] = ["conditional", "joint"]
FACTORS: list[Factor] = ["environments-1", "environments"]
MIXED = Problem("Y", {"A": float, "B": 3, "C": float}, {"I": 3, "J": 2, "K": 2}, reward=float)
TWO = Problem("Y", {"A": float, "B": float}, {"I_A": 2, "I_B": 3}, reward=float)
SACHS_LIKE = Problem(
    "Y",
    dict.fromkeys("ABCD", float),
    {"I": 2, "J": 2, "K": 2, "L": 2, "M": 2, "N": 3},
    arms=[{}, {"I": 1}, {"J": 1}, {"K": 1}, {"L": 1}, {"M": 1}, {"N": 1}, {"N": 2}],
    reward=float,
)


def moments_of(layout: DesignLayout, values: NDArray[np.float64], arms: NDArray[np.int64]) -> ArmMoments:
    moments = layout.empty()
    add_rows(moments, arms, values)
    return moments


def random_rows(layout: DesignLayout, rows: int, seed: int) -> Log:
    """The first lever moves the first column and, a little, the reward."""
    rng = np.random.default_rng(seed)
    arms = rng.integers(0, len(layout.problem.arms), size=rows)
    values = rng.normal(size=(rows, layout.width))
    values[:, 0] += layout.problem.arm_codes[arms, 0]
    values[:, -1] += values[:, 0] + 0.3 * layout.problem.arm_codes[arms, 0]
    for place, variable in enumerate(layout.problem.observed):
        if not variable.is_real:
            span = layout.columns[1 + place]
            values[:, span] = rng.integers(0, variable.size, size=rows)[:, None] == 1 + np.arange(len(span))
    return Log(values, arms, len(layout.problem.arms))


@pytest.mark.parametrize("factor", FACTORS)
@pytest.mark.parametrize("reading", READINGS)
@pytest.mark.parametrize(
    ("problem", "rows"), [(MIXED, 150), (MIXED, 600), (TWO, 30), (TWO, 200), (SACHS_LIKE, 50), (SACHS_LIKE, 400)]
)
def test_every_reading_agrees_with_test_by_test(
    problem: Problem, rows: int, reading: ResidualReading, factor: Factor
) -> None:
    layout = DesignLayout.of(problem)
    log = random_rows(layout, rows, seed=rows)
    how = ResidualTesting(0.05, reading, factor)
    found = how.discover(layout, log.moments, rows).sets
    levers = problem.intervention_names
    tested: list[tuple[str, ...]] = [levers] if reading == "joint" else [(name,) for name in levers]
    assert [s.variables for s in found] == list(layout.names)
    for place, s in enumerate(found):
        assert (s.evidence.rows, s.evidence.source, list(s.evidence.tests)) == (rows, "tested", tested)
        for names in tested:
            group = problem.arm_groups([name for name in levers if name not in names])
            columns = layout.columns[place].tolist()
            agree(s.evidence.tests[names], residual_test_of_rows(log, columns, group, factor), 1e-7)
        passed = [name for names, result in s.evidence.tests.items() if result.p_value > 0.05 for name in names]
        assert list(s.separated) == passed


def sampled(per_arm: int, seed: int) -> tuple[DesignLayout, ArmMoments]:
    """A -> Y <- B, linear; I_A shifts A, I_B shifts B: {A} separates I_A alone, {A, B} separates both."""
    layout = DesignLayout.of(TWO)
    rng = np.random.default_rng(seed)
    arms = np.repeat(np.arange(len(TWO.arms)), per_arm)
    x = rng.normal(size=(len(arms), 2)) + TWO.arm_codes[arms]
    values = np.column_stack([x, x @ [1.0, -2.0] + rng.normal(size=len(arms))])
    return layout, moments_of(layout, values, arms)


def separated(findings: Findings) -> dict[tuple[str, ...], tuple[str, ...]]:
    return {s.variables: s.separated for s in findings.sets}


def test_partial_sets() -> None:
    """Null: the graph A -> Y <- B. Four true independences at alpha = 1e-6, false-alarm rate 4e-6.

    Every dependence moves the reward's mean by 1 or 2, with noise of standard deviation at most 2.5 and 1000 rows per
    arm (standard error .08 at most). Seed 4.
    """
    layout, moments = sampled(1000, seed=4)
    found = separated(ResidualTesting(1e-6).discover(layout, moments, 6000))
    assert found == {(): (), ("A",): ("I_A",), ("B",): ("I_B",), ("A", "B"): ("I_A", "I_B")}
    joint = separated(ResidualTesting(1e-6, "joint").discover(layout, moments, 6000))
    assert joint == {(): (), ("A",): (), ("B",): (), ("A", "B"): ("I_A", "I_B")}


@pytest.mark.parametrize("reading", READINGS)
def test_without_evidence_nothing_is_rejected_unless_it_is_required(reading: ResidualReading) -> None:
    layout = DesignLayout.of(MIXED)
    one_each = random_rows(layout, 12, seed=0)._replace(arms=np.arange(12)).moments
    for moments in (layout.empty(), one_each):
        findings = ResidualTesting(reading=reading).discover(layout, moments, 0)
        assert all(s.separated == ("I", "J", "K") for s in findings.sets)
        assert {tuple(result) for s in findings.sets for result in s.evidence.tests.values()} == {(0.0, 0, 1.0)}
        strict = ResidualTesting(reading=reading, require_evidence=True)
        assert not any(s.accepted for s in strict.discover(layout, moments, 0).sets)


def test_relabelling_arms_and_levers_changes_nothing() -> None:
    layout, moments = sampled(15, seed=5)
    arms = [dict(TWO.arms[place]) for place in (3, 0, 5, 1, 4, 2)]
    other = Problem("Y", {"A": float, "B": float}, {"I_B": 3, "I_A": 2}, arms=arms, reward=float)
    order = [TWO.index(dict(arm)) for arm in other.arms]
    moved = ArmMoments(moments.counts[order], moments.means[order], moments.scatter[order])
    for how in (ResidualTesting(reading=reading, factor=factor) for reading in READINGS for factor in FACTORS):
        one = how.discover(layout, moments, 90)
        two = how.discover(DesignLayout.of(other), moved, 90)
        for first, second in zip(one.sets, two.sets, strict=True):
            assert set(first.separated) == set(second.separated)
            for (_, r), (_, q) in zip(
                sorted(first.evidence.tests.items()), sorted(second.evidence.tests.items()), strict=True
            ):
                agree(r, q)


def test_one_lever_makes_the_readings_equal() -> None:
    problem = Problem("Y", {"A": float}, {"I": 4}, reward=float)
    layout = DesignLayout.of(problem)
    moments = random_rows(layout, 80, seed=6).moments
    found = [ResidualTesting(reading=reading).discover(layout, moments, 80) for reading in READINGS]
    one, two = (each.arrays["p_value"] for each in found)
    np.testing.assert_array_equal(one, two)


def test_known_sets_need_no_counts() -> None:
    layout = DesignLayout.of(TWO)
    known: Discovery = KnownSets({("B",): ["I_B"], ("A", "B"): ["A", "B"]})
    findings = known.discover(layout, layout.empty(), 3)
    assert separated(findings) == {(): (), ("A",): (), ("B",): ("I_B",), ("A", "B"): ("I_A", "I_B")}


@pytest.mark.parametrize("alpha", [0, 1, -0.1, 1.5, float("nan"), "0.05", None, True])
def test_bad_alpha(alpha: Any) -> None:
    with pytest.raises(OptionError, match=f"alpha={alpha!r}; expected a level between 0 and 1"):
        ResidualTesting(alpha=alpha)


@pytest.mark.parametrize("reading", ["marginal", "loose", None])
def test_bad_reading(reading: Any) -> None:
    with pytest.raises(OptionError, match=f"reading={reading!r}; expected one of conditional, joint"):
        ResidualTesting(reading=reading)


@pytest.mark.parametrize("factor", ["k", None, 2])
def test_bad_factor(factor: Any) -> None:
    with pytest.raises(OptionError, match=f"factor={factor!r}; expected one of environments-1, environments"):
        ResidualTesting(factor=factor)


def test_round_trip_through_json() -> None:
    for alpha, reading, factor, strict in itertools.product((0.01, 0.3), READINGS, FACTORS, (False, True)):
        how: Discovery = ResidualTesting(alpha, reading, factor, strict)
        assert discovery_from_dict(json.loads(json.dumps(how.to_dict()))) == how

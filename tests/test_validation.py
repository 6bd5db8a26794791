"""Bad input in public calls: one sentence of its own, never another library's error."""

from collections.abc import Callable
from typing import Any

import pytest

import causal_bandits as cb
from causal_bandits.errors import CausalBanditsError, ObservationError
from tests.messages import Golden

PROBLEM = cb.Problem("y", {"m": 2}, {"x": ["n", "a"]})
REAL = cb.Problem("y", {"m": float}, {"x": ["n", "a"]}, reward=float)
WORLD = cb.worlds.example_world()
MECHANISMS = {"a": cb.worlds.Mechanism([], [0.5, 0.5]), "y": cb.worlds.Mechanism(["a"], lambda a, b: a)}

CALLS: dict[str, tuple[Callable[[], Any], str]] = {
    "levels beyond counting": (lambda: cb.Problem("y", {"m": 10**9}, {"x": 2}), "'m'"),
    "fractional quantiles": (lambda: cb.bins(quantiles=2.7), "quantiles=2.7"),  # type: ignore[arg-type]
    "quantiles as text": (lambda: cb.bins(quantiles="4"), "quantiles='4'"),  # type: ignore[arg-type]
    "cut points as text": (lambda: cb.bins(["a"]), "'a'"),  # type: ignore[list-item]
    "cut points as number": (lambda: cb.bins(3), "3"),  # type: ignore[arg-type]
    "idle as text": (lambda: cb.Problem("y", {"m": 2}, {"x": 2}, idle="n"), "idle='n'"),  # type: ignore[arg-type]
    "arms as number": (lambda: cb.Problem("y", {"m": 2}, {"x": 2}, arms=3), "arms=3"),  # type: ignore[arg-type]
    "a class as discovery": (lambda: cb.CausalThompsonSampling(PROBLEM, discovery=cb.ASD), "expected DirectTesting"),  # type: ignore[arg-type]
    "text as discovery": (lambda: cb.CausalUCBNormal(REAL, discovery="residual"), "expected DirectTesting"),  # type: ignore[arg-type]
    "no sets": (lambda: cb.KnownSets(None), "None"),  # type: ignore[arg-type]
    "level as text": (lambda: cb.ThompsonSampling(PROBLEM).estimates(level="a"), "level='a'"),  # type: ignore[arg-type]
    "an instance as policy": (lambda: cb.simulate(cb.ThompsonSampling(WORLD.problem), WORLD, 3), "ThompsonSampling"),  # type: ignore[arg-type]
    "no world": (lambda: cb.simulate(cb.ThompsonSampling, None, 3), "expected a world"),  # type: ignore[arg-type]
    "a mechanism of the wrong arity": (
        lambda: cb.DiscreteSCM({"a": 2, "y": 2}, MECHANISMS, {"I": cb.worlds.perfect("a")}, target="y"),
        "'y'",
    ),
    "effects as a list": (
        lambda: cb.DiscreteSCM({"a": 2, "y": 2}, MECHANISMS, {"I": ["n", "s"]}, target="y"),  # type: ignore[dict-item]
        "'I'",
    ),
    "a number beyond floats": (
        lambda: cb.UCBNormal(REAL).tell({}, {"m": 10**400, "y": 1.0}),
        "'m' is 1000",
    ),
    "a number as text": (
        lambda: cb.UCBNormal(REAL).tell({}, {"m": 1.0, "y": "3"}),
        "'3'",
    ),
    "an edge that is none": (lambda: cb.ASD(forbidden=["rubbish"]), "'rubbish'"),
}


@pytest.mark.parametrize("call", CALLS)
def test_one_sentence(call: str, golden: Golden) -> None:
    enter, named = CALLS[call]
    with pytest.raises(CausalBanditsError, match=named) as raised:
        enter()
    golden(raised.value)


def test_a_table_that_contradicts_the_arm_it_is_told_to_be() -> None:
    policy = cb.ThompsonSampling(PROBLEM)
    with pytest.raises(ObservationError, match=r"row 2: 'x' is 'a', but the call says that all rows are from x=n"):
        policy.tell_many({"x": ["n", "a"], "m": [0, 1], "y": [0, 1]}, arm={})
    policy.tell_many({"x": ["n", "n"], "m": [0, 1], "y": [0, 1]}, arm={})
    assert policy.rows == 2


def test_columns_without_an_order_are_refused() -> None:
    with pytest.raises(ObservationError, match="expected a list of values"):
        cb.ThompsonSampling(PROBLEM).tell_many({"m": [0, 1], "y": {0, 1}}, arm={})


def test_an_empty_list_is_a_table_without_rows() -> None:
    policy = cb.ThompsonSampling(PROBLEM)
    policy.tell_many([])
    assert policy.rows == 0


def test_equal_arms_share_the_probability_of_being_best() -> None:
    policy = cb.CausalUCBNormal(REAL, seed=0)
    policy.tell_many([{"x": x, "m": 1.0, "y": 1.0} for x in ("n", "a") for _ in range(20)])
    assert policy.recommend().probability_best == pytest.approx(0.5, abs=0.05)


def test_one_run_has_no_standard_error() -> None:
    assert "±" not in repr(cb.simulate(cb.ThompsonSampling, WORLD, 3))

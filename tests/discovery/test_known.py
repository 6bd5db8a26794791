import json
from typing import Any

import pytest

from causal_bandits import KnownSets, Problem
from causal_bandits.core.data import TableLayout
from causal_bandits.core.discovery import discovery_from_dict
from causal_bandits.errors import CausalBanditsError, OptionError, UnknownVariableError

PROBLEM = Problem("Y", {"A": 2, "B": 2, "cart": 2}, {"I_A": 2, "banner": 2})
LAYOUT = TableLayout.of(PROBLEM, 2)


def found(known: KnownSets) -> dict[tuple[str, ...], tuple[str, ...]]:
    sets = known.discover(LAYOUT, LAYOUT.empty(), 5).sets
    assert all((s.evidence.rows, s.evidence.source, s.evidence.tests) == (5, "told", {}) for s in sets)
    return {s.variables: s.separated for s in sets if s.accepted}


@pytest.mark.parametrize(
    ("told", "separated"),
    [
        ([["cart"]], {("cart",): ("I_A", "banner")}),
        ([["B", "A"], ()], {(): ("I_A", "banner"), ("A", "B"): ("I_A", "banner")}),
        ({("cart",): ["banner"]}, {("cart",): ("banner",)}),
        ({("cart",): "banner"}, {("cart",): ("banner",)}),
        ({("cart",): ["A"]}, {("cart",): ("I_A",)}),
        ({("cart",): [], ("A",): ["I_A", "banner"]}, {("A",): ("I_A", "banner")}),
    ],
)
def test_told_sets_and_their_round_trip(told: Any, separated: dict[tuple[str, ...], tuple[str, ...]]) -> None:
    known = KnownSets(told)
    assert found(known) == separated
    back = discovery_from_dict(json.loads(json.dumps(known.to_dict())))
    assert back == known
    assert hash(back) == hash(known)
    assert repr(back) == repr(known)


def test_equality_is_of_sets() -> None:
    assert KnownSets([["A", "B"], ["cart"]]) == KnownSets([{"cart"}, ("B", "A")])
    assert KnownSets([["A"]]) != KnownSets({("A",): ["banner"]})


@pytest.mark.parametrize(
    ("told", "error", "message"),
    [
        ([["Z"]], UnknownVariableError, "'Z' is not an observed variable; expected some of 'A', 'B', 'cart'"),
        ([["Y"]], UnknownVariableError, "'Y' is not an observed variable"),
        ([["A", "B", "cart"]], OptionError, r"\['A', 'B', 'cart'\] has more than max_size=2 variables"),
        ({("A",): ["C"]}, UnknownVariableError, "'C' is not a lever; expected one of 'I_A', 'banner'"),
    ],
)
def test_sets_that_do_not_fit_the_problem(told: Any, error: type[CausalBanditsError], message: str) -> None:
    with pytest.raises(error, match=message):
        KnownSets(told).discover(LAYOUT, LAYOUT.empty(), 0)


@pytest.mark.parametrize(
    ("told", "message"), [([], "at least one set"), ({}, "at least one set"), (["cart"], r"\[\['cart'\]\]")]
)
def test_sets_that_are_none(told: Any, message: str) -> None:
    with pytest.raises(OptionError, match=message):
        KnownSets(told)

"""Segments: variables that nature sets, among the levers and apart from them."""

import pickle
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import causal_bandits as cb
from causal_bandits.errors import CausalBanditsError

LEVERS: dict[str, Any] = {"banner": ["none", "red"], "discount": ["none", "10%", "20%"]}
SEGMENTS: dict[str, Any] = {"device": ["mobile", "desktop"], "visits": 3}
SHOP = cb.Problem("purchase", {"clicked": 2}, LEVERS, segments=SEGMENTS)


def test_it_is_the_problem_with_further_levers() -> None:
    hand = cb.Problem("purchase", {"clicked": 2}, {**LEVERS, **SEGMENTS})
    assert SHOP.interventions == hand.interventions
    assert SHOP.arms == hand.arms
    np.testing.assert_array_equal(SHOP.arm_codes, hand.arm_codes)
    assert hand != SHOP
    assert [lever.name for lever in SHOP.levers] == ["banner", "discount"]
    assert hand.levers == hand.interventions


def test_every_arm_belongs_to_one_segment() -> None:
    assert len(SHOP.segment_settings) == 6
    for number, segment in enumerate(SHOP.segment_settings):
        mask = SHOP.arms_in(segment)
        assert mask is not None
        np.testing.assert_array_equal(mask, SHOP.arm_segments == number)
        assert [arm.segment for arm, inside in zip(SHOP.arms, mask, strict=True) if inside] == [segment] * 6


def test_arms_are_listed_for_all_segments_or_for_those_they_name() -> None:
    problem = cb.Problem(
        "Y", {}, {"a": 3}, segments={"s": ["x", "y"]}, arms=[{"a": 0}, {"a": 1, "s": "y"}, {"a": 2, "s": "x"}]
    )
    assert [dict(arm) for arm in problem.arms] == [
        {"a": 0, "s": "x"},
        {"a": 0, "s": "y"},
        {"a": 1, "s": "y"},
        {"a": 2, "s": "x"},
    ]
    assert cb.Problem.from_dict(problem.to_dict()) == problem


def test_descriptions_without_segments_are_as_they_were() -> None:
    assert "segments" not in cb.Problem("Y", {}, {"a": 2}).to_dict()
    assert cb.Problem("Y", {}, {"a": 2}, segments={}) == cb.Problem("Y", {}, {"a": 2})
    again = cb.Problem.from_dict(SHOP.to_dict())
    assert again == SHOP
    assert again.to_dict() == SHOP.to_dict()
    assert SHOP.to_dict()["interventions"] == {"banner": ["none", "red"], "discount": ["none", "10%", "20%"]}


def test_arms_print_the_segment_apart() -> None:
    arm = SHOP.arm(banner="red", device="mobile", visits=2)
    assert str(arm) == "do(banner=red | device=mobile, visits=2)"
    assert str(SHOP.arm(device="mobile", visits=2)) == "do(| device=mobile, visits=2)"
    assert str(arm.lever_arm) == "do(banner=red)"
    assert arm.lever_arm == {"banner": "red", "discount": "none"}
    assert (arm.segment, arm.active) == ({"device": "mobile", "visits": 2}, {"banner": "red"})
    again = pickle.loads(pickle.dumps(arm))
    assert (again, str(again), again.segment) == (arm, str(arm), arm.segment)
    assert "segments=['device', 'visits']" in repr(SHOP)
    assert SHOP._repr_html_().count("segment</td>") == 2


BAD: dict[str, tuple[Callable[[], Any], str]] = {
    "also a lever": (lambda: cb.Problem("Y", {}, {"a": 2}, segments={"a": 2}), "both a segment and a lever"),
    "also observed": (lambda: cb.Problem("Y", {"m": 2}, {"a": 2}, segments={"m": 2}), "both a segment and observed"),
    "also the target": (lambda: cb.Problem("Y", {}, {"a": 2}, segments={"Y": 2}), "'Y' is also a segment"),
    "no lever": (lambda: cb.Problem("Y", {}, {}, segments={"s": 2}), "at least one lever"),
    "a number": (lambda: cb.Problem("Y", {}, {"a": 2}, segments={"s": float}), "levers and segments need levels"),
    "one level": (lambda: cb.Problem("Y", {}, {"a": 2}, segments={"s": ["x"]}), "at least 2"),
    "a list": (lambda: cb.Problem("Y", {}, {"a": 2}, segments=["s"]), "expected {name: levels}"),  # type: ignore[arg-type]
    "idle": (lambda: cb.Problem("Y", {}, {"a": 2}, segments={"s": 2}, idle={"s": 1}), "idle names the segment 's'"),
    "one arm": (lambda: cb.Problem("Y", {}, {"a": 2}, segments={"s": 2}, arms=[{"a": 0}]), "one arm in every segment"),
    "no arm": (
        lambda: cb.Problem("Y", {}, {"a": 2}, segments={"s": 2}, arms=[{"a": 0, "s": 0}, {"a": 1, "s": 0}]),
        "no arm is listed for the segment {'s': 1}",
    ),
    "an arm without": (lambda: SHOP.arm(banner="red"), "no value of the segment 'device', 'visits'"),
    "nothing": (lambda: SHOP.segment(None), "the problem has segments"),
    "a word": (lambda: SHOP.segment("mobile"), "expected a mapping"),
    "in part": (lambda: SHOP.segment({"device": "mobile"}), "has no 'visits'"),
    "unknown": (lambda: SHOP.segment({"device": "mobile", "os": 1}), "'os' is not a segment"),
    "unknown value": (lambda: SHOP.segment({"device": "tv", "visits": 0}), "'tv' is not a level of 'device'"),
    "a list as value": (lambda: SHOP.segment({"device": ["mobile"], "visits": 0}), "is not a level of 'device'"),
    "none to have": (lambda: cb.Problem("Y", {}, {"a": 2}).segment({"s": 1}), "has no segments; leave it out"),
}


@pytest.mark.parametrize("what", BAD)
def test_bad_segments_are_one_sentence(what: str) -> None:
    call, words = BAD[what]
    with pytest.raises(CausalBanditsError) as caught:
        call()
    assert words in str(caught.value)
    assert "\n" not in str(caught.value)

"""A world per segment, put together."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import causal_bandits as cb
from causal_bandits.errors import CausalBanditsError, WorldError
from causal_bandits.research.worlds import (
    LoggedWorld,
    hillstrom_spend_world,
    hillstrom_world,
    practice_world,
    random_linear_world,
    segmented_world,
)

DEVICES: dict[str, Any] = {"device": {"mobile": 0.7, "desktop": 0.3}}


def _funnel(segment: dict[str, Any]) -> Any:
    """Mobiles have a hidden intent as well: the worlds have different numbers of nodes."""
    mobile = segment["device"] == "mobile"
    return cb.DiscreteSCM(
        {"click": 2, "buy": 2},
        {
            "click": cb.worlds.Mechanism(["intent"], [[0.8, 0.2], [0.3, 0.7]])
            if mobile
            else cb.worlds.Mechanism([], [0.6, 0.4]),
            "buy": cb.worlds.Mechanism(["click", "intent"], [[[0.9, 0.1], [0.8, 0.2]], [[0.6, 0.4], [0.3, 0.7]]])
            if mobile
            else cb.worlds.Mechanism(["click"], [[0.9, 0.1], [0.5, 0.5]]),
        },
        {"banner": {"none": {}, "red": {"click": cb.worlds.Nudge(1.0)}}},
        target="buy",
        noise={"intent": [0.5, 0.5]} if mobile else None,
    )


def test_arms_draw_from_the_world_of_their_segment() -> None:
    """The same random numbers give the same rows; the world with fewer nodes draws idle ones after the others."""
    world = segmented_world(DEVICES, _funnel)
    for device in ("mobile", "desktop"):
        alone = _funnel({"device": device})
        for arm in alone.problem.arms:
            for seed in range(30):
                ours = world.pull({**arm, "device": device}, np.random.default_rng(seed))
                assert ours == alone.pull(arm, np.random.default_rng(seed))
            at = world.problem.index({**arm, "device": device})
            assert world.means[at] == alone.means[alone.problem.index(arm)]


@pytest.mark.parametrize(
    "make",
    [
        lambda segment: practice_world("mediated", rate=0.3, arms=3, seed=5),
        lambda segment: hillstrom_spend_world(),
        lambda segment: random_linear_world(
            cb.MixedGraph(["A", "Y"], directed=[("A", "Y")]), seed=2 + (segment["device"] == "mobile")
        ),
        lambda segment: LoggedWorld(
            cb.Problem("Y", {"A": float}, {"I": 2}, reward=float),
            {"I": [0, 1, 1], "A": [0.1, 0.2, 0.3], "Y": [1.0, 2.0, 4.0 + (segment["device"] == "mobile")]},
        ),
    ],
    ids=["levels", "revenue", "linear", "logged"],
)
def test_worlds_of_every_kind(make: Callable[[dict[str, Any]], Any]) -> None:
    world = segmented_world(DEVICES, make)
    assert world.problem.segments == ("device",)
    for device in ("mobile", "desktop"):
        alone = make({"device": device})
        for arm in alone.problem.arms:
            ours = world.sample({**arm, "device": device}, 20, np.random.default_rng(1))
            theirs = alone.sample(arm, 20, np.random.default_rng(1))
            np.testing.assert_array_equal(ours.rewards, theirs.rewards)
            np.testing.assert_array_equal(ours.codes, theirs.codes)
            np.testing.assert_array_equal(ours.raw, theirs.raw)


def test_segments_are_drawn_with_their_probabilities() -> None:
    """Null: P(mobile) = .7 and P(new) = .2, independent. 4,000 draws have standard errors of at most .008; four of them
    are a false alarm in 1 of 4,000 tests of four cells. Seed 1."""
    world = segmented_world(
        {**DEVICES, "visitor": {"new": 0.2, "old": 0.8}},
        lambda segment: practice_world("mediated", rate=0.3, arms=3, seed=5),
    )
    np.testing.assert_allclose(world.segment_chances, [0.14, 0.56, 0.06, 0.24])
    rng = np.random.default_rng(1)
    drawn = [tuple(world.draw_segment(rng).values()) for _ in range(4000)]
    for segment, chance in zip(world.problem.segment_settings, world.segment_chances, strict=True):
        assert abs(drawn.count(tuple(segment.values())) / 4000 - chance) < 4 * np.sqrt(chance * (1 - chance) / 4000)


BAD: dict[str, tuple[Callable[[], Any], str]] = {
    "no mapping": (lambda: segmented_world(["device"], _funnel), "segment -> level -> probability"),  # type: ignore[arg-type]
    "no function": (lambda: segmented_world(DEVICES, hillstrom_world()), "a function"),  # type: ignore[arg-type]
    "no world": (lambda: segmented_world(DEVICES, lambda segment: 3), "expected a world"),  # type: ignore[arg-type,return-value]
    "other problems": (
        lambda: segmented_world(
            DEVICES, lambda s: practice_world("mediated", rate=0.3, arms=3 + 3 * (s["device"] == "mobile"), seed=1)
        ),
        "different problems",
    ),
    "chances": (lambda: segmented_world({"device": {"mobile": 0.7, "desktop": 0.7}}, _funnel), "sum to 1"),
    "a lever": (
        lambda: segmented_world({"banner": {"none": 0.7, "red": 0.3}}, lambda s: _funnel({"device": "x"})),
        "lever",
    ),
}


@pytest.mark.parametrize("what", BAD)
def test_bad_worlds_are_one_sentence(what: str) -> None:
    call, words = BAD[what]
    with pytest.raises(CausalBanditsError, match=words) as caught:
        call()
    assert "\n" not in str(caught.value)


def test_chances_belong_to_a_world() -> None:
    with pytest.raises(WorldError, match="one each, which sum to 1"):
        hillstrom_world().set_segment_chances([0.5, 0.5])

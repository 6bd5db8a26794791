"""A policy with segments is the policy of the problem with a further lever, asked with a mask of arms."""

from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import causal_bandits as cb
from causal_bandits.core.policies import POLICIES, Recommendations
from causal_bandits.errors import CausalBanditsError, ObservationError, OptionError, UnknownArmError, UnknownLevelError

from .cases import full_state

LEVERS: dict[str, Any] = {"banner": ["none", "red", "blue"], "discount": ["none", "10%"]}
DEVICES: dict[str, Any] = {"device": ["mobile", "desktop"]}
SHOP = cb.Problem("purchase", {"clicked": 2}, LEVERS, segments=DEVICES)
HAND = cb.Problem("purchase", {"clicked": 2}, {**LEVERS, **DEVICES})
REAL = cb.Problem("spend", {"seconds": float}, LEVERS, segments=DEVICES, reward=float)
REAL_HAND = cb.Problem("spend", {"seconds": float}, {**LEVERS, **DEVICES}, reward=float)


def _outcome(problem: cb.Problem, arm: cb.Arm, rng: np.random.Generator) -> dict[str, Any]:
    """Red suits mobiles, blue suits desktops; the reward follows the mediator."""
    suits = (arm["banner"], arm["device"]) in (("red", "mobile"), ("blue", "desktop"))
    if problem.reward_is_real:
        seconds = float(rng.normal(1.0 + suits))
        return {"seconds": seconds, "spend": seconds + float(rng.normal())}
    clicked = int(rng.random() < (0.6 if suits else 0.3))
    return {"clicked": clicked, "purchase": int(rng.random() < 0.1 + 0.4 * clicked)}


def _segments(rounds: int) -> list[dict[str, str]]:
    return [{"device": "mobile" if draw < 0.6 else "desktop"} for draw in np.random.default_rng(5).random(rounds)]


def _played(policy: cb.policies.Policy[Any], rounds: int) -> list[int]:
    rng, arms = np.random.default_rng(6), []
    for segment in _segments(rounds):
        arm = policy.ask(segment=segment)
        assert arm.segment == segment
        policy.tell(arm, _outcome(policy.problem, arm, rng))
        arms.append(policy.problem.index(arm))
    return arms


def _by_hand(policy: cb.policies.Policy[Any], rounds: int) -> list[int]:
    """The further lever is set by a mask."""
    rng, arms, problem = np.random.default_rng(6), [], policy.problem
    for segment in _segments(rounds):
        mask = np.array([arm["device"] == segment["device"] for arm in problem.arms])
        number = int(policy.choose(1, policy.rng, among=mask)[0])
        policy.tell(problem.arms[number], _outcome(problem, problem.arms[number], rng))
        arms.append(number)
    return arms


@pytest.mark.parametrize("name", ["ts", "causal-ts", "ucb1", "gaussian-ts"])
def test_it_equals_the_hand_made_problem(name: str) -> None:
    real = POLICIES[name].numbers is float
    make: Any = partial(POLICIES[name], seed=4)
    ours, hand = make(REAL if real else SHOP), make(REAL_HAND if real else HAND)
    rounds = 60 if real else 120
    assert _played(ours, rounds) == _by_hand(hand, rounds)
    mine, theirs = full_state(ours), full_state(hand)
    assert mine == theirs


def test_restricting_by_hand_gives_the_same_recommendation_and_estimates() -> None:
    ours, hand = cb.ThompsonSampling(SHOP, seed=4), cb.ThompsonSampling(HAND, seed=4)
    _played(ours, 200), _by_hand(hand, 200)
    for device in ("mobile", "desktop"):
        hand.restrict([arm for arm in HAND.arms if arm["device"] == device])
        found = ours.recommend(segment={"device": device})
        assert found == hand.recommend()
        assert found.segment == {"device": device}
        rows = [row for row in hand.estimates() if row.arm["device"] == device]
        assert [(row.arm, row.mean, row.low) for row in ours.estimates(segment={"device": device})] == [
            (row.arm, row.mean, row.low) for row in rows
        ]


def test_a_recommendation_for_each_segment() -> None:
    policy = cb.SafePolicy(SHOP, seed=4)
    _played(policy, 600)
    found = policy.recommend()
    assert isinstance(found, Recommendations)
    assert [best.segment["device"] for best in found] == ["mobile", "desktop"]
    assert [best.arm["banner"] for best in found] == ["red", "blue"]
    assert repr(found).splitlines()[0].startswith("banner=red")
    assert found.to_frame()["device"].to_list() == ["mobile", "desktop"]
    assert found[0] == policy.recommend(segment={"device": "mobile"})
    assert "device=desktop" in found._repr_html_()
    frame = policy.estimates().to_frame()
    assert frame.columns[:2] == ["arm", "device"]
    assert frame.filter(pl.col("device") == "mobile").height == 6
    assert len(policy.ask(3, segment={"device": "mobile"})) == 3


def test_what_is_alike_in_all_segments_is_learnt_from_all() -> None:
    """A pair of levels that is good together, so that effects of single levels do not say it.

    It was seldom shown at desks, where everything is as good as on mobiles. Where segments are levers like the others,
    the policy knows it less well.
    """
    widths = []
    for problem in (SHOP, HAND):
        policy = cb.SafePolicy(problem, seed=4)
        for arm in problem.arms:
            rows = 20 if arm["device"] == "desktop" and arm["banner"] == "red" else 400
            good = 0.3 if arm["banner"] == "red" and arm["discount"] == "10%" else 0.1
            for ones, reward in ((round(good * rows), 1), (rows - round(good * rows), 0)):
                policy.tell_many([{"clicked": reward, "purchase": reward}] * ones, arm=arm)
        at = problem.index(problem.arm(banner="red", discount="10%", device="desktop"))
        low, high = policy.posterior().interval(0.95)
        assert low[at] < 0.3 < high[at]
        widths.append(high[at] - low[at])
    assert widths[0] < 0.8 * widths[1]


def test_too_many_arms_to_be_alike() -> None:
    """Arms have an effect that is the same in all segments while there are few of them."""
    for arms, levels in ((30, 30 + 2 + 30), (300, 300 + 2)):
        problem = cb.Problem("purchase", {"clicked": 2}, {"banner": arms}, segments=DEVICES)
        assert cb.SafePolicy(problem)._state.levers.design.shape[1] == levels


def test_it_is_saved_and_goes_on(tmp_path: Path) -> None:
    policy = cb.SafePolicy(SHOP, seed=4)
    _played(policy, 40)
    policy.save(tmp_path / "policy.cb")
    again = cb.load_policy(tmp_path / "policy.cb")
    assert again.problem == SHOP
    assert again.ask(20, segment={"device": "mobile"}) == policy.ask(20, segment={"device": "mobile"})


def test_tables_with_segments_and_arms_in_all_of_them() -> None:
    policy, row = cb.ThompsonSampling(SHOP, seed=1), {"clicked": 1, "purchase": 0}
    policy.tell_many([{"banner": "red", "discount": "none", "device": "mobile", **row}])
    policy.tell_many([{"device": "mobile", **row}, {"device": "desktop", **row}], arm={"banner": "blue"})
    policy.tell_many([row], arm={"device": "mobile"})
    frame = policy.history.to_frame()
    assert frame["device"].to_list() == ["mobile", "mobile", "desktop", "mobile"]
    assert frame["banner"].to_list() == ["red", "blue", "blue", "none"]
    policy.restrict([{"banner": "red"}, {"banner": "blue", "device": "desktop"}])
    assert {str(arm) for arm in policy.ask(50, segment={"device": "mobile"})} == {"do(banner=red | device=mobile)"}
    assert len({str(arm) for arm in policy.ask(50, segment={"device": "desktop"})}) == 2
    with pytest.raises(ObservationError, match="no column 'device'"):
        policy.tell_many([row], arm={})
    with pytest.raises(ObservationError, match="'banner' is 'red', but the call says"):
        policy.tell_many([{"device": "mobile", "banner": "red", **row}], arm={})
    with pytest.raises(UnknownArmError, match="no value of the segment 'device'"):
        policy.tell({"banner": "red"}, row)
    policy.restrict([{"banner": "red", "device": "mobile"}])
    with pytest.raises(OptionError, match="no arm may be played in the segment"):
        policy.ask(segment={"device": "desktop"})


def test_bad_segments() -> None:
    policy, plain = cb.ThompsonSampling(SHOP, seed=1), cb.ThompsonSampling(HAND, seed=1)
    with pytest.raises(OptionError, match="the problem has segments"):
        policy.ask()
    with pytest.raises(OptionError, match="has no segments; leave it out"):
        plain.ask(segment={"device": "mobile"})
    for call in (policy.ask, policy.recommend, policy.estimates):
        with pytest.raises(UnknownLevelError, match="'tv' is not a level of 'device'"):
            call(segment={"device": "tv"})


def test_every_policy_plays_segments_or_says_why_not() -> None:
    """In one sentence, before anything is played."""
    refused = {}
    for name, kind in POLICIES.items():
        make: Any = kind
        try:
            if not kind.needs:
                make(REAL if kind.numbers is float else SHOP, seed=1).ask(segment={"device": "mobile"})
        except CausalBanditsError as error:
            refused[name] = str(error)
    assert "plan over all arms and cannot be restricted" in refused["successive-elimination"]
    assert not {"safe", "ts", "causal-ts", "ucb1", "kl-ucb", "gaussian-ts", "main-effects-ts"} & set(refused)
    assert not any("\n" in sentence for sentence in refused.values())

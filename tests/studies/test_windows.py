"""Reward windows and rows that wait for their reward."""

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import causal_bandits as cb
from causal_bandits.errors import DecisionClosedError, ObservationError, OptionError, StudyExistsError
from causal_bandits.research.comparators import UCB1

from .cases import SHOP, answer, fingerprint, rebuilt

WEEK = 7 * 24 * 3600.0


class Clock:
    """What the study takes for the time."""

    def __init__(self) -> None:
        self.now = 1e9

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


def make(folder: Path, clock: Clock, **options: Any) -> cb.Study:
    study = cb.Study.create("s", SHOP, storage=f"sqlite:///{folder}/s.db", seed=1, **options)
    study._session.clock = clock
    return study


def early(study: cb.Study, decision: Any) -> dict[str, Any]:
    seen = answer(SHOP, decision)
    del seen["purchase"]
    study.tell(decision, seen)
    return seen


def waiting(study: cb.Study) -> int:
    return study._session.read(lambda state: len(state.policy.history.pending))


def rows(study: cb.Study) -> int:
    return study._session.read(lambda state: state.policy.rows)


def test_rewards_count_when_the_window_has_closed(tmp_path: Path, clock: Clock) -> None:
    study = make(tmp_path, clock, reward_window=WEEK)
    made = study.ask(4)
    for decision in made[:3]:
        early(study, decision)
    study.tell(made[0], reward=1)  # a purchase on the first day
    assert (rows(study), waiting(study)) == (0, 3)
    clock.now += WEEK
    study.ask()
    assert (rows(study), waiting(study)) == (3, 0)  # all that were served, at once
    frame = study.to_frame()
    assert frame["purchase"].to_list() == [1, 0, 0, None, None]
    assert frame["status"].to_list() == ["told", "told", "told", "open", "open"]
    assert fingerprint(study) == fingerprint(rebuilt(study))


def test_every_read_counts_the_windows_that_have_closed_by_now(tmp_path: Path, clock: Clock) -> None:
    study = make(tmp_path, clock, reward_window=WEEK)
    made = study.ask(4)
    for decision in made[:3]:
        early(study, decision)
    study.tell(made[0], reward=1)
    assert study.describe()["pending"]["rows"] == 3
    before = fingerprint(study)
    clock.now += WEEK
    newest = study.newest
    assert (rows(study), waiting(study)) == (3, 0)
    assert study.to_frame()["purchase"].to_list() == [1, 0, 0, None]
    assert study.decision(2)["status"] == "told"
    about = study.describe()
    assert (about["rows"], about["pending"]["rows"], about["decisions"]["told"]) == (3, 0, 3)
    assert sum(each.own_rows for each in study.estimates()) == 3
    assert study.newest == newest  # reads add no events
    assert fingerprint(study) == before
    study.ask()  # a write does
    assert rows(study) == 3
    assert fingerprint(study) == fingerprint(rebuilt(study))
    clock.now += WEEK
    early(study, study.ask())
    clock.now += WEEK - 1
    assert (rows(study), waiting(study)) == (3, 1)
    clock.now += 1
    assert (rows(study), waiting(study)) == (4, 0)
    clock.now -= 60  # a clock that is set back opens no window again
    assert (rows(study), waiting(study)) == (4, 0)


def test_a_final_reward_counts_at_once(tmp_path: Path, clock: Clock) -> None:
    study = make(tmp_path, clock, reward_window=WEEK)
    one, other = study.ask(2)
    early(study, one)
    study.tell(one, reward=1)
    study.tell(one, final=True)
    study.tell(other, answer(SHOP, other), final=True)
    assert (rows(study), waiting(study)) == (2, 0)


def test_mediators_that_come_after_the_window_complete_the_row(tmp_path: Path, clock: Clock) -> None:
    study = make(tmp_path, clock, reward_window=WEEK)
    with_reward, without = study.ask(2)
    study.tell(with_reward, reward=1)
    clock.now += 2 * WEEK
    early(study, with_reward)
    early(study, without)
    assert study.to_frame()["purchase"].to_list() == [1, 0]
    assert rows(study) == 2


def test_a_reward_after_its_window_is_refused(tmp_path: Path, clock: Clock) -> None:
    study = make(tmp_path, clock, reward_window=60)
    one, other = study.ask(2)
    early(study, one)
    clock.now += 61
    before = fingerprint(study)
    said = "the reward 'purchase' of 1 came after its window of 60 seconds had closed"
    for decision in (one, other):
        with pytest.raises(DecisionClosedError, match=said):
            study.tell(decision, reward=1)
        with pytest.raises(DecisionClosedError, match=f"row 1: decision {decision.id}: {said}"):
            study.tell_many([{"id": decision.id, "purchase": 1}])
    assert fingerprint(study) == before
    study.tell(one, reward=0)  # what the window says anyway
    study.tell(other, answer(SHOP, other) | {"purchase": 1}, final=True)  # a batch that says it is sure
    assert study.to_frame()["purchase"].to_list() == [0, 1]


def test_a_clock_that_is_set_back_closes_no_window_twice(tmp_path: Path, clock: Clock) -> None:
    study = make(tmp_path, clock, reward_window=60)
    clock.now += 1000  # wrong by a quarter of an hour
    early(study, study.ask())
    clock.now -= 1000
    early(study, study.ask())  # ages count from the time of this event at the latest
    clock.now += 60
    study.ask()
    assert (rows(study), waiting(study)) == (2, 0)
    clock.now -= 500
    early(study, study.ask())
    clock.now += 59
    study.ask()
    assert (rows(study), waiting(study)) == (2, 1)
    assert fingerprint(study) == fingerprint(rebuilt(study))


def test_bad_windows_are_refused(tmp_path: Path, clock: Clock) -> None:
    for window in (0, -5, float("inf"), float("nan"), "week"):
        with pytest.raises(OptionError, match=r"reward_window=.*expected seconds above 0, or a duration such as 14d"):
            make(tmp_path, clock, reward_window=window)
    with pytest.raises(OptionError, match=r"expire_after \(10\.0 seconds\) is not longer than reward_window \(60\.0"):
        make(tmp_path, clock, reward_window=60, expire_after=10)
    make(tmp_path, clock, reward_window=60)
    make(tmp_path, clock, reward_window="1m")
    with pytest.raises(StudyExistsError, match="with another reward_window"):
        make(tmp_path, clock, reward_window=61)


def test_a_closed_row_takes_no_reward(tmp_path: Path, clock: Clock) -> None:
    study = make(tmp_path, clock, expire_after=100)
    one, other = study.ask(2)
    early(study, one)
    early(study, other)
    study.abandon(one)
    clock.now += 101
    study.ask()
    assert (rows(study), waiting(study)) == (0, 0)
    for decision, status in ((one, "abandoned"), (other, "expired")):
        with pytest.raises(DecisionClosedError, match=f"is {status}; it takes no more outcomes"):
            study.tell(decision, reward=1)


def test_no_reward_expires_while_its_window_is_open(tmp_path: Path, clock: Clock) -> None:
    study = make(tmp_path, clock, reward_window=60)
    one, other = study.ask(2)
    early(study, one)
    study.tell(one, reward=1)
    early(study, other)
    clock.now += 30
    assert study.expire(10) == [2]
    clock.now += 30
    study.ask()
    assert study.to_frame()["purchase"].to_list() == [1, None, None]


def test_an_added_arm_keeps_what_waits(tmp_path: Path, clock: Clock) -> None:
    study = make(tmp_path, clock)
    made = study.ask(6)
    for decision in made:
        early(study, decision)
    study.tell(made[1], reward=1)
    study.add_arm({"banner": "green"}, new_levels=True)
    assert (rows(study), waiting(study)) == (1, 5)
    for decision in made[2:]:
        study.tell(decision, reward=0)
    assert (rows(study), waiting(study)) == (5, 1)
    assert fingerprint(study) == fingerprint(rebuilt(study))


def test_studies_and_policies_that_wait_for_whole_rows(tmp_path: Path, clock: Clock) -> None:
    """A study from before, and a comparator: the row waits, and nothing else changes."""
    study = make(tmp_path, clock, policy=UCB1(SHOP))
    decision = study.ask()
    early(study, decision)
    assert waiting(study) == 0
    assert study.describe()["pending"] == {"rows": 1, "known": 0, "window": None, "used": False, "worth": 0.0}
    study.tell(decision, reward=1)
    assert rows(study) == 1


def test_what_waits_is_said(tmp_path: Path, clock: Clock) -> None:
    study = make(tmp_path, clock, reward_window=WEEK)
    rng = np.random.default_rng(0)
    frame = [{**SHOP.arms[0], **answer(SHOP, cb.studies.Decision(n, SHOP.arms[0], None, study))} for n in range(200)]  # type: ignore[arg-type]
    study.import_rows(frame)
    for decision in study.ask(30):
        early(study, decision)
        if rng.random() < 0.2:
            study.tell(decision, reward=1)
    about = study.describe(history=True)
    assert about["pending"]["rows"] == 30
    assert 0 < about["pending"]["known"] < 30
    assert sum(arm["pending_rows"] for arm in about["arms"]) == 30
    told = [study.explain(decision) for decision in study.ask(100)[::5]]
    last = next(each for each in told if each.estimate.pending_rows > 0)
    assert re.search("rows? of this arm waited for (its|their) reward", str(last))


def test_a_reward_needs_its_decision(tmp_path: Path, clock: Clock) -> None:
    study = make(tmp_path, clock, reward_window=60)
    decision = study.ask()
    early(study, decision)
    with pytest.raises(ObservationError, match="has no reward 'purchase' yet"):
        study.tell(decision, final=True)


RATED = cb.Problem("rating", {"visit": 2}, {"page": 2}, reward={"levels": ["bad", "good"], "values": [1, 5]})


def test_ordered_levels_wait_like_other_rewards(tmp_path: Path) -> None:
    """No level is worth 0, which is what a row that waits is stored with."""
    with pytest.raises(OptionError, match="leave the window out"):
        cb.Study.create("s", RATED, storage=f"sqlite:///{tmp_path}/s.db", reward_window=WEEK)
    study = cb.Study.create("s", RATED, storage=f"sqlite:///{tmp_path}/s.db", seed=1)
    study.import_rows({"page": [0, 1], "visit": [0, 1], "rating": ["bad", "good"]})
    decision = study.ask()
    study.tell(decision, {"visit": 1})
    again = cb.Study.load("s", storage=f"sqlite:///{tmp_path}/s.db")
    again.tell(decision, reward="good")
    assert again.to_frame()["rating"].to_list()[-1] == "good"
    policy = cb.preset("safe", RATED, seed=0)
    policy.tell({"page": 1}, {"visit": 1})
    policy.save(tmp_path / "waits.npz")
    loaded = cb.load_policy(tmp_path / "waits.npz")
    loaded.tell(loaded.pending()[0], reward="bad")
    policy.tell(policy.pending()[0], reward="bad")
    assert list(loaded.estimates()) == list(policy.estimates())

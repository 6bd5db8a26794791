"""Studies with segments: asking in one, arms that come and go in all of them, new levels while running."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import causal_bandits as cb
from causal_bandits.errors import (
    ConflictError,
    ObservationError,
    OptionError,
    ProblemError,
    UnknownLevelError,
    UnknownVariableError,
)
from causal_bandits.product.studies.evaluation import Record, direct_mean
from tests.command_line import exit_code

from .cases import fingerprint, rebuilt

LEVERS: dict[str, Any] = {"banner": ["none", "red", "blue"], "discount": ["none", "10%"]}
SHOP = cb.Problem("purchase", {"clicked": 2}, LEVERS, segments={"device": ["mobile", "desktop"]})
MOBILE, DESKTOP, TABLET = ({"device": level} for level in ("mobile", "desktop", "tablet"))


def _play(study: cb.Study, rounds: int) -> None:
    for place in range(rounds):
        decision = study.ask(segment=MOBILE if place % 3 else DESKTOP)
        rng = np.random.default_rng(decision.id)
        suits = (decision.arm["banner"] == "red") == (decision.segment == MOBILE)
        clicked = int(rng.random() < (0.6 if suits else 0.3))
        study.tell(decision, {"clicked": clicked}, reward=int(rng.random() < 0.1 + 0.4 * clicked))


def test_asking_telling_and_reading(sqlite: str, tmp_path: Path) -> None:
    study = cb.Study.create("shop", SHOP, storage=sqlite, seed=1)
    _play(study, 60)
    decision = study.ask(segment=MOBILE, key="one")
    assert decision.segment == MOBILE
    assert set(decision.arm) == {"banner", "discount"}
    assert "device=mobile" in repr(decision)
    assert study.ask(segment=MOBILE, key="one") == decision
    with pytest.raises(ConflictError, match="different ask"):
        study.ask(segment=DESKTOP, key="one")
    assert 0 <= decision.propensity <= 1
    told = study.explain(decision)
    assert told.arm.segment == MOBILE
    assert all(view.propensity == 0 for view in told.arms if view.arm.segment == DESKTOP)
    frame = study.to_frame()
    assert frame["device"].to_list()[:3] == ["desktop", "mobile", "mobile"]
    everywhere: Any = study.recommend()
    assert [best.segment for best in everywhere] == [MOBILE, DESKTOP]
    assert study.recommend(segment=DESKTOP).segment == DESKTOP
    advised: Any = study.advice()
    assert [each.segment for each in advised] == [MOBILE, DESKTOP]
    assert str(advised[1]) == str(study.advice(segment=DESKTOP))
    assert {row.arm["device"] for row in study.estimates(segment=DESKTOP)} == {"desktop"}
    about = study.describe()
    assert (about["interventions"], about["segments"]) == (["banner", "discount"], ["device"])
    assert about["recommendation"] is None
    assert [row["segment"] for row in about["recommendations"]] == [MOBILE, DESKTOP]
    page = study.report(tmp_path / "page.html").read_text()
    assert "device=desktop" in page
    assert page.count("leads and is the best arm") == 2
    assert fingerprint(rebuilt(study)) == fingerprint(study)


def test_the_same_decisions_as_the_hand_made_study(sqlite: str) -> None:
    """With a further lever, and `arms` as the list of those that have its level."""
    ours = cb.Study.create("ours", SHOP, storage=sqlite, seed=7, policy="ts")
    hand_made = cb.Problem("purchase", {"clicked": 2}, {**LEVERS, "device": ["mobile", "desktop"]})
    hand = cb.Study.create("hand", hand_made, storage=sqlite, seed=7, policy="ts")
    for place in range(40):
        segment = MOBILE if place % 3 else DESKTOP
        mine = ours.ask(segment=segment)
        theirs = hand.ask(arms=[arm for arm in hand_made.arms if arm["device"] == segment["device"]])
        assert {**mine.arm, **mine.segment} == theirs.arm
        for study in (ours, hand):
            study.tell(place + 1, {"clicked": place % 2}, reward=int(place % 5 == 0))


def test_arms_come_and_go_in_all_segments(sqlite: str) -> None:
    study = cb.Study.create("shop", SHOP, storage=sqlite, seed=1)
    assert [str(arm) for arm in study.retire({"banner": "blue"})] == [
        "do(banner=blue | device=mobile)",
        "do(banner=blue | device=desktop)",
    ]
    assert len(study.forbid({"banner": "red", "device": "mobile"})) == 1
    assert len(study.forbid_level("discount", "10%")) == 6
    assert {str(one.arm) for one in study.ask(40, segment=MOBILE)} == {"do()"}
    assert {str(one.arm) for one in study.ask(40, segment=DESKTOP)} == {"do()", "do(banner=red)"}
    with pytest.raises(OptionError, match=r"no arm would be left in the segment \{'device': 'mobile'\}"):
        study.retire({})
    with pytest.raises(OptionError, match="no arm would be left"):
        study.retire_level("device", "mobile")
    assert len(study.allow_level("discount", "10%")) == 6
    made = study.add_arm({"banner": "green"}, new_levels=True)
    assert (str(made), len(study.problem.arms)) == ("do(banner=green)", 14)
    assert study.add_arm({"banner": "green"}) == made
    assert {one.arm["banner"] for one in study.ask(2, segment=DESKTOP, arms=[{"banner": "green"}])} == {"green"}
    with pytest.raises(OptionError, match="retired permanently"):
        study.add_arm({"banner": "blue"})
    with pytest.raises(UnknownLevelError, match="'pink' is not a level of 'banner'"):
        study.add_arm({"banner": "pink"})
    assert fingerprint(rebuilt(study)) == fingerprint(study)


def test_a_new_level_of_a_segment(sqlite: str) -> None:
    """Its arms are those in play elsewhere; what is forbidden there is forbidden here."""
    study = cb.Study.create("shop", SHOP, storage=sqlite, seed=1)
    _play(study, 30)
    study.retire({"banner": "blue"})
    study.forbid({"banner": "red"})
    open_one = study.ask(segment=MOBILE)
    with pytest.raises(UnknownLevelError, match="'tablet' is not a level of 'device'"):
        study.ask(segment=TABLET)
    new = study.add_level("device", "tablet")
    assert [str(arm.lever_arm) for arm in new] == ["do()", "do(discount=10%)", "do(banner=red)"] + [
        f"do(banner={banner}, discount=10%)" for banner in ("red", "blue")
    ]
    assert study.add_level("device", "tablet") == []
    status = {str(row.arm.lever_arm): row.status for row in study.estimates(segment=TABLET)}
    assert status.pop("do(banner=red)") == "forbidden"
    assert set(status.values()) == {"never played"}
    assert study.ask(segment=TABLET).segment == TABLET
    study.tell(open_one, {"clicked": 1}, reward=1)
    assert study.problem.segment_settings == (MOBILE, DESKTOP, TABLET)
    assert fingerprint(rebuilt(study)) == fingerprint(study)


def test_logged_rows(sqlite: str) -> None:
    study = cb.Study.create("shop", SHOP, storage=sqlite, seed=1)
    row = {"clicked": 1, "purchase": 0}
    assert study.import_rows([{"device": "mobile", **row}, {"device": "desktop", **row}], arm={}, key="k") == 2
    assert study.import_rows([{"device": "mobile", **row}, {"device": "desktop", **row}], arm={}, key="k") == 0
    assert study.import_rows([{"banner": "red", "discount": "none", "device": "mobile", **row}]) == 1
    assert sum(row.own_rows for row in study.estimates(segment=MOBILE)) == 2
    assert fingerprint(rebuilt(study)) == fingerprint(study)


def test_bad_segments_change_nothing(sqlite: str) -> None:
    study = cb.Study.create("shop", SHOP, storage=sqlite, seed=1)
    before = fingerprint(study)
    with pytest.raises(OptionError, match="the problem has segments"):
        study.ask()
    with pytest.raises(UnknownVariableError, match="'os' is not a segment"):
        study.ask(segment={"os": "x"})
    with pytest.raises(UnknownLevelError, match="'tv' is not a level of 'device'"):
        study.ask(segment={"device": "tv"})
    assert fingerprint(study) == before
    named = cb.Problem("purchase", {}, LEVERS, segments={"id": 2})
    with pytest.raises(ProblemError, match="'id' cannot be a variable"):
        cb.Study.create("other", named, storage=sqlite)


def test_evaluating_within_segments(sqlite: str) -> None:
    """An arm of all segments is the mix of its arms in each segment, weighed by the decisions there."""
    study = cb.Study.create("shop", SHOP, storage=sqlite, policy="ts", seed=1)
    _play(study, 90)
    packed = study.to_frame()
    settings = packed.select(SHOP.intervention_names).to_dicts()
    arms = np.array([SHOP.arms.index(SHOP.arm(**each)) for each in settings])
    target = np.zeros(len(SHOP.arms))
    for device, share in (("mobile", 2 / 3), ("desktop", 1 / 3)):
        target[SHOP.arms.index(SHOP.arm(banner="red", device=device))] = share
    nothing = np.empty((0, len(target)))
    alone = direct_mean(Record(arms, packed["purchase"].to_numpy().astype(float), nothing, nothing), target, 0.95)
    direct = study.evaluate({"banner": "red"})
    assert direct.mean == alone.mean
    assert direct.method == "direct"
    assert "assumes that arms do not change" in str(direct)
    with pytest.raises(ObservationError, match=r"the doubly robust estimate needs 20; use method='direct'"):
        study.evaluate({"banner": "red"}, method="doubly-robust", draws=50)
    mixed = {arm: 0.5 for arm in SHOP.arms if arm["banner"] == "red" and arm["device"] == "mobile"}
    with pytest.raises(OptionError, match=r"add up to 0 in the segment \{'device': 'desktop'\}"):
        study.evaluate(mixed)
    both = {arm: 0.5 for arm in SHOP.arms if arm["banner"] == "red"}
    mix = study.evaluate(both)
    assert (mix.method, mix.decisions) == ("direct", 90)
    assert study.evaluate(cb.ThompsonSampling(SHOP, seed=1)).decisions == 90


def test_the_command_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    problem, storage = tmp_path / "problem.json", ("--storage", f"sqlite:///{tmp_path}/studies.db")
    described = {"target": "purchase", "observed": {"clicked": 2}, "interventions": {"banner": ["none", "red"]}}
    problem.write_text(json.dumps({**described, "segments": {"device": ["mobile", "desktop"]}}))

    def study(*arguments: str, fails: bool = False) -> str:
        code = exit_code(["study", *arguments, *storage], monkeypatch)
        assert bool(code) == fails
        said = capsys.readouterr()
        assert "Traceback" not in said.err
        return said.err if fails else said.out

    study("create", "shop", "--problem", str(problem), "--seed", "1", "--policy", "ts")
    made = json.loads(study("ask", "shop", "--segment", "device=mobile", "--json"))[0]
    assert (made["segment"], list(made["arm"])) == ({"device": "mobile"}, ["banner"])
    study("tell", "shop", "1", "-m", "clicked=1", "--reward", "1")
    assert "pass segment=" in study("ask", "shop", fails=True)
    assert "'tv' is not a level of 'device'" in study("ask", "shop", "--segment", "device=tv", fails=True)
    assert "2 arms added" in study("arms", "add-level", "shop", "device", "tablet")
    shown = study("show", "shop")
    assert "device=tablet" in shown
    assert shown.count("Keep going") == 3
    assert "3 arms forbidden" in study("forbid", "shop", "banner=red")

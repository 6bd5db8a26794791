"""Guardrails: what the evidence is, what is no longer asked for, and what is said."""

import math
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import causal_bandits as cb
from causal_bandits.core.independence.betting import evidence_above, running_sums
from causal_bandits.errors import CausalBanditsError, ObservationError, OptionError
from causal_bandits.product.studies.answers import estimates, recommend
from causal_bandits.product.studies.deciding import breaks, choose, status
from causal_bandits.product.studies.guardrails import is_look
from causal_bandits.product.studies.health import health_of
from causal_bandits.product.studies.state import StudyState, pack, restore
from tests.messages import Golden

from .cases import Unstored, rebuilt

SHOP = cb.Problem("Y", {"refund": 2, "cart": ["empty", "full"], "size": float}, {"I": ["none", "a", "b"]}, reward=float)
SIMPLE = cb.Problem("Y", {"refund": 2, "cart": ["empty", "full"], "visits": [0, 1, 2]}, {"I": ["none", "a", "b"]})


def excluded(problem: cb.Problem, rails: Any, values: dict[str, list[Any]], arms: list[int], **rules: Any) -> list[str]:
    """The guardrails that each arm breaks after the given rows."""
    study = Unstored(problem, guardrails=rails, **rules)
    study.add("imported", {"arms": arms, "seen": values})
    return [breaks(study.state, number) for number in range(len(problem.arms))]


MONEY = cb.Problem("Y", {"A": 2}, {"I": ["none", "a", "b"]}, reward="revenue")
COUNTS = cb.Problem("Y", {"A": 2}, {"I": ["none", "a", "b"]}, reward="count")


def test_twenty_zeros_prove_nothing() -> None:
    """Nor do a thousand, of revenue that 3% of the users bring: the cap is learned from the first thousand values."""
    for rows in (20, 999):
        table: dict[str, list[Any]] = {"A": [0] * rows, "Y": [0.0] * rows}
        assert excluded(MONEY, {"Y": (">=", 1.0)}, table, [1] * rows) == ["", "", ""]
    relative = excluded(MONEY, {"Y": (">=", "0.95 x control")}, {"A": [0] * 40, "Y": [0.0] * 40}, [0, 1] * 20)
    assert relative == ["", "", ""]
    assert excluded(COUNTS, {"Y": (">=", 1.0)}, {"A": [0] * 20, "Y": [0] * 20}, [1] * 20) == ["", "", ""]


def test_relative_guardrails_both_ways() -> None:
    """Arm a has a third of the control's rate, and arm b three times it; differences of 20 standard errors. Seed 3."""
    rng = np.random.default_rng(3)
    arms = rng.integers(3, size=6000)
    refund = (rng.random(6000) < np.array([0.3, 0.1, 0.9])[arms]).astype(int).tolist()
    table = {"refund": refund, "cart": ["full"] * 6000, "visits": [1] * 6000, "Y": refund}
    least, most = {"refund": (">=", "0.95 x control")}, {"refund": ("<=", "1.05*control")}
    assert excluded(SIMPLE, least, table, arms.tolist()) == ["", "refund >= 0.95 x control", ""]
    assert excluded(SIMPLE, most, table, arms.tolist()) == ["", "", "refund <= 1.05 x control"]
    named = excluded(SIMPLE, least, table, arms.tolist(), control="I=b")
    assert named == ["refund >= 0.95 x control", "refund >= 0.95 x control", ""]


def test_relative_guardrails_of_numbers_below_zero_compare_the_means_themselves() -> None:
    """The ends are learned as about -13 and -7, so a scaled mean is no multiple of a scaled mean. Seed 4."""
    rng = np.random.default_rng(4)
    arms = rng.integers(2, size=4000)
    values = rng.normal(-10.0, 1.0, 4000) + np.where(arms == 1, 1.5, 0.0)
    table = {"refund": [0] * 4000, "cart": ["full"] * 4000, "size": values.tolist(), "Y": values.tolist()}
    for rail, broken in ((("<=", "0.95 x control"), True), (("<=", "0.75 x control"), False)):
        study = Unstored(SHOP, policy="gaussian-ts", guardrails={"size": rail})
        study.add("imported", {"arms": arms.tolist(), "seen": table})
        assert bool(study.state.guards.broken(study.state.policy)[0, 1]) is broken


def test_an_arm_once_excluded_stays_excluded() -> None:
    """Ten refunds prove that the limit is broken; two thousand rows without any do not take that back."""
    study = Unstored(SIMPLE, guardrails={"refund": ("<=", 0.05)})
    seen: dict[str, list[Any]] = {
        "refund": [1] * 10 + [0] * 2000,
        "cart": ["full"] * 2010,
        "visits": [0] * 2010,
        "Y": [0] * 2010,
    }
    study.add("imported", {"arms": [1] * 10, "seen": {name: told[:10] for name, told in seen.items()}})
    assert breaks(study.state, 1) == "refund <= 0.05"
    study.add("imported", {"arms": [1] * 2000, "seen": {name: told[10:] for name, told in seen.items()}})
    assert breaks(study.state, 1) == "refund <= 0.05"
    study.add("arms", {"added": [{"I": "c"}]})
    assert breaks(study.state, 1) == "refund <= 0.05"


def test_evidence_is_that_of_the_engine_at_the_looks() -> None:
    """And of all rows together it is the same as one by one."""
    rng = np.random.default_rng(9)
    arms, values = rng.integers(3, size=1500), rng.integers(3, size=1500).astype(float)
    study = Unstored(SIMPLE, guardrails={"visits": ("<=", 0.7)})
    table = {"refund": [0] * 1500, "cart": ["full"] * 1500, "visits": values.astype(int).tolist(), "Y": [0] * 1500}
    study.add("imported", {"arms": arms.tolist(), "seen": table})
    found = study.state.guards.evidence(study.state.policy)[0]
    for arm in range(3):
        own = values[arms == arm] / 2
        looks = [rows for rows in range(1, len(own) + 1) if is_look(rows)]
        sums = running_sums(own, np.zeros(len(own), dtype=np.int64), 1, looks)
        slow = float(evidence_above(sums, 0.35).max())
        assert slow > 2
        assert found[arm] == pytest.approx(slow, rel=1e-9)


def test_learned_ends_are_said_and_the_first_values_are_no_evidence() -> None:
    """All of the first 1,000 values are far above the limit; the evidence starts with the next. Seed 11."""
    rng = np.random.default_rng(11)
    study = Unstored(MONEY, guardrails={"Y": ("<=", 5.0)})
    rows = {"A": [0] * 1000, "Y": rng.lognormal(3.0, 0.5, 1000).tolist()}
    study.add("imported", {"arms": [1] * 1000, "seen": rows})
    (_, row, _) = study.state.guards.status(study.state.policy)
    high = float(np.quantile(rows["Y"], 0.999))
    assert row.clipped is not None
    assert row.clipped == pytest.approx((0.0, high))
    assert (row.rows, row.evidence, row.broken) == (1000, 1.0, False)
    assert math.isnan(row.low)
    study.add("imported", {"arms": [1] * 30, "seen": {"A": [0] * 30, "Y": [1e6] * 30}})
    (_, row, _) = study.state.guards.status(study.state.policy)
    assert row.broken
    assert row.mean == pytest.approx((np.minimum(rows["Y"], high).sum() + 30 * high) / 1030)
    assert row.low > 5
    assert f"clipped to 0 to {high:.3g}"[:15] in str(row)
    again = restore(study.settings, pack(study.state))
    assert str(again.guards.status(again.policy)) == str(study.state.guards.status(study.state.policy))


def idle(problem: cb.Problem, rails: Any, rewards: list[Any]) -> tuple[bool, str]:
    """Whether an arm is excluded after these rewards, and what health says of the guardrails."""
    study, rows = Unstored(problem, guardrails=rails), len(rewards)
    study.add("imported", {"arms": [1] * rows, "seen": {"A": [0] * rows, "Y": rewards}})
    (check,) = (check for check in health_of(study.state) if check.code == "idle-guardrails")
    assert check.alarm
    return breaks(study.state, 1) != "", check.says.partition(": ")[2]


def test_nothing_is_claimed_where_the_first_values_show_no_range() -> None:
    """One buyer of 500 in the first thousand: the cap is below the limit, so clipped values are all below it."""
    rare = [500.0] + [0.0] * 5000
    says = "the limit of Y >= 2 is outside the range of its first values, 0 to 0.500; declare its range"
    assert idle(MONEY, {"Y": (">=", 2.0)}, rare) == (False, says)
    says = "the first 1,000 values of 'Y' are equal, so it has no range; declare its range"
    assert idle(MONEY, {"Y": (">=", 2.0)}, [0.0] * 3000) == (False, says)


def test_clipping_alone_excludes_no_arm() -> None:
    """The mean is 2, of which values above the learned end bring a half; an arm with that mean keeps `>= 1.9`."""
    rewards = ([1.0] * 999 + [1001.0]) * 6
    study = Unstored(MONEY, guardrails={"Y": (">=", 1.9)})
    study.add("imported", {"arms": [1] * 6000, "seen": {"A": [0] * 6000, "Y": rewards}})
    (_, row, _) = study.state.guards.status(study.state.policy)
    assert row.mean < 1.01
    assert not row.broken


def test_a_declared_cap_of_the_reward_needs_no_first_values() -> None:
    problem = cb.Problem("Y", {"A": 2}, {"I": ["none", "a", "b"]}, reward="revenue", cap=100)
    table: dict[str, list[Any]] = {"A": [0] * 300, "Y": [0.0] * 300}
    assert excluded(problem, {"Y": (">=", 5.0)}, table, [1] * 300) == ["", "Y >= 5", ""]


def test_declared_ends_of_a_metric() -> None:
    study = Unstored(SIMPLE, metrics={"minutes": (0, 60)}, guardrails={"minutes": ("<=", 5)})
    study.add("asked", {"first": 1, "arms": [1] * 40})
    for number in range(1, 41):
        study.tell(number, {"minutes": 30})
    assert breaks(study.state, 1) == "minutes <= 5"
    with pytest.raises(ObservationError, match="'minutes' is 75; expected its declared range, 0 to 60"):
        study.tell(1, {"minutes": 75})


def test_an_arm_that_breaks_a_guardrail_is_not_asked_for_and_it_is_said() -> None:
    study = Unstored(SIMPLE, guardrails={"refund": ("<=", 0.1), "cart=empty": ("<=", 0.9)}, min_share=0.1)
    for _ in range(30):
        for arm in study.ask(10):
            number = min(study.state.decisions.open)
            seen = {"refund": int(arm == 1 and number % 2), "cart": "full", "visits": 0}
            study.tell(number, {**seen, "Y": int(arm == 1)})
    assert status(study.state, 1) == "breaks refund <= 0.1"
    assert 1 not in choose(study.state, 100, None)
    assert recommend(study.state).arm != SIMPLE.arms[1]
    assert [row.status for row in estimates(study.state, 0.95)] == ["active", "breaks refund <= 0.1", "active"]
    found = study.state.guards.status(study.state.policy)
    assert [str(each).partition(":")[0] for each in found.broken] == ["I=a breaks refund <= 0.1"]
    assert found.to_frame().height == 6
    worst = found[1]
    own = study.state.policy.history.rows
    assert worst.rows == int((own.arms == 1).sum())
    assert worst.mean == pytest.approx(own.codes[own.arms == 1, 0].mean())
    with pytest.raises(OptionError, match="none of the given arms can be played"):
        study.ask(among=[1])


def test_the_control_is_played_whatever_it_breaks_and_without_one_it_is_said() -> None:
    no_idle = cb.Problem("Y", {"refund": 2}, {"I": ["none", "a", "b"]}, arms=[{"I": "a"}, {"I": "b"}])
    rails = {"refund": ("<=", 0.05)}
    named, nameless = Unstored(no_idle, guardrails=rails, control="I=b"), Unstored(no_idle, guardrails=rails)
    for study in (named, nameless):
        study.add("imported", {"arms": [0, 1] * 20, "seen": {"refund": [1] * 40, "Y": [1] * 40}})
    with pytest.raises(OptionError, match="every arm breaks a guardrail and the study has no control"):
        nameless.ask()
    assert set(choose(named.state, 50, None)) == {1}
    assert status(named.state, 1) == "breaks refund <= 0.05; still played, as the control"
    with pytest.raises(OptionError, match="no control"):
        recommend(nameless.state)


def test_rewards_numbers_and_levels_can_be_guarded() -> None:
    rails: Any = {"Y": (">=", 1.0), "size": ("<=", 3.0), ("cart", "empty"): ("<=", 0.5), "refund": ("<=", 0)}
    study = Unstored(SHOP, policy="gaussian-ts", guardrails=rails)
    rng = np.random.default_rng(1)
    arms = np.arange(1600) % 2
    table: dict[str, Any] = {
        "refund": [0] * 1600,
        "cart": np.where(arms == 0, "full", "empty").tolist(),
        "size": rng.normal(2 + 3 * arms, 1).tolist(),
        "Y": rng.normal(2 - 2 * arms, 1).tolist(),
    }
    study.add("imported", {"arms": arms.tolist(), "seen": table})
    broken = study.state.guards.broken(study.state.policy)
    assert broken.T.tolist() == [[False] * 4, [True, True, True, False], [False] * 4]


RAILS: Any = {"refund": ("<=", 0.1), "cart=empty": ("<=", 0.9), "visits": ("<=", 1.5), "Y": (">=", 0.01)}


def counted(state: StudyState) -> dict[str, Any]:
    """The sums of guardrails, to the bit."""
    state.guards.evidence(state.policy)
    return {name: array.tolist() for name, array in state.guards.arrays().items()}


def test_observed_variables_count_before_the_reward_is_known() -> None:
    study = Unstored(SIMPLE, guardrails=RAILS, min_share=0.1)
    study.add("asked", {"first": 1, "arms": [1] * 40})
    for number in range(1, 41):
        study.tell(number, {"refund": number % 2})
    assert status(study.state, 1) == "breaks refund <= 0.1"
    assert study.state.guards.status(study.state.policy)[1].rows == 40
    before = counted(study.state)["guard0_sums"]
    for number in range(1, 41):
        study.tell(number, {"cart": "full", "visits": 1, "Y": 1})
    assert counted(study.state)["guard0_sums"] == before  # nothing twice


@settings(max_examples=25)
@given(st.data())
def test_what_was_told_is_counted_once_however_it_came(data: st.DataObject) -> None:
    """Parts in any order, abandoned decisions, imported rows and a new arm: the sums over all values that were told."""
    study, slow = Unstored(SIMPLE, guardrails=RAILS), np.zeros((4, 2, 4))
    study.add("asked", {"first": 1, "arms": [0, 1, 2, 1, 0, 1]})
    arms = study.state.decisions.column("arm").tolist()
    reads: list[tuple[str, Any]] = [("refund", float), ("cart", "empty".__eq__), ("visits", float), ("Y", float)]

    def count(arm: int, seen: dict[str, Any], names: list[str]) -> None:
        for place, (name, read) in enumerate(reads):
            if name in names and seen[name] is not None:
                slow[place, :, arm] += np.array([1.0, read(seen[name])])

    for number in data.draw(st.permutations(range(1, 7))):
        seen = {
            "refund": data.draw(st.sampled_from([0, 1, None])),
            "cart": data.draw(st.sampled_from(["empty", "full"])),
            "visits": data.draw(st.integers(0, 2)),
            "Y": data.draw(st.integers(0, 1)),
        }
        names = data.draw(st.lists(st.sampled_from(list(seen)), unique=True))
        for name in names:
            study.add("told", {"id": number, "seen": {name: seen[name]}})
        count(arms[number - 1], seen, names)
        if "Y" not in names and data.draw(st.booleans()):
            study.add("abandoned", {"ids": [number]})
        if data.draw(st.booleans()):
            study.add("imported", {"arms": [2], "seen": {name: [told] for name, told in seen.items()}})
            count(2, seen, list(seen))
    study.add("arms", {"added": [{"I": "c"}]})
    study.state.guards.evidence(study.state.policy)
    found = study.state.guards.arrays()
    assert np.array_equal([found[f"guard{index}_sums"][:2] for index in range(4)], slow)


def test_a_study_that_is_opened_again_goes_on_with_what_was_told_early(tmp_path: Path) -> None:
    """From a snapshot, and from its events alone; and the same call creates it again."""
    storage = f"sqlite:///{tmp_path / 'studies.db'}"
    create = partial(cb.Study.create, "late", SIMPLE, storage=storage, policy="ts", seed=3, guardrails=RAILS)
    study = create()
    for decision in study.ask(60):
        study.tell(decision, {"refund": decision.id % 2, "cart": "full"})
    state = study._session.read(lambda state: restore(state.settings, pack(state)))
    sums = counted(state)
    assert sums["guard0_sums"][0] == np.bincount(state.decisions.column("arm")).tolist()
    for other in (study, create(), rebuilt(study)):
        assert other._session.read(counted) == sums
    assert create().ask().arm == SIMPLE.arms[choose(state, 1, None)[0]]


BAD: list[Any] = [
    {"refnd": ("<=", 0.1)},
    {"refund": ("<", 0.1)},
    {"refund": 0.1},
    {"refund": ("<=", "low")},
    {"refund": ("<=", "-1 x control")},
    {"refund": ("<=", "much x control")},
    {"refund": ("<=", math.inf)},
    {"refund": ("<=", 1.0)},
    {"refund": (">=", 1.5)},
    {"cart": ("<=", 0.1)},
    {"cart=half": ("<=", 0.1)},
    ["refund"],
]


@pytest.mark.parametrize("rails", BAD, ids=str)
def test_bad_guardrails_get_one_sentence(rails: Any, golden: Golden) -> None:
    with pytest.raises(CausalBanditsError) as raised:
        Unstored(SIMPLE, guardrails=rails)
    golden(raised.value)


def test_a_relative_guardrail_needs_a_control() -> None:
    no_idle = cb.Problem("Y", {"refund": 2}, {"I": ["none", "a", "b"]}, arms=[{"I": "a"}, {"I": "b"}])
    with pytest.raises(OptionError, match=r"refund <= 1\.1 x control needs a control"):
        Unstored(no_idle, guardrails={"refund": ("<=", "1.1 x control")})


@pytest.mark.parametrize("kind", [(60, 0), (0, math.inf), (1,), "number", 3])
def test_bad_metrics_get_one_sentence(kind: Any) -> None:
    with pytest.raises(OptionError, match=r"metric 'minutes' is .*; expected bool .*, float .* or \(lowest, highest"):
        Unstored(SIMPLE, metrics={"minutes": kind})


def test_a_guarded_metric_that_was_never_reported_is_said() -> None:
    study = Unstored(SIMPLE, metrics={"late": bool}, guardrails={"late": ("<=", 0.1), "refund": ("<=", 0.9)})
    for number in range(1, 101):
        study.ask()
        if number % 25 == 0:
            assert all(check.code != "idle-guardrails" or not check.alarm for check in health_of(study.state))
        study.tell(number, {"refund": 0, "cart": "full", "visits": 1, "Y": 1})
    (check,) = (check for check in health_of(study.state) if check.code == "idle-guardrails")
    assert check.alarm
    assert check.says == (
        "a guardrail excludes no arm after 100 rows: no value of 'late' was reported; report it with tell"
    )
    study.tell(1, {"late": 1})
    assert all(not check.alarm for check in health_of(study.state) if check.code == "idle-guardrails")

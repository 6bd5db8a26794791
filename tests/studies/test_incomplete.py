"""Rows that have their reward but not all their observed variables: they count for what does not need the rest."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import causal_bandits as cb
from causal_bandits.errors import ConflictError, DecisionClosedError
from causal_bandits.product.studies.state import StudyState, pack, restore
from tests.contracts.kinds import NEEDS_ALL_VALUES, fresh, kind_of, policies
from tests.policies.cases import full_state

from .cases import Unstored, fingerprint, rebuilt
from .conftest import new_schema
from .kinds import Studies, inner
from .test_windows import WEEK, Clock

OBSERVED: dict[str, Any] = {"visit": 2, "cart": ["empty", "some"], "call": 2}
KINDS: dict[str, Any] = {"binary": bool, "count": "count", "revenue": "revenue", "real": float}


def problem_of(kind: str) -> cb.Problem:
    return cb.Problem("y", OBSERVED, {"banner": ["none", "red", "blue"]}, reward=KINDS[kind])


def seen_by(number: int, kind: str = "binary") -> dict[str, Any]:
    rng = np.random.default_rng(number)
    visit = int(rng.random() < 0.5)
    bought = int(rng.random() < 0.2 + 0.5 * visit)
    reward = bought if kind == "binary" else bought * int(rng.integers(1, 50))
    return {"visit": visit, "cart": ["empty", "some"][int(rng.integers(2))], "call": int(rng.integers(2)), "y": reward}


def without(seen: dict[str, Any], *names: str) -> dict[str, Any]:
    return {name: value for name, value in seen.items() if name not in names}


def rows_of_sets(study: cb.Study) -> dict[tuple[str, ...], int]:
    def work(state: StudyState) -> dict[tuple[str, ...], int]:
        return dict(zip(state.policy.layout.names, state.policy._rows_seen().tolist(), strict=True))

    return inner(study)._session.read(work)


def mediators(study: cb.Study) -> Any:
    return next(check for check in study.health() if check.code == "missing-mediators")


def test_a_variable_that_is_never_reported_is_named_and_the_rest_is_learnt(studies: Studies) -> None:
    study = studies.create("s", problem_of("binary"), seed=1)
    made = study.ask(300)
    study.tell_many([{"id": each.id, **without(seen_by(each.id), "call")} for each in made])
    assert study.describe()["rows"] == 300
    found = rows_of_sets(study)
    assert {found[names] for names in ((), ("visit",), ("cart",), ("visit", "cart"))} == {300}
    assert {found[names] for names in found if "call" in names} == {0}
    assert sum(each.own_rows for each in study.estimates()) == 300
    check = mediators(study)
    assert check.alarm
    assert not study.health().ok
    assert "300 of 300 rows with a reward wait for 'call', which was never reported" in check.says
    assert study.to_frame()["status"].unique().to_list() == ["told"]
    assert study.decision(1)["outcome"] == without(seen_by(1), "call")


@pytest.mark.parametrize("kind", KINDS)
def test_late_values_give_what_whole_rows_give(tmp_path: Path, kind: str) -> None:
    late, whole = (
        cb.Study.create(name, problem_of(kind), storage=f"sqlite:///{tmp_path}/s.db", seed=1)
        for name in ("late", "whole")
    )
    for study in (late, whole):
        study.ask(80)
    for number in range(1, 81):
        seen = seen_by(number, kind)
        late.tell(number, without(seen, "visit", "call"))
        whole.tell(number, seen)
    for number in range(80, 0, -1):  # in another order than the rewards
        late.tell(number, {"call": seen_by(number, kind)["call"]})
        late.tell(number, {"visit": seen_by(number, kind)["visit"]})
    assert rows_of_sets(late) == rows_of_sets(whole)
    for one, other in zip(late.estimates(), whole.estimates(), strict=True):
        assert one.mean == pytest.approx(other.mean, rel=1e-9)
        assert one.high == pytest.approx(other.high, rel=1e-9)
    assert late.to_frame().drop("asked", "done").equals(whole.to_frame().drop("asked", "done"))
    assert not mediators(late).alarm
    assert late.missing() == dict.fromkeys(OBSERVED, 0)
    assert fingerprint(late) == fingerprint(rebuilt(late))


@pytest.mark.parametrize("kind", KINDS)
def test_snapshots_know_what_is_incomplete(kind: str) -> None:
    study = Unstored(problem_of(kind), policy="safe")
    study.ask(40)
    for number in range(1, 41):
        study.tell(number, without(seen_by(number, kind), "call", "visit"))
    for number in range(19, 0, -1):
        study.tell(number, {"call": seen_by(number)["call"]})
    again = Unstored(problem_of(kind), policy="safe")
    again.state = restore(study.settings, pack(study.state))
    for each in (study, again):
        for number in (3, 30, 7):
            each.tell(number, {"visit": 1})
        each.ask(5)
    assert again.state.incomplete == study.state.incomplete
    assert full_state(again.state.policy) == full_state(study.state.policy)
    assert again.state.decisions.column("arm").tolist() == study.state.decisions.column("arm").tolist()


def test_values_are_checked_as_before(studies: Studies) -> None:
    study = studies.create("s", problem_of("binary"), policy="ts", seed=1)
    study.ask(3)
    study.tell(1, {"visit": 1}, reward=1)
    study.tell(1, {"visit": 1}, reward=1)  # repeated: nothing new
    with pytest.raises(ConflictError, match="'visit' is recorded as 1, and now reported as 0"):
        study.tell(1, {"visit": 0})
    with pytest.raises(DecisionClosedError, match="already has its outcome"):
        study.abandon(1)
    study.tell(1, {"call": None})
    study.tell(1, final=True)
    with pytest.raises(ConflictError, match="'cart' is recorded as missing"):
        study.tell(1, {"cart": "some"})
    assert study.missing() == {"visit": 0, "cart": 1, "call": 1}
    assert study.decision(1)["outcome"] == {"visit": 1, "cart": None, "call": None, "y": 1}


def test_a_policy_that_needs_the_variable_waits_and_says_so(studies: Studies) -> None:
    options = {"separating": ["visit", "call"]}
    study = studies.create("s", problem_of("binary"), policy="hac-ucb", options={**options, "horizon": 500}, seed=1)
    made = study.ask(60)
    study.tell_many([{"id": each.id, **without(seen_by(each.id), "call")} for each in made])
    check = mediators(study)
    assert check.alarm
    assert "60 of 60 rows with a reward wait for 'call'" in check.says
    assert "policy 'hac-ucb' counts no row without 'call'" in check.says
    study.tell_many([{"id": each.id, "call": 1} for each in made])
    assert study.describe()["rows"] == 60
    assert not mediators(study).alarm


def test_a_window_counts_rows_without_all_mediators(tmp_path: Path) -> None:
    clock = Clock()
    study = cb.Study.create(
        "s",
        problem_of("binary"),
        storage=f"sqlite:///{tmp_path}/s.db",
        seed=1,
        reward_window=WEEK,
        expire_after=2 * WEEK,
    )
    study._session.clock = clock
    study.ask(3)
    study.tell(1, {"visit": 1})
    study.tell(2, {"visit": 1}, reward=1)
    clock.now += WEEK
    study.ask()
    assert study.to_frame()["status"].to_list() == ["told", "told", "open", "open"]
    assert study.to_frame()["y"].to_list() == [0, 1, None, None]
    study.tell(1, {"call": 1})
    assert study.decision(1)["outcome"] == {"visit": 1, "call": 1, "y": 0}
    with pytest.raises(DecisionClosedError, match="came after its window"):
        study.tell(1, reward=1)
    assert fingerprint(study) == fingerprint(rebuilt(study))


def test_high_throughput_studies_count_them_too(postgres: str) -> None:
    place = new_schema(postgres)
    fast: dict[str, Any] = {"mode": "high-throughput", "publish_rows": 10**6, "publish_seconds": 1000.0}
    study = cb.Study.create("s", problem_of("count"), storage=place, seed=1, **fast)
    study.ask(50)
    for number in range(1, 51):
        study.tell(number, without(seen_by(number, "count"), "call"))
    assert study.expire(0) == []  # they have their outcome
    with pytest.raises(DecisionClosedError, match="already has its outcome"):
        study.abandon(1)
    study.publish()
    assert study.describe()["rows"] == 50
    assert mediators(study).alarm
    for number in range(1, 51):
        study.tell(number, {"call": seen_by(number)["call"]})
    study.publish()
    assert set(rows_of_sets(study).values()) == {50}
    assert not mediators(study).alarm
    study.close()


@policies(but=NEEDS_ALL_VALUES)
def test_every_policy_counts_late_values(name: str, tmp_path: Path) -> None:
    """As if the rows had been whole, but for what was learned on the way and the last bits of sums."""
    kind, policy, whole = kind_of(name), fresh(name, seed=1), fresh(name, seed=1)
    table = kind.table(40, 3)
    whole.tell_many(table)
    gaps = {**table, "B": [None, *table["B"][1:]], "C": [None if row % 3 else v for row, v in enumerate(table["C"])]}
    policy.tell_many(gaps, missing=True)
    for row in range(40):
        arm = {lever: table[lever][row] for lever in kind.problem.intervention_names}
        seen = {each: table[each][row] for each in (*kind.problem.observed_names, "Y")}
        if gaps["B"][row] is None or gaps["C"][row] is None:
            policy.fill(row, policy.history.encode(arm, seen))
    assert policy.history.missing == dict.fromkeys(kind.problem.observed_names, 0)
    assert policy._rows_seen().tolist() == whole._rows_seen().tolist()
    for one, other in zip(policy.estimates(), whole.estimates(), strict=True):
        assert one.mean == pytest.approx(other.mean, rel=1e-6)
    policy.save(tmp_path / "filled")
    again = type(policy).load(tmp_path / "filled")
    assert full_state(again) == full_state(policy)
    assert again.ask(20) == policy.ask(20)


def test_cut_points_follow_values_that_come_late() -> None:
    problem = cb.Problem("Y", {"A": cb.bins(quantiles=2, after=4)}, {"I": 2})
    policy, whole = (cb.CausalThompsonSampling(problem, seed=0) for _ in range(2))
    values = [1.0, 5.0, 2.0, 3.0, 4.0]
    for place, value in enumerate(values):
        policy.tell({}, {"A": None if place == 1 else value, "Y": 1}, missing=True)
        whole.tell({}, {"A": value, "Y": 1})
    policy.fill(1, policy.history.encode({}, {"A": 5.0, "Y": 1}))
    assert policy.history.cuts == whole.history.cuts == {"A": [2.5]}
    assert policy.history.rows.codes.tolist() == whole.history.rows.codes.tolist()
    assert policy._rows_seen().tolist() == whole._rows_seen().tolist()

"""Replaying many events at once gives what applying them one by one gives, to the bit."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import causal_bandits as cb
from causal_bandits.product.studies import session as sessions
from causal_bandits.product.studies.applying import apply, replay
from causal_bandits.product.studies.state import StudyState
from tests.policies.cases import full_state

from .cases import PLANT, SHOP, answer
from .model import COUNTED

CUT = cb.Problem("purchase", {"time": cb.bins(quantiles=3, after=30), "clicked": 2}, {"banner": 3})
RULES: dict[str, Any] = {"guardrails": {"clicked": ("<=", 0.35)}, "control_share": 0.2, "metrics": {"complaint": bool}}
CASES: dict[str, tuple[cb.Problem, dict[str, Any]]] = {
    "binary": (SHOP, {}),
    "count": (COUNTED, {}),
    "real": (PLANT, {}),
    "cut": (CUT, {}),
    "rules": (SHOP, RULES),
    "paper": (SHOP, {"policy": "paper"}),
    "window": (SHOP, {"reward_window": 5.0}),
}


def seen_by(problem: cb.Problem, decision: Any) -> dict[str, Any]:
    if problem is not CUT:
        return answer(SHOP if problem is COUNTED else problem, decision)
    rng = np.random.default_rng(decision.id)
    return {"time": float(rng.normal()), "clicked": int(rng.integers(2)), "purchase": int(rng.integers(2))}


def play(study: cb.Study, problem: cb.Problem) -> None:
    """Batches and single decisions; outcomes whole, in parts, late, and never."""
    for number in range(60):
        study._session.clock = lambda now=number: 1e9 + now  # type: ignore[misc]
        for decision in study.ask(1 + 5 * (number % 5 == 0)):
            seen = seen_by(problem, decision)
            last = problem.observed_names[-1]
            if decision.id % 7 == 0:
                study.tell(decision, {last: seen.pop(last)})
            if decision.id % 11 == 0:
                study.tell(decision, reward=seen.pop(problem.target))
            if decision.id % 13 == 0:
                study.abandon(decision) if study.decision(decision)["status"] == "open" else None
            else:
                study.tell(decision, seen)
            if "metrics" in study._session.settings.rules and decision.id % 5 == 0:
                study.tell(decision, {"complaint": decision.id % 2}) if decision.id % 13 else None


def known_of(state: StudyState) -> dict[str, Any]:
    columns = {name: state.decisions.column(name).tobytes() for name in ("arm", "row", "seq", "since", "done")}
    guards = {name: np.asarray(array).tobytes() for name, array in state.guards.arrays().items()}
    about = {"seq": state.seq, "parts": state.parts, "incomplete": state.incomplete}
    return {**full_state(state.policy), "rng": None, **columns, **guards, **about, "open": list(state.decisions.open)}


@pytest.mark.parametrize("case", CASES)
def test_replaying_equals_applying(case: str, tmp_path: Path) -> None:
    problem, options = CASES[case]
    study = cb.Study.create("s", problem, storage=f"sqlite:///{tmp_path}/s.db", seed=1, **options)
    play(study, problem)
    session = study._session
    events = session.events(0, 10**6)
    slow = StudyState(session.settings)
    for event in events:
        apply(slow, event)
    for parts in (1, 3):
        quick = StudyState(session.settings)
        for some in np.array_split(np.arange(len(events)), parts):
            replay(quick, [events[place] for place in some])
        assert known_of(quick) == known_of(slow)


def test_older_snapshots_shorten_the_way_to_an_old_decision(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sessions, "SNAPSHOT_EVENTS", 10)
    study = cb.Study.create("s", SHOP, storage=f"sqlite:///{tmp_path}/s.db", policy="ts", seed=1)
    for _ in range(150):
        decision = study.ask()
        study.tell(decision, answer(SHOP, decision))
    session = study._session
    kept = [head.seq for until in range(10, study.newest.sequence, 5) if (head := snapshot_at(study, until))]
    assert len(set(kept)) >= 5
    for asked in (20, 60, 149):
        seq = session.read(lambda state, number=asked: int(state.decisions.column("seq")[number - 1]))  # type: ignore[misc]
        start = snapshot_at(study, seq - 1)
        assert start is not None
        assert seq - start.seq <= 0.5 * seq + 20
        plain = StudyState(session.settings)
        replay(plain, session.events(0, seq - 1))
        assert known_of(session.at(seq)) == known_of(plain)


def snapshot_at(study: cb.Study, until: int) -> Any:
    session = study._session
    found = session.store.read(session.row.id, lambda transaction: transaction.snapshot(until))
    return None if found is None else found[0]


@pytest.mark.parametrize("reward", ["binary", "count", "revenue"])
def test_a_refit_that_is_put_off_gives_what_it_gave_when_it_was_due(reward: Any) -> None:
    """Rows, late rewards and repeated refits, as a replay has them; nothing but the last refit is made."""
    problem = cb.Problem("y", {"m": 2, "n": 3}, {"a": 3, "b": 2}, reward=reward)
    at_once, later = cb.SafePolicy(problem, seed=1), cb.SafePolicy(problem, seed=1)
    draw = np.random.default_rng(2)
    pending: list[tuple[Any, Any]] = []
    for row in range(150):
        at_once.ready()
        later.refit_later()
        arm, seen = problem.arms[draw.integers(6)], {"m": int(draw.integers(2)), "n": int(draw.integers(3))}
        value = int(draw.integers(2))
        if row % 5 == 4:
            waiting = [policy.tell(arm, seen) for policy in (at_once, later)]
            pending.append((waiting, value))
        else:
            for policy in (at_once, later):
                policy.tell(arm, {**seen, "y": value})
        if row % 15 == 14:
            waiting, late = pending.pop(0)
            for policy, handle in zip((at_once, later), waiting, strict=True):
                policy.tell(handle, reward=late)
        if row in (60, 149):
            later.catch_up()
            for name, expected in at_once._sums().items():
                np.testing.assert_allclose(later._sums()[name], expected, rtol=1e-9, atol=1e-12, err_msg=name)
    assert later.shares() == pytest.approx(at_once.shares(), abs=1e-9)

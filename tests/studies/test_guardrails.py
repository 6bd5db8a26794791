"""Guardrails: what the evidence is, what is no longer asked for, and what is said."""

import itertools
import math
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import causal_bandits as cb
from causal_bandits.errors import CausalBanditsError, OptionError
from causal_bandits.independence.limits import EFFECTS, SHIFTS, log_evidence
from causal_bandits.studies.settings import read_settings
from causal_bandits.studies.snapshots import pack, restore
from causal_bandits.studies.state import StudyState

from .cases import Unstored, rebuilt

SHOP = cb.Problem("Y", {"refund": 2, "cart": ["empty", "full"], "size": float}, {"I": ["none", "a", "b"]}, reward=float)
SIMPLE = cb.Problem("Y", {"refund": 2, "cart": ["empty", "full"], "visits": [0, 1, 2]}, {"I": ["none", "a", "b"]})


def slowly(values: list[float], limit: float) -> float:
    """E by its definition, for values between 0 and 1."""
    found = []
    for shift in SHIFTS:
        odds = limit / (1 - limit) * math.exp(shift)
        p = odds / (1 + odds)
        found.append(math.prod((p / limit) ** x * ((1 - p) / (1 - limit)) ** (1 - x) for x in values))
    return float(sum(found) / len(found))


def evidence(values: list[float], sign: str, limit: float, ends: tuple[float, float] = (0.0, 1.0)) -> float:
    sums = [np.array([part]) for part in (float(len(values)), sum(values), sum(x * x for x in values))]
    return float(np.exp(log_evidence(sums[0], sums[1], sums[2], limit=limit, above=sign == "<=", ends=ends))[0])


def test_evidence_is_what_its_definition_says() -> None:
    values = [0, 1, 0, 0, 1, 0.5, 0.25]
    assert evidence(values, "<=", 0.2) == pytest.approx(slowly(values, 0.2))
    assert evidence(values, ">=", 0.7) == pytest.approx(slowly([1 - x for x in values], 0.3))
    wide = [10 + 20 * x for x in values]
    assert evidence(wide, "<=", 14, (10.0, 30.0)) == pytest.approx(slowly(values, 0.2))
    assert evidence([0, 0], "<=", 0) == 1
    assert evidence([0, 1], "<=", 0) == math.inf


def test_evidence_is_one_on_average_at_the_limit() -> None:
    """Over all sequences of eight rows, and less below it: so it may be looked at after every row."""
    for limit, mean, most in ((0.2, 0.2, 1 + 1e-9), (0.2, 0.1, 0.9), (0.6, 0.6, 1 + 1e-9)):
        total = 0.0
        for rows in itertools.product((0, 1), repeat=8):
            chance = math.prod(mean if x else 1 - mean for x in rows)
            total += chance * evidence(list(rows), "<=", limit)
        assert total <= most
        if limit == mean:
            assert total == pytest.approx(1)


def test_evidence_of_numbers_is_the_likelihood_ratio_of_a_normal() -> None:
    values = np.random.default_rng(4).normal(1.0, 2.0, 40)
    z = (values - 0.5).sum() / values.std(ddof=1)
    slow = np.mean([math.exp(effect * z - 40 * effect**2 / 2) for effect in EFFECTS])
    assert evidence(values.tolist(), "<=", 0.5, (-math.inf, math.inf)) == pytest.approx(slow)
    assert evidence(values[:19].tolist(), "<=", -50, (-math.inf, math.inf)) == 1  # too few rows


def test_an_arm_that_breaks_a_guardrail_is_not_asked_for_and_it_is_said() -> None:
    study = Unstored(SIMPLE, guardrails={"refund": ("<=", 0.1), "cart=empty": ("<=", 0.9)}, min_share=0.1)
    for _ in range(30):
        for arm in study.ask(10):
            number = min(study.state.decisions.open)
            seen = {"refund": int(arm == 1 and number % 2), "cart": "full", "visits": 0}
            study.tell(number, {**seen, "Y": int(arm == 1)})
    assert study.state.status(1) == "breaks refund <= 0.1"
    assert 1 not in study.state.choose(100, None)
    assert study.state.recommend().arm != SIMPLE.arms[1]
    assert [row.status for row in study.state.estimates(0.95)] == ["active", "breaks refund <= 0.1", "active"]
    found = study.state.guards.status(study.state.policy)
    assert [str(each).partition(":")[0] for each in found.broken] == ["do(I=a) breaks refund <= 0.1"]
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
    assert set(named.state.choose(50, None)) == {1}
    assert named.state.status(1) == "breaks refund <= 0.05; still played, as the control"
    with pytest.raises(OptionError, match="no control"):
        nameless.state.recommend()


def test_rewards_numbers_and_levels_can_be_guarded() -> None:
    rails: Any = {"Y": (">=", 1.0), "size": ("<=", 3.0), ("cart", "empty"): ("<=", 0.5), "refund": ("<=", 0)}
    study = Unstored(SHOP, policy="gaussian-ts", guardrails=rails)
    rng = np.random.default_rng(1)
    table: dict[str, Any] = {
        "refund": [0] * 120,
        "cart": ["full"] * 60 + ["empty"] * 60,
        "size": np.concatenate([rng.normal(2, 1, 60), rng.normal(5, 1, 60)]),
        "Y": np.concatenate([rng.normal(2, 1, 60), rng.normal(0, 1, 60)]),
    }
    study.add("imported", {"arms": [0] * 60 + [1] * 60, "seen": {name: list(told) for name, told in table.items()}})
    broken = study.state.guards.broken(study.state.policy)
    assert broken.T.tolist() == [[False] * 4, [True, True, True, False], [False] * 4]


RAILS: Any = {"refund": ("<=", 0.1), "cart=empty": ("<=", 0.9), "visits": ("<=", 1.5), "Y": (">=", 0.01)}


def counted(state: StudyState) -> dict[str, Any]:
    """The sums of guardrails, to the bit."""
    state.guards.evidence(state.policy)
    return {name: array.tolist() for name, array in state.guards.arrays().items()}


def test_observed_variables_count_before_the_reward_is_known() -> None:
    """In a study from before this was possible they count with the whole row; its settings do not have the word."""
    study = Unstored(SIMPLE, guardrails=RAILS, min_share=0.1)
    stored = study.settings.to_dict()
    assert stored.pop("guards_early") is True
    before = StudyState(read_settings(stored))
    assert "guards_early" not in before.settings.to_dict()
    old = Unstored(SIMPLE, guardrails=RAILS, min_share=0.1)
    old.settings, old.state = before.settings, before
    for each in (study, old):
        each.add("asked", {"first": 1, "arms": [1] * 40})
        for number in range(1, 41):
            each.tell(number, {"refund": number % 2})
    assert [each.state.status(1) for each in (study, old)] == ["breaks refund <= 0.1", None]
    assert study.state.guards.status(study.state.policy)[1].rows == 40
    for each in (study, old):
        for number in range(1, 41):
            each.tell(number, {"cart": "full", "visits": 1, "Y": 1})
    assert [each.state.status(1) for each in (study, old)] == ["breaks refund <= 0.1"] * 2
    assert counted(study.state) == counted(old.state)  # nothing twice
    assert Unstored(SIMPLE, guardrails={"Y": (">=", 0.01)}).settings.guards_early is None


@settings(max_examples=25)
@given(st.data())
def test_what_was_told_is_counted_once_however_it_came(data: st.DataObject) -> None:
    """Parts in any order, abandoned decisions, imported rows and a new arm: the sums over all values that were told."""
    study, slow = Unstored(SIMPLE, guardrails=RAILS), np.zeros((4, 3, 4))
    study.add("asked", {"first": 1, "arms": [0, 1, 2, 1, 0, 1]})
    arms = study.state.decisions.column("arm").tolist()
    reads: list[tuple[str, Any]] = [("refund", float), ("cart", "empty".__eq__), ("visits", float), ("Y", float)]

    def count(arm: int, seen: dict[str, Any], names: list[str]) -> None:
        for place, (name, read) in enumerate(reads):
            if name in names and seen[name] is not None:
                slow[place, :, arm] += np.array([1.0, read(seen[name]), read(seen[name]) ** 2])

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
    study.add("arms", {"added": {"I": "c"}})
    study.state.guards.evidence(study.state.policy)
    assert np.array_equal(study.state.guards.arrays()["guard_sums"], slow)


def test_a_study_that_is_opened_again_goes_on_with_what_was_told_early(tmp_path: Path) -> None:
    """From a snapshot, and from its events alone; and the same call creates it again."""
    storage = f"sqlite:///{tmp_path / 'studies.db'}"
    create = partial(cb.Study.create, "late", SIMPLE, storage=storage, policy="ts", seed=3, guardrails=RAILS)
    study = create()
    for decision in study.ask(60):
        study.tell(decision, {"refund": decision.id % 2, "cart": "full"})
    state = study._session.read(lambda state: restore(state.settings, pack(state)))
    sums = counted(state)
    assert sums["guard_sums"][0][0] == np.bincount(state.decisions.column("arm")).tolist()
    for other in (study, create(), rebuilt(study)):
        assert other._session.read(counted) == sums
    assert create().ask().arm == SIMPLE.arms[state.choose(1, None)[0]]


BAD: list[tuple[Any, str]] = [
    ({"refnd": ("<=", 0.1)}, "guardrail on an unknown metric 'refnd'; expected one of"),
    ({"refund": ("<", 0.1)}, "expected ('<=' or '>=', limit)"),
    ({"refund": 0.1}, "expected ('<=' or '>=', limit)"),
    ({"refund": ("<=", "low")}, "expected a number"),
    ({"refund": ("<=", 1.0)}, "always holds or never does: refund lies between 0 and 1"),
    ({"cart": ("<=", 0.1)}, "say which level the guardrail is on, as in 'cart=full'"),
    ({"cart=half": ("<=", 0.1)}, "'half' is not a level of 'cart'"),
    (["refund"], "expected a mapping"),
]


@pytest.mark.parametrize(("rails", "sentence"), BAD, ids=[sentence[:40] for _, sentence in BAD])
def test_bad_guardrails_get_one_sentence(rails: Any, sentence: str) -> None:
    with pytest.raises(CausalBanditsError) as raised:
        Unstored(SIMPLE, guardrails=rails)
    assert sentence in str(raised.value)
    assert "\n" not in str(raised.value)

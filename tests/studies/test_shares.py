"""A control, shares and costs: what is asked for, how probable that was, and what is refused."""

from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

import causal_bandits as cb
from causal_bandits.core.compiled import Floats
from causal_bandits.errors import CausalBanditsError, ConflictError, DecisionClosedError, ObservationError, OptionError
from causal_bandits.product.studies.answers import estimates, recommend
from causal_bandits.product.studies.deciding import choose, frequencies, limited
from causal_bandits.product.studies.settings import cost_of
from causal_bandits.product.studies.state import pack, restore
from tests.messages import Golden

from .cases import SHOP, Unstored, fingerprint, play, rebuilt

FOUR = cb.Problem("Y", {"A": 2}, {"I": ["none", "a", "b", "c"]})
IDLE, A, B, C = range(4)
PART = st.floats(0, 1)


@given(
    arrays(float, 5, elements=PART), arrays(float, 5, elements=PART), arrays(bool, 5), arrays(float, 5, elements=PART)
)
def test_whatever_the_policy_does_shares_are_kept(one: Floats, two: Floats, playable: Any, wish: Floats) -> None:
    """Against the definition, with any probabilities of the policy."""
    low, high = np.minimum(one, two) / 5, np.minimum(np.maximum(one, two) + 0.2, 1.0)
    assume(playable.any())
    chances = limited(wish / wish.sum() if wish.any() else wish, low, high, playable)
    assert chances.sum() == pytest.approx(1)
    assert not np.any(chances[~playable])
    assert np.all(chances >= np.where(playable, low, 0) - 1e-9)
    if np.where(playable, high, 0).sum() >= 1:
        assert np.all(chances <= high + 1e-9)
        more = chances - np.where(playable, low, 0)
        free = playable & (chances < high - 1e-9) & (wish > 0.01)
        if free.any():  # arms below their greatest share have what is left in the policy's proportions
            assert np.ptp(more[free] / wish[free]) < 1e-6


def test_a_control_gets_its_share_no_more_and_no_less() -> None:
    """Null: the control is asked for with probability 0.2, whether it is the best arm or the worst.

    Two studies of 3000 decisions: standard error 0.0073, alarm beyond 4: false-alarm rate 1e-4. Seeds 1, 2.
    """
    for seed, best in ((1, IDLE), (2, B)):
        study = Unstored(FOUR, seed=seed, control_share=0.2)
        for _ in range(30):
            for arm in study.ask(100):
                number = min(study.state.decisions.open)
                study.tell(number, {"A": 0, "Y": int(arm == best)})
        share = np.mean(study.state.decisions.column("arm") == IDLE)
        assert abs(share - 0.2) < 4 * 0.0073
        assert frequencies(study.state, 50, np.random.default_rng(0), None)[IDLE] == 0.2


def test_without_rules_nothing_changes(sqlite: str) -> None:
    plain = cb.Study.create("plain", SHOP, storage=sqlite, seed=5)
    named = cb.Study.create("named", SHOP, storage=sqlite, seed=5, control={"banner": "red"}, metrics={"slow": bool})
    assert play(plain, 40) == play(named, 40)
    assert plain.settings.rules == {}
    assert [row.is_control for row in plain.estimates()].index(True) == 0  # the idle arm
    assert next(row for row in named.estimates() if row.is_control).arm == SHOP.arm(banner="red")


def test_what_is_asked_for_is_a_function_of_settings_and_events(sqlite: str) -> None:
    """Shares, guardrails, costs, metrics: a study from its events alone goes on in the same way."""
    rules: Any = {
        "control_share": 0.1,
        "shares": {"banner=red": (0.05, 0.5)},
        "max_share": 0.8,
        "guardrails": {"slow": ("<=", 0.2), "cart=full": ("<=", 0.9)},
        "metrics": {"slow": bool, "seconds": float},
        "cost": {"discount": {"10%": 0.02}, SHOP.arm(banner="blue"): 0.01},
    }
    study = cb.Study.create("shop", SHOP, storage=sqlite, seed=3, **rules)
    assert cb.Study.create("shop", SHOP, storage=sqlite, seed=3, **rules).name == "shop"
    with pytest.raises(CausalBanditsError, match="another cost"):
        cb.Study.create("shop", SHOP, storage=sqlite, seed=3, **{**rules, "cost": {"discount": {"10%": 0.03}}})
    play(study, 12)
    for number in range(1, 13):
        study.tell(number, {"slow": number % 2, "seconds": number / 3})
    state = study._session.read(lambda state: state)
    again, third = (restore(study._session.settings, pack(state)) for _ in range(2))
    assert pack(again) == pack(state)
    assert choose(again, 9, None) == choose(third, 9, None)
    assert fingerprint(rebuilt(study)) == fingerprint(study)
    assert rebuilt(study).guardrails() == study.guardrails()
    for decision in study.ask(20):  # the batch is dealt out as one by one it is explained
        found = study.explain(decision.id)
        assert found.arm == decision.arm
        assert 0 < found.propensity <= 1
        view = next(view for view in found.arms if view.arm == decision.arm)
        assert view.index is not None
        assert view.index > 0
        assert "share" in found.reason
    assert sum(view.propensity for view in found.arms) == pytest.approx(1)


def test_further_metrics_come_at_any_time(sqlite: str) -> None:
    study = cb.Study.create("shop", SHOP, storage=sqlite, seed=1, metrics={"refund": bool, "minutes": float})
    first, second = study.ask(2)
    study.tell(first.id, {"clicked": 1, "cart": "some", "minutes": 3.5}, reward=1)
    study.tell(first.id, {"refund": 1})  # after its outcome
    study.tell(first.id, {"refund": 1})
    with pytest.raises(ConflictError, match="'refund' is recorded as 1, and now reported as 0"):
        study.tell(first.id, {"refund": 0})
    for bad in (2, "yes", None):
        if bad is None:
            study.tell(second.id, {"refund": None})  # says nothing
        else:
            with pytest.raises(ObservationError, match="expected 0 or 1"):
                study.tell(second.id, {"refund": bad})
    study.abandon(second.id)
    with pytest.raises(DecisionClosedError):
        study.tell(second.id, {"refund": 0})
    third = study.ask()
    assert study.tell_many([{"id": third.id, "refund": 0}, {"id": first.id, "minutes": 3.5}]) == 1
    frame = study.to_frame()
    assert frame["refund"].to_list() == [1.0, None, 0.0]
    assert rebuilt(study).to_frame()["minutes"].to_list() == [3.5, None, None]


def test_costs_are_taken_off() -> None:
    """The best arm by rewards costs more than it brings; the study and its recommendation take the other."""
    study = Unstored(FOUR, cost={"I": {"b": 3.0}}, reward_value=10.0)
    assert study.state.cost is not None
    assert study.state.cost.tolist() == [0, 0, 0.3, 0]
    for _ in range(40):
        for arm in study.ask(10):
            number = min(study.state.decisions.open)
            study.tell(number, {"A": 0, "Y": int(number % 10 < (0, 5, 7, 2)[arm])})
    assert np.bincount(choose(study.state, 50, None), minlength=4)[A] > 40
    best = recommend(study.state)
    assert best.arm == FOUR.arms[A]
    rows = estimates(study.state, 0.95)
    assert best.mean == rows[A].net == rows[A].mean
    assert rows[B].net == pytest.approx(rows[B].mean - 0.3)
    lift = rows[B].lift
    assert lift is not None
    assert lift.absolute == pytest.approx(rows[B].net - rows[IDLE].net)
    chances = frequencies(study.state, 500, np.random.default_rng(0), None)
    assert chances.argmax() == A


def test_costs_of_levels_and_arms() -> None:
    two = cb.Problem("Y", {}, {"a": ["x", "y"], "b": [1, 2]})
    plain = {"levels": [["a", "y", 2.0], ["b", 2, 1.0]], "arms": [[{"a": "y", "b": 2}, 2.5]]}
    found = cost_of({"cost": plain}, two)
    assert found is not None
    assert found.tolist() == [0, 1, 2, 2.5]


BAD: list[dict[str, Any]] = [
    {"control": {"I": "z"}},
    {"control_share": 1.5},
    {"control_share": True},
    {"min_share": 0.3},
    {"max_share": 0.2},
    {"control_share": 0.5, "shares": {"I=a": (0.6, None)}},
    {"shares": {"I=a": (0.6, 0.4)}},
    {"shares": {"I=a": 0.4}},
    {"shares": [1]},
    {"shares": {"": (0, 0.5)}, "control_share": 0.1},
    {"cost": {"I": {"a": 4}}},
    {"cost": {"I": {"a": "4 EUR"}}},
    {"cost": {"I": 4}},
    {"cost": {"J": {"a": 0.1}}},
    {"cost": {"I": {"a": 0.1}}, "reward_value": 0},
    {"reward_value": 2},
    {"guardrail_confidence": 0.9},
    {"metrics": {"A": bool}},
    {"metrics": {"x": int}},
    {"metrics": ["x"]},
]


@pytest.mark.parametrize("rules", BAD, ids=str)
def test_bad_rules_get_one_sentence(rules: dict[str, Any], golden: Golden) -> None:
    with pytest.raises(CausalBanditsError) as raised:
        Unstored(FOUR, **rules)
    golden(raised.value)


def test_a_policy_that_cannot_is_refused() -> None:
    with pytest.raises(OptionError, match="'epsilon-greedy' does not support costs"):
        Unstored(FOUR, policy="epsilon-greedy", cost={"I": {"a": 0.1}})
    no_idle = cb.Problem("Y", {}, {"I": ["none", "a", "b"]}, arms=[{"I": "a"}, {"I": "b"}])
    with pytest.raises(OptionError, match="control_share needs a control"):
        Unstored(no_idle, control_share=0.1)
    assert Unstored(no_idle, control="I=a", control_share=0.1).state.controls[0] == 0

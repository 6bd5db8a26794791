"""Guardrails: what the evidence is, what is no longer asked for, and what is said."""

import itertools
import math
from typing import Any

import numpy as np
import pytest

import causal_bandits as cb
from causal_bandits.errors import CausalBanditsError, OptionError
from causal_bandits.independence.limits import EFFECTS, SHIFTS, log_evidence

from .cases import Unstored

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
        study.state.policy.tell_many({"I": ["a", "b"] * 20, "refund": [1] * 40, "Y": [1] * 40})
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
    table = {
        "I": ["none"] * 60 + ["a"] * 60,
        "refund": [0] * 120,
        "cart": ["full"] * 60 + ["empty"] * 60,
        "size": np.concatenate([rng.normal(2, 1, 60), rng.normal(5, 1, 60)]),
        "Y": np.concatenate([rng.normal(2, 1, 60), rng.normal(0, 1, 60)]),
    }
    study.state.policy.tell_many(table)
    broken = study.state.guards.broken(study.state.policy)
    assert broken.T.tolist() == [[False] * 4, [True, True, True, False], [False] * 4]


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

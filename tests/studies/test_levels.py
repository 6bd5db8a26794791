"""Levels, not only arms: patterns, whole levels, new levels, and what estimates say of arms that are gone."""

import itertools
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import causal_bandits as cb
from causal_bandits.errors import OptionError, ProblemError, UnknownArmError, UnknownLevelError, UnknownVariableError
from causal_bandits.product.studies.arm_patterns import combinations, having, matching

from .cases import SHOP, fingerprint, play, rebuilt

THREE = cb.Problem("Y", {}, {"a": ["x", "y"], "b": [1, 2, 3], "c": ["p", "q"]})
SOME = cb.Problem("Y", {}, {"a": ["x", "y"], "b": [1, 2, 3], "c": ["p", "q"]}, arms=THREE.arms[::2])


@pytest.mark.parametrize("problem", [THREE, SOME], ids=["product", "listed"])
def test_a_pattern_names_the_arms_that_fit(problem: cb.Problem) -> None:
    """Against the definition: every choice of a level, any level or nothing for every lever."""
    choices = [(*lever.levels, ..., None) for lever in problem.interventions]
    for chosen in itertools.product(*choices):
        names = zip(problem.intervention_names, chosen, strict=True)
        pattern = {name: level for name, level in names if level is not None}
        wanted = {**problem.idle_settings, **pattern}
        fits = [n for n, arm in enumerate(problem.arms) if all(wanted[k] in (..., arm[k]) for k in arm)]
        if fits:
            assert matching(problem, pattern) == fits
        else:
            with pytest.raises(UnknownArmError):
                matching(problem, pattern)


def test_levels_go_and_come_back(sqlite: str) -> None:
    study = cb.Study.create("shop", SHOP, storage=sqlite, seed=1)
    play(study, 20)
    cheap = SHOP.arm(discount="10%")
    red = [arm for arm in SHOP.arms if arm["banner"] == "red"]
    assert study.forbid_level("banner", "red") == red
    assert study.forbid_level("banner", "red") == []
    assert {row.status for row in study.estimates() if row.arm in red} == {"forbidden"}
    assert "banner=red, discount=none (forbidden)" in study._repr_html_()
    assert not set(red) & {decision.arm for decision in study.ask(200)}
    assert study.allow({"banner": "red", "discount": ...}) == red
    assert study.retire({"banner": ..., "discount": "10%"}) == [arm for arm in SHOP.arms if arm["discount"] == "10%"]
    assert study.forbid(cheap) == []  # it is gone already
    assert study.retire_level("banner", "red") == red[:1]
    assert study.allow_level("banner", "none") == []
    with pytest.raises(OptionError, match=r"the 2 arms banner=red, discount=none; .* are retired permanently"):
        study.allow_level("banner", "red")
    with pytest.raises(OptionError, match=r"the 3 arms .* are the last ones in play"):
        study.forbid({"banner": ..., "discount": "none"})
    assert fingerprint(rebuilt(study)) == fingerprint(study)


def test_a_level_is_added_with_all_its_combinations(sqlite: str) -> None:
    study = cb.Study.create("shop", SHOP, storage=sqlite, seed=1)
    play(study, 20)
    study.retire(SHOP.arm(banner="blue", discount="10%"))
    new = study.add_level("discount", "20%")
    assert [dict(arm) for arm in new] == [{"banner": name, "discount": "20%"} for name in ("none", "red", "blue")]
    assert study.add_level("discount", "20%") == []
    assert study.add_level("discount", np.str_("20%")) == []
    assert study.problem.arms == (*SHOP.arms, *new)
    status = {row.arm: row.status for row in study.estimates()}
    assert [status[arm] for arm in new] == ["never played"] * 3
    assert status[SHOP.arm(banner="blue", discount="10%")] == "retired"
    assert study.estimates().to_frame()["status"].to_list() == list(status.values())
    assert set(new) & {decision.arm for decision in study.ask(300)}
    play(study, 5)
    assert fingerprint(rebuilt(study)) == fingerprint(study)
    described = {row["label"]: row["status"] for row in study.describe()["arms"]}
    assert described == {row.arm.label: row.status for row in study.estimates()}


def test_a_level_joins_settings_that_are_in_play() -> None:
    assert combinations(SOME, "b", 4, ()) == [
        {"a": a, "b": 4, "c": c} for a, c in dict.fromkeys((arm["a"], arm["c"]) for arm in SOME.arms)
    ]
    assert combinations(THREE, "b", "1", ()) == []  # levels are known by their text
    gone = having(THREE, "a", "y")
    assert combinations(THREE, "b", 4, gone) == [{"a": "x", "b": 4, "c": c} for c in ("p", "q")]


BAD: list[tuple[Callable[[cb.Study], Any], type[Exception], str]] = [
    (lambda s: s.retire({"banner": ..., "price": 1}), UnknownVariableError, "'price' is not a lever"),
    (lambda s: s.retire({"banner": "pink", "discount": ...}), UnknownLevelError, "'pink' is not a level of 'banner'"),
    (
        lambda s: s.retire("banner"),  # type: ignore[arg-type]
        UnknownArmError,
        "'banner' is not an arm",
    ),
    (
        lambda s: s.retire({"banner": np.array([1, 2])}),  # type: ignore[dict-item]
        UnknownLevelError,
        "is not a level of 'banner'",
    ),
    (lambda s: s.retire_level("banner", "pink"), UnknownLevelError, "'pink' is not a level"),
    (lambda s: s.forbid_level("headline", "x"), UnknownVariableError, "'headline' is not a lever"),
    (lambda s: s.add_level("headline", "x"), UnknownVariableError, "'headline' is not a lever"),
    (lambda s: s.add_level("banner", " "), OptionError, "expected the name of a new level of 'banner'"),
    (
        lambda s: s.add_level("banner", ["x"]),  # type: ignore[arg-type]
        ProblemError,
        r"level \['x'\] of 'banner' is not a string",
    ),
    (lambda s: s.add_level("banner", float("nan")), ProblemError, "is not a string, a finite number"),
]


@pytest.mark.parametrize(("call", "error", "says"), BAD)
def test_bad_levels(sqlite: str, call: Callable[[cb.Study], Any], error: type[Exception], says: str) -> None:
    study = cb.Study.create("shop", SHOP, storage=sqlite, seed=1)
    with pytest.raises(error, match=says):
        call(study)
    assert study.problem == SHOP


def test_only_an_arm_with_rows_is_recommended(sqlite: str) -> None:
    """An arm may have the highest mean before it was ever played: here 1/2 from the prior."""
    problem = cb.Problem("buy", {}, {"page": ["old", "new"], "price": ["low", "high"]})
    study = cb.Study.create("s", problem, storage=sqlite, seed=1, policy="ts")
    for arm in problem.arms:
        study.import_rows([{"buy": int(k % 5 == 0)} for k in range(20)], arm=arm)
    study.add_level("price", "free")
    study.retire({"page": "new", "price": "low"})
    rows = {row.arm: row.own_rows for row in study.estimates()}
    highest = max((row for row in study.estimates() if row.status != "retired"), key=lambda row: row.mean)
    assert rows[highest.arm] == 0
    best = study.recommend()
    assert rows[best.arm] > 0
    assert best.expected_loss > 0
    assert best.arm == study.advice().arm == problem.arm(**study.describe()["recommendation"]["arm"])  # type: ignore[index]
    assert study._session.read(lambda state: state.policy.frequencies(200, np.random.default_rng(1)))[4:].any()
    assert study.finish().answer == best

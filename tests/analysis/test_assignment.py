"""Logs that were not randomized: what predicts a lever, repeated units, results of the reward, dirty columns."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import causal_bandits as cb
from causal_bandits.errors import OptionError, TableFileError
from causal_bandits.product.analysis.assignment import design_effect
from causal_bandits.reporting.sheets import answer
from causal_bandits.reporting.study_page import analysis_page
from tests.command_line import exit_code

ROWS = 1500


def confounded(seed: int = 1, rows: int = ROWS) -> dict[str, Any]:
    """The variant does nothing; the country decides both."""
    rng = np.random.default_rng(seed)
    country = rng.integers(3, size=rows)
    lever = rng.random(rows) < 0.2 + 0.3 * country
    bought = rng.random(rows) < 0.1 + 0.15 * country
    return {
        "variant": ["new" if each else "control" for each in lever],
        "country": [("DE", "FR", "US")[each] for each in country],
        "bought": bought.astype(int).tolist(),
    }


def analyzed(table: Any, **options: Any) -> Any:
    return cb.analyze(table, **{"target": "bought", "interventions": "variant", **options})


def test_a_confounded_log_shows_associations_and_recommends_nothing() -> None:
    found = analyzed(confounded())
    assert found.recommendation is None
    assert [(each.column, each.lever) for each in found.assignment.predictors] == [("country", "variant")]
    about = found.to_dict()
    said = answer(about)
    assert said.startswith("These are associations, not effects: country predicts variant (p < 0.001)")
    for words in ("--segments country", "--randomized", "nothing is recommended"):
        assert words in said
    assert "Recommended" not in said
    assert "robability" not in said
    assert about["notices"][0] == found.notices[0] == found.effects().note == found.assignment.says
    assert str(found.effects()).startswith("These are associations, not effects")
    assert (about["recommendation"], about["assignment"]["causal"]) == (None, False)
    assert json.loads(json.dumps(about, allow_nan=False)) == about
    page = analysis_page(about)
    assert page.count("These are associations") == 1
    assert "Lift over the control" not in page
    assert "associations: country predicts variant" in repr(found)


def test_segments_adjust_and_randomized_overrides() -> None:
    """The variant does nothing. 6,000 rows: the standard error of a difference within a country is at most 0.03; 3.5 of
    them may pass for each of three: under 2e-3. Seed 1.
    """
    table = confounded(rows=6000)
    found = analyzed(table, segments="country")
    assert found.assignment.causal
    assert len(found.recommendation) == 3
    means = {(row.arm["country"], row.arm["variant"]): row.mean for row in found.estimates()}
    for country in ("DE", "FR", "US"):
        assert abs(means[country, "new"] - means[country, "control"]) < 3.5 * 0.03
    told = analyzed(table, randomized=True)
    assert told.recommendation.arm == {"variant": "new"}
    assert answer(told.to_dict()).endswith("Levers were assigned at random, as you declared.")
    assert analyzed(table, observed=["country"]).assignment.causal


def test_the_command_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "log.csv"
    pl.DataFrame(confounded()).write_csv(path)
    command = ["analyze", str(path), "--target", "bought", "--interventions", "variant"]
    assert exit_code([*command], monkeypatch) == 0
    said = " ".join(capsys.readouterr().out.split())
    assert said.startswith("These are associations, not effects: country predicts variant")
    assert "Lift over" not in said
    assert "Recommended" not in said
    assert exit_code([*command, "--segments", "country"], monkeypatch) == 0
    assert "For country=DE:" in " ".join(capsys.readouterr().out.split())
    assert exit_code([*command, "--randomized"], monkeypatch) == 0
    assert capsys.readouterr().out.startswith("Recommended")
    assert exit_code([*command, "--unit", "nobody"], monkeypatch) == 2
    assert "unit: the table has no column 'nobody'" in " ".join(capsys.readouterr().err.split())


@pytest.mark.parametrize(("tables", "most"), [(20, 2), pytest.param(60, 4, marks=pytest.mark.slow)])
def test_randomized_tables_get_no_notice(tables: int, most: int) -> None:
    """Null: a notice in at most 1% of tables of 200 rows, with columns of 2 to 15 levels, a number and a date.

    More than 2 of 20 tables have a probability of 1e-3, more than 4 of 60 one of 4e-4. Seed 3.
    """
    rng = np.random.default_rng(3)
    notices = 0
    for _ in range(tables):
        rows = 200
        table = {
            "date": [f"2026-01-{day:02}" for day in np.sort(rng.integers(1, 29, rows))],
            **{f"x{levels}": rng.integers(levels, size=rows) for levels in (2, 3, 5, 9, 15)},
            "age": rng.gamma(4.0, 10.0, rows),
            "variant": rng.choice(["control", "new", "bold"], rows, p=[0.6, 0.3, 0.1]),
            "bought": rng.integers(2, size=rows),
        }
        notices += not analyzed(table).assignment.causal
    assert notices <= most


def moving(rng: np.random.Generator) -> Any:
    """The share of the new variant rises from 20% to 80%."""
    return np.where(rng.random(ROWS) < np.linspace(0.2, 0.8, ROWS), "new", "control")


def test_time_and_the_order_of_rows() -> None:
    rng = np.random.default_rng(4)
    lever, bought = moving(rng), rng.integers(2, size=ROWS)
    found = analyzed({"variant": lever, "bought": bought})
    assert [each.what for each in found.assignment.predictors] == ["rows"]
    assert "the order of the rows predicts variant" in found.assignment.says
    assert "such as the week" in found.assignment.says
    mixed = rng.permutation(ROWS)
    days = [f"2026-{1 + row // 140:02}-{1 + row % 140 // 5:02}" for row in range(ROWS)]
    dated = {"created": np.array(days)[mixed], "variant": lever[mixed], "bought": bought}
    assert [(each.column, each.what) for each in analyzed(dated).assignment.predictors] == [("created", "time")]
    by_arm = {"variant": np.sort(lever), "bought": bought}  # the order is that of the lever, and no time
    assert analyzed(by_arm).assignment.causal


def test_a_column_that_may_be_a_mediator_is_assumed_to_be_one_and_said() -> None:
    table = {("z" if name == "country" else name): column for name, column in confounded().items()}
    found = analyzed(table)
    assert found.assignment.assumed_after == ("z",)
    assert answer(found.to_dict()).startswith("This assumes that z was measured after the levers were set; if it was")
    assert analyzed(table, observed="z").assignment.says == ""
    first = {name: table[name] for name in ("z", "variant", "bought")}  # what stands before the lever was known before
    assert analyzed(first).recommendation is None
    named = {("clicked" if name == "z" else name): column for name, column in table.items()}
    assert analyzed(named).assignment.says == ""


def test_numbers_and_text_of_many_values() -> None:
    rng = np.random.default_rng(5)
    age = rng.normal(40, 10, ROWS)
    city = rng.integers(60, size=ROWS)
    lever = rng.random(ROWS) < 1 / (1 + np.exp(-(age - 40) / 10))
    other = rng.random(ROWS) < 0.2 + 0.6 * (city < 6)
    table = {
        "age": age,
        "variant": np.where(lever, "new", "control"),
        "city": [f"city {each if rng.random() < 0.5 else each % 6}" for each in city],
        "offer": np.where(other, "10%", "none"),
        "bought": rng.integers(2, size=ROWS),
    }
    found = analyzed(table, interventions=["variant", "offer"])
    assert {(each.column, each.lever) for each in found.assignment.predictors} == {
        ("age", "variant"),
        ("city", "offer"),
    }
    cut = analyzed(table, segments="age", drop="city")
    assert "segment age: a number, cut into 5 groups of about equal size" in cut.inferred.notes
    assert len(cut.recommendation) == 5
    assert cut.recommendation[0].segment["age"].startswith("1: up to")


def repeated(rng: np.random.Generator, *, sticky: bool) -> dict[str, Any]:
    """300 users with five rows each, whose rewards are nearly always the same."""
    user = np.repeat(np.arange(300), 5)
    lever = rng.integers(2, size=300)[user] if sticky else rng.integers(2, size=ROWS)
    buys = rng.integers(2, size=300)[user] ^ (rng.random(ROWS) < 0.02)
    country = rng.integers(4, size=300)[user]
    return {"user_id": user, "country": country, "variant": np.where(lever, "new", "control"), "bought": buys}


def test_units_that_repeat() -> None:
    """Each user counts once in the tests where users were assigned; as rows, countries would predict the variant."""
    rng = np.random.default_rng(6)
    table = repeated(rng, sticky=True)
    plain = analyzed(table)
    assert plain.assignment.causal
    assert any("pass --unit user_id" in notice for notice in plain.notices)
    found = analyzed(table, unit="user_id")
    assert found.assignment.causal
    assert found.policy.design_effect == pytest.approx(5, abs=0.4)
    assert any(notice.startswith("intervals are by user_id (300 units): variances are") for notice in found.notices)
    for one, other in zip(found.estimates(), plain.estimates(), strict=True):
        assert one.mean == other.mean
        assert (one.high - one.low) / (other.high - other.low) == pytest.approx(np.sqrt(5), abs=0.25)
        assert (one.own_high - one.own_low) / (other.own_high - other.own_low) == pytest.approx(np.sqrt(5), abs=0.1)
    assert analyzed(repeated(rng, sticky=False), unit="user_id").assignment.causal
    habits = repeated(rng, sticky=False)
    share = rng.beta(1, 1, 300)[habits["user_id"]]
    habits["variant"] = np.where(rng.random(ROWS) < share, "new", "control")
    chosen = analyzed(habits, unit="user_id")
    assert chosen.assignment.predictors[0].what == "unit"
    assert "user_id predicts variant" in chosen.assignment.says


def test_the_design_effect_by_hand() -> None:
    """Two units of two rows in each arm, all rewards of a unit equal: sums of residuals are 1 and -1 in each arm, so
    the ratio is (1 + 1) 2 / (2 - 1) / 1 = 4; Student's factor with one degree of freedom is 12.706 / 1.960.
    """
    arms, units = np.repeat([0, 1], 4), np.repeat(np.arange(4), 2)
    rewards = np.tile([0.0, 0.0, 1.0, 1.0], 2)
    assert design_effect(arms, rewards, units, 0.95) == pytest.approx(4 * (12.7062 / 1.95996) ** 2, rel=1e-4)


BAD_UNITS = [
    (np.zeros(40, dtype=int), "unit 'who' is 0 in every row; name a column that tells units apart"),
    (np.arange(40), "unit 'who' is different in every row, so no unit repeats; leave out --unit"),
    ([None, *range(20), *range(19)], "unit 'who' is missing in 1 rows"),
    ([0] * 20 + list(range(1, 11)) * 2, "an arm has rows of only one unit"),
]


@pytest.mark.parametrize(("who", "message"), BAD_UNITS)
def test_units_that_are_none(who: Any, message: str) -> None:
    table = {"who": who, "variant": ["control"] * 20 + ["new"] * 20, "bought": [0, 1] * 20}
    with pytest.raises(TableFileError, match=message):
        analyzed(table, unit="who")


def test_a_unit_that_is_something_else() -> None:
    for name in ("variant", "bought"):
        with pytest.raises(OptionError, match=f"unit='{name}'; expected a column that is not the reward"):
            analyzed(confounded(), unit=name)


def test_functions_of_a_reward_that_is_a_number_are_its_results() -> None:
    rng = np.random.default_rng(8)
    lever, visited = rng.integers(2, size=ROWS), rng.integers(2, size=ROWS)
    revenue = visited * (rng.random(ROWS) < 0.2) * rng.lognormal(3, 1, ROWS)
    table = {
        "variant": np.where(lever, "new", "control"),
        "visited": visited,
        "tax": 0.2 * revenue,
        "stars": (revenue > 0) * (rng.random(ROWS) < 0.3) * rng.integers(1, 6, ROWS),
        "any": (revenue > 0).astype(int),
        "paid_at": [f"2026-01-0{1 + row % 9}" if paid else None for row, paid in enumerate(revenue)],
        "revenue": revenue,
    }
    found = analyzed(table, target="revenue")
    assert found.inferred.problem.observed_names == ("visited",)
    results = [notice.split()[0] for notice in found.notices if "a result of the reward" in notice]
    assert results == ["tax", "stars", "any"]
    mediator = rng.normal(size=ROWS) + lever
    y = mediator + 0.5 * rng.normal(size=ROWS)
    real = {"dose": lever, "m": mediator, "y2": y**2, "band": np.where(y > 1, "high", "low"), "y": y}
    assert analyzed(real, target="y", interventions="dose").inferred.problem.observed_names == ("m",)


def test_a_dirty_column_that_nobody_named_is_left_out() -> None:
    dirt: dict[str, list[Any]] = {
        "mixed": ["n/a" if row % 9 == 0 else row for row in range(ROWS)],
        "objects": [b"x" if row % 2 else {"q"} for row in range(ROWS)],
        "endless": [float("inf") if row % 9 == 0 else float(row) for row in range(ROWS)],
    }
    table = confounded()
    for name, column in dirt.items():
        found = analyzed({**table, name: column}, segments="country")
        assert name not in found.inferred.problem.observed_names
        assert any(note.startswith(f"{name}: ") and note.endswith("left out") for note in found.inferred.notes)
    with pytest.raises(TableFileError, match="target 'bought' mixes numbers and text"):
        analyzed({**table, "bought": dirt["mixed"]})

"""Advice of a study: in Python, on the command line and on its page."""

import json
from dataclasses import replace
from pathlib import Path

import pytest

from causal_bandits import Problem, Study
from tests.command_line import exit_code

PROBLEM = Problem("purchase", {"clicked": 2}, {"banner": ["none", "red"]})


@pytest.fixture
def storage(tmp_path: Path) -> str:
    return f"sqlite:///{tmp_path}/studies.db"


def told(storage: str, rows: int, red: int) -> Study:
    study = Study.create("shop", PROBLEM, storage=storage, policy="best-arm", seed=1)
    for banner, ones in (("none", rows // 10), ("red", red)):
        table = [{"clicked": place % 2, "purchase": int(place < ones)} for place in range(rows)]
        study.import_rows(table, arm={"banner": banner})
    return study


def test_a_study_advises_on_its_arms_in_play(storage: str, tmp_path: Path) -> None:
    study = told(storage, 300, 150)
    found = study.advice()
    assert (found.action, found.arm) == ("stop", PROBLEM.arm(banner="red"))
    page = study.report(tmp_path / "page.html").read_text()
    assert str(found) in page
    assert found.guarantee in page
    study.retire({"banner": "red"})
    assert (study.advice().arm, study.advice().arms) == (PROBLEM.arm(), 1)


def test_advice_is_about_what_is_left_after_costs(storage: str, tmp_path: Path) -> None:
    """Red sells half as much again, and costs more than that."""
    rules = {"free": None, "cheap": {"banner": {"red": 0.02}}, "dear": {"banner": {"red": 0.2}}}
    said = {}
    for name, cost in rules.items():
        study = Study.create(name, PROBLEM, storage=storage, policy="ts", seed=1, cost=cost)
        for banner, ones in (("none", 200), ("red", 300)):
            table = [{"clicked": place % 2, "purchase": int(place < ones)} for place in range(1000)]
            study.import_rows(table, arm={"banner": banner})
        said[name] = study.advice(margin=0)
    assert [said[name].action for name in rules] == ["stop"] * 3
    assert [str(said[name].arm) for name in rules] == ["do(banner=red)", "do(banner=red)", "do()"]
    assert "is the best of 2 arms, with" in str(said["free"])
    assert "is the best of 2 arms after costs, with" in str(said["dear"])
    assert said["dear"].probability_best > 0.99
    page = study.report(tmp_path / "page.html").read_text()
    assert str(study.advice()) in page


def test_the_command_line_says_the_same(
    storage: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    study = told(storage, 300, 35)
    command = ["study", "advice", "shop", "--storage", storage]
    assert exit_code(command, monkeypatch) == 0
    assert capsys.readouterr().out == f"{study.advice()}\n{study.advice().guarantee}\n"
    assert exit_code([*command, "--json", "--margin", "0.2"], monkeypatch) == 0
    values = json.loads(capsys.readouterr().out)
    assert (values["action"], values["is_best"], values["arm"]) == ("stop", False, {"banner": "red"})
    assert exit_code([*command, "--confidence", "1.5"], monkeypatch) == 2
    assert capsys.readouterr().err == "Error: confidence=1.5; expected a number between 0 and 1\n"


def test_nothing_is_claimed_where_zeros_are_not_reported(storage: str) -> None:
    """Only buyers are reported: the arms have equal means of 1, however many decisions had no sale."""
    study = Study.create("late", PROBLEM, storage=storage, seed=1)
    decisions = study.ask(400)
    study.tell_many([{"id": each.id, "clicked": 1, "purchase": 1} for each in decisions[:120]])
    found = study.advice()
    assert (found.action, found.drop) == ("continue", ())
    assert found.held.startswith("All 120 reported rewards are positive")
    assert found.held in str(found)


def test_the_traffic_so_far_says_how_many_days_it_takes(storage: str) -> None:
    found = replace(told(storage, 60, 8).advice(), per_day=100.0, more_for_proof=1234.0, more_for_good_enough=50.0)
    assert (found.days_for_proof, found.days_for_good_enough) == (12.34, 0.5)
    assert "about 1,200 more decisions (12 days)" in str(found)
    assert "about 50 more decisions (less than a day)" in str(found)
    reached = str(replace(found, more_for_proof=0.4, more_for_good_enough=0.0))
    assert "a proof takes about 1 more decision (less than a day)" in reached
    assert "the expected loss is below 1% of the control's mean already" in reached

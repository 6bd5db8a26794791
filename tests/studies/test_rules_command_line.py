"""`study create` with rules, `study health`, `study effects`, and what `show` and the page say of them."""

from pathlib import Path

import numpy as np
import pytest

import causal_bandits as cb
from causal_bandits.errors import CausalBanditsError

from .cases import answer
from .conftest import Run


def test_a_study_with_rules_from_the_command_line(run: Run, tmp_path: Path) -> None:
    problem = str(tmp_path / "problem.json")
    given = [
        *("--control-share", "0.2", "--share", "banner=red:0.05-0.6", "--metric", "refund=bool"),
        *("--guardrail", "refund<=0.1", "--cost", '{"discount": {"10%": 0.02}}', "--guardrail-confidence", "0.9"),
    ]
    for _ in range(2):
        run("study", "create", "shop", "--problem", problem, "--seed", "1", *given)
    study = cb.Study.load("shop", storage=f"sqlite:///{tmp_path}/cli.db")
    rules = study._session.settings.rules
    assert rules is not None
    assert rules["control_share"] == 0.2
    assert rules["guardrail_confidence"] == 0.9
    assert rules["shares"] == [[{"banner": "red", "discount": "none"}, 0.05, 0.6]]
    rng = np.random.default_rng(2)
    for decision in study.ask(150):
        refund = int(rng.random() < 0.5 and decision.arm["banner"] == "blue")
        study.tell(decision.id, {**answer(study.problem, decision), "refund": refund})
    found = run("study", "health", "shop", "--json")
    assert [check["code"] for check in found] == [
        "lost-outcomes",
        "outcomes-stopped",
        "missing-mediators",
        "broken-guardrails",
        "idle-guardrails",
        "reward-drift",
        "mediator-shift",
        "set-drift",
        "traffic-shift",
        "stop-advised",
    ]
    broken = [each["arm"] for each in run("study", "guardrails", "shop", "--json") if each["broken"]]
    assert broken
    assert all(arm["banner"] == "blue" for arm in broken)
    assert "ok lost-outcomes" in run("study", "health", "shop")
    assert "broken" in run("study", "guardrails", "shop")
    effects = run("study", "effects", "shop", "--json")
    assert [(row["lever"], row["level"]) for row in effects] == [
        ("banner", "red"),
        ("banner", "blue"),
        ("discount", "10%"),
    ]
    assert "Levels, averaged over the other levers" in run("study", "effects", "shop")
    shown = run("study", "show", "shop")
    assert "Lift over the control" in shown
    assert "Alarm (broken-guardrails): banner=blue" in shown
    page = study.report(tmp_path / "page.html").read_text()
    for words in (
        "Lift over the control",
        "Levels, averaged",
        "Checks of the study",
        "Broken line: the control",
        "breaks refund",
    ):
        assert words in page
    about = study.describe()
    assert sum(row.get("is_control", False) for row in about["arms"]) == 1
    assert study.explain(150).propensity > 0
    axes = study.plot()
    assert any(text.get_text().startswith("control, banner=") for text in axes.get_legend().get_texts())


@pytest.mark.parametrize(
    ("given", "sentence"),
    [
        (["--guardrail", "refund=0.1"], "expected metric<=limit"),
        (["--guardrail", "refund<=0.1"], "guardrail on an unknown metric 'refund'"),
        (["--guardrail", "clicked<=low"], "'low'; expected a number"),
        (["--share", "banner=red"], "expected lever=value,...:min-max"),
        (["--metric", "refund"], "expected name=bool, name=float or name=lowest:highest"),
        (["--cost", "{"], "cost is not JSON"),
        (["--cost", '{"discount": {"10%": 3}}'], "set reward_value="),
        (["--min-share", "0.4"], "add up to 2.4"),
    ],
)
def test_bad_rules_end_in_a_sentence(run: Run, tmp_path: Path, given: list[str], sentence: str) -> None:
    with pytest.raises(CausalBanditsError) as raised:
        run("study", "create", "bad", "--problem", str(tmp_path / "problem.json"), *given)
    assert sentence in str(raised.value)

"""What Python has, from the shell: arms that come and go, explanations, evaluations, expiry."""

from pathlib import Path
from typing import Any

import pytest

import causal_bandits as cb
from causal_bandits.errors import CausalBanditsError

from .cases import SHOP, play
from .conftest import Run


@pytest.fixture
def shop(run: Run, tmp_path: Path) -> cb.Study:
    run("study", "create", "shop", "--problem", "problem.json", "--seed", 1, "--policy", "ts")
    return cb.Study.load("shop", storage=f"sqlite:///{tmp_path}/cli.db")


def test_arms_from_the_shell(run: Run, shop: cb.Study) -> None:
    red = [{"banner": "red", "discount": "none"}, {"banner": "red", "discount": "10%"}]
    assert run("study", "arms", "forbid", "shop", "banner=red,discount=...", "--json") == {"arms": red}
    assert run("study", "arms", "forbid", "shop", "--level", "banner=red") == "0 arms forbidden; nothing changed\n"
    assert run("study", "arms", "allow", "shop", "--level", "banner=red", "--json") == {"arms": red}
    assert run("study", "arms", "retire", "shop", "banner=blue") == "1 arm retired:\n  banner=blue, discount=none\n"
    added = run("study", "arms", "add-level", "shop", "discount", "20%", "--json")["arms"]
    assert [arm["banner"] for arm in added] == ["none", "red", "blue"]
    made = run("study", "arms", "add", "shop", "banner=Yes; please", "--new-levels", "--json")
    assert made == {"arms": [{"banner": "Yes; please", "discount": "none"}]}
    assert "already existed; the study has 10 arms" in run("study", "arms", "add", "shop", "banner=red")
    run("study", "arms", "add", "shop", '"banner=Yes, please",discount=10%', "--new-levels")
    assert run("study", "arms", "retire", "shop", "--level", "banner=Yes, please", "--json")["arms"] == [
        {"banner": "Yes, please", "discount": "10%"}
    ]
    assert len(shop.problem.arms) == 11


def test_looking_from_the_shell(run: Run, shop: cb.Study, tmp_path: Path) -> None:
    play(shop, 20)
    made = run("study", "explain", "shop", 7, "--json")
    assert made["arm"] == dict(shop.explain(7).arm)
    assert made["propensity"] == shop.explain(7).propensity
    assert len(made["arms"]) == 6
    shown = run("study", "explain", "shop", 7)
    assert shown.startswith("decision 7: banner=")
    assert "Arms at that time" in shown
    red, blue = SHOP.arm(banner="red"), SHOP.arm(banner="blue")
    alone = run("study", "evaluate", "shop", "--arm", "banner=red", "--json")
    assert alone["mean"] == shop.evaluate(red).mean
    mixed = run("study", "evaluate", "shop", "--arm", "banner=red", "--arm", "banner=blue", "--json")
    assert mixed["mean"] == shop.evaluate({red: 0.5, blue: 0.5}).mean
    shares = ["--arm", "banner=red", "--weight", 0.25, "--arm", "banner=blue", "--weight", 0.75]
    assert run("study", "evaluate", "shop", *shares, "--json")["mean"] == shop.evaluate({red: 0.25, blue: 0.75}).mean
    cb.preset("ts", SHOP, seed=0).save(tmp_path / "policy.zip")
    assert "the study itself earned" in run("study", "evaluate", "shop", "--policy", "policy.zip")
    shop.ask()
    assert run("study", "expire", "shop", "--older-than", "1d", "--json") == {"expired": []}
    assert run("study", "expire", "shop", "--older-than", 0) == "1 decision expired\n"


BAD: list[tuple[list[Any], str]] = [
    (["arms", "retire", "shop"], "study arms retire needs an arm"),
    (["arms", "retire", "shop", "banner=red", "--level", "banner=red"], "and not both"),
    (["arms", "retire", "shop", "banner"], "'banner' is not of the form lever=value"),
    (["arms", "forbid", "shop", "--level", "banner"], "--level 'banner' is not of the form lever=value"),
    (["arms", "forbid", "shop", "--level", "banner=pink"], "'pink' is not a level of 'banner'"),
    (["allow", "nothing", "banner=red"], "there is no study 'nothing'"),
    (["arms", "add", "shop", "banner=pink"], "'pink' is not a level of 'banner'"),
    (["arms", "add-level", "shop", "headline", "x"], "'headline' is not a lever"),
    (["explain", "shop", 3], "decision 3 is not known"),
    (["evaluate", "shop"], "needs --arm"),
    (["evaluate", "shop", "--arm", "banner=red", "--weight", 0.5, "--weight", 0.5], "1 --arm but 2 --weight"),
    (["evaluate", "shop", "--arm", "banner=red"], "fewer than two decisions have outcomes"),
    (["evaluate", "shop", "--arm", "banner=red", "--method", "magic"], "method='magic'; expected one of"),
    (["evaluate", "shop", "--policy", "nothing.zip"], r"nothing\.zip"),
    (["expire", "shop", "--older-than", "soon"], "expected seconds from 0, or a duration"),
]


def test_bad_calls_from_the_shell(run: Run, shop: cb.Study) -> None:
    for arguments, says in BAD:
        with pytest.raises(CausalBanditsError, match=says):
            run("study", *arguments)
    assert shop.problem == SHOP
    assert len(shop.to_frame()) == 0

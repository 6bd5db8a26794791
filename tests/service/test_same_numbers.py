"""The same quantity is the same number wherever it is read: methods, sentences, tables, pages, reports."""

import math
import re
from collections.abc import Iterator
from html import unescape
from typing import Any

import numpy as np
import pytest

import causal_bandits as cb
from causal_bandits.core.markup import braces, chance_words, loss_words, number, weight_words
from causal_bandits.core.policies.safe import ACCEPTED
from causal_bandits.reporting.axes import RATE
from causal_bandits.reporting.study_page import study_page

from .calls import Caller

PROBLEM = cb.Problem(
    "purchase",
    {"clicked": 2, "cart": ["empty", "some", "full"], "account": 2},
    {"banner": ["none", "red", "blue"], "shipping": ["paid", "free"]},
)
CLICKS = {"none": 0.15, "red": 0.4, "blue": 0.3}
BUYS = {"empty": 0.02, "some": 0.08, "full": 0.25}


def visit(arm: cb.Arm, rng: np.random.Generator) -> dict[str, Any]:
    clicked = int(rng.random() < CLICKS[str(arm["banner"])])
    full = 0.05 + 0.25 * clicked + 0.1 * (arm["shipping"] == "free")
    cart = str(rng.choice(list(BUYS), p=[0.55 - full / 2, 0.45 - full / 2, full]))
    account = int(rng.random() < 0.1 + 0.3 * clicked)
    return {"clicked": clicked, "cart": cart, "account": account, "purchase": int(rng.random() < BUYS[cart])}


def play(study: cb.Study, rounds: int, rng: np.random.Generator) -> None:
    for _ in range(rounds):
        study.tell_many([{"id": each.id, **visit(each.arm, rng)} for each in study.ask(50)])


def rows_of(page: str) -> list[list[str]]:
    """The cells of the tables of a page, as text."""
    lines = re.findall(r"<tr.*?</tr>", page, re.DOTALL)
    return [[words(cell) for cell in re.findall(r"<t[hd].*?</t[hd]>", line, re.DOTALL)] for line in lines]


def words(html: str) -> str:
    without = re.sub(r"<title>.*?</title>|<small>.*?</small>", " ", html, flags=re.DOTALL)
    return " ".join(unescape(re.sub(r"<[^>]*>", " ", without)).split())


@pytest.fixture(scope="module")
def shop(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[cb.Study, Caller]]:
    """A study with a control, costs and a retired arm, its pages, and rows that came after they were first seen."""
    storage = f"sqlite:///{tmp_path_factory.mktemp('shop') / 'studies.db'}"
    rules: dict[str, Any] = {"control": {"banner": "none", "shipping": "free"}, "cost": {"banner": {"red": 0.01}}}
    study = cb.Study.create("shop", PROBLEM, storage=storage, seed=1, **rules)
    call, rng = Caller.to(storage), np.random.default_rng(4)
    play(study, 12, rng)
    study.retire({"banner": "blue", "shipping": "paid"})
    assert call("GET", "/studies/shop").status == 200
    play(study, 1, rng)
    yield study, call
    call.close()
    study.close()


def report_of(study: cb.Study) -> str:
    return study_page(study.describe(history=True))


def test_the_probability_to_be_the_best(shop: tuple[cb.Study, Caller]) -> None:
    study, call = shop
    best, advice, about = study.recommend(), study.advice(), study.describe()
    page = call("GET", "/studies/shop").text
    shown = chance_words(best.probability_best)
    assert advice.probability_best == best.probability_best
    assert about["recommendation"] is not None
    assert about["recommendation"]["probability_best"] == best.probability_best
    assert about["arms"][0]["probability_best"] == best.probability_best
    assert math.fsum(row["probability_best"] or 0.0 for row in about["arms"]) == pytest.approx(1)
    assert next(row for row in about["arms"] if row["status"] == "retired")["probability_best"] is None
    for text in (words(page), words(report_of(study))):
        assert f"is the best arm with a probability of {shown}." in text
    arms = [row for row in rows_of(page) if len(row) == 7 and row[0].startswith(("banner=", "shipping=", "no lever"))]
    assert [row[4] for row in arms] == [
        "–" if row["probability_best"] is None else chance_words(row["probability_best"]) for row in about["arms"]
    ]
    legend = re.findall(r"<li>.*?<bdi>(.*?)</bdi><b>(.*?)</b>", page)
    assert (arms[0][0].removesuffix(" control"), shown) in legend


def test_closeness_and_expected_loss(shop: tuple[cb.Study, Caller]) -> None:
    study, call = shop
    best, advice = study.recommend(), study.advice()
    assert (advice.probability_close, advice.margin, advice.expected_loss) == (
        best.probability_close,
        best.margin,
        best.expected_loss,
    )
    close = f"within {number(best.margin)} of the best with probability {chance_words(best.probability_close)}"
    assert close in str(advice)
    assert f"expected to lose {loss_words(best.expected_loss)}" in str(advice)
    for text in (words(call("GET", "/studies/shop").text), words(report_of(study))):
        assert f"expected to lose {RATE.change(best.expected_loss)[1:]} per" in text


def test_effects_of_levels(shop: tuple[cb.Study, Caller]) -> None:
    """What free shipping does is the same on the overview and on the funnel, against the same level."""
    study, call = shop
    effects = study.effects()
    overview, funnel = (rows_of(call("GET", f"/studies/shop{page}").text) for page in ("", "/funnel"))
    report = rows_of(report_of(study))
    for row in effects:
        lever, level, base = row.lever, str(row.level), str(row.base)
        effect = RATE.change(row.effect.absolute)
        between = f"{RATE.change(row.effect.low)} to {RATE.change(row.effect.high)}"
        better = chance_words(row.effect.probability_better)
        assert [lever, level, base, effect, between, better] in overview
        found = [line[3:5] for line in funnel if line[:3] == [lever, f"{level} instead of {base}", "purchase"]]
        assert found == [[effect, between]]
        # The report names a lever in its first row only.
        (cells,) = [line for line in report if line[:3] in ([lever, level, base], ["", level, base])]
        assert cells[4] == f"{effect} ({between})"


def test_lifts_and_means(shop: tuple[cb.Study, Caller]) -> None:
    study, call = shop
    control = next(row for row in study.estimates() if row.is_control)
    page, report = rows_of(call("GET", "/studies/shop").text), rows_of(report_of(study))
    lifts = RATE.changes(row.lift and row.lift.absolute for row in study.estimates())
    for row in study.estimates():
        lines = [line for line in page if len(line) == 7 and line[2] == RATE.show(row.mean)]
        assert lines
        assert any(RATE.show(row.mean) in cell for line in report for cell in line)
        if row.lift is not None:
            assert row.lift.absolute == pytest.approx(row.net - control.net)
            lift = lifts.change(row.lift.absolute)
            assert any(line[3].startswith(lift) for line in lines)
            assert row.is_control or any(cell.startswith(lift) for line in report for cell in line)


def test_a_decision_is_explained_by_the_estimate_of_its_arm(shop: tuple[cb.Study, Caller]) -> None:
    study, call = shop
    decision = study.ask()
    why = study.explain(decision)
    estimate = study.estimates()[PROBLEM.index(decision.arm)]
    assert (why.estimate.mean, why.estimate.through) == (estimate.mean, estimate.through)
    assert why.propensity == study.propensity(decision)
    assert f"mean {number(estimate.mean)}" in str(why)
    share = weight_words(estimate.through_share)
    assert f"through the set {braces(estimate.through)} ({share} of an average over sets): " in str(why)
    page = words(call("GET", f"/studies/shop/decisions/{decision.id}").text)
    assert f"Chosen with probability {RATE.show(why.propensity)}," in page


def test_sets_are_listed_by_their_probability(shop: tuple[cb.Study, Caller]) -> None:
    """Estimates average over sets: no set with weight is called unused, and probabilities are not facts."""
    study, call = shop
    sets = study.separating_sets(rejected=True)
    for found in sets:
        assert found.accepted == ((found.evidence.probability or 0) >= ACCEPTED)
        assert f"separates with probability {found.evidence.probability:.2f}, weight" in str(found)
    assert sum(found.evidence.weight or 0 for found in sets) == pytest.approx(1)
    assert {row.through for row in study.estimates()} <= {None, *(found.variables for found in sets)}
    page = call("GET", "/studies/shop/sets").text
    for found in sets[1:]:
        weight, chance = found.evidence.weight or 0.0, found.evidence.probability or 0.0
        name = braces(found.variables)
        state = "separates" if chance >= ACCEPTED else "not sure"
        (line,) = [line for line in rows_of(page) if line[0] == name]
        assert line[1:4] == [state, chance_words(chance), weight_words(weight)]
        assert (name, RATE.show(chance)) in re.findall(r"<li>.*?<bdi>(.*?)</bdi><b>(.*?)</b>", page)


def test_explained_variance_and_forecast(shop: tuple[cb.Study, Caller]) -> None:
    study, call = shop
    about, report = study.describe(), words(report_of(study))
    assert about["explained_variance"]["rows"] == about["rows"]
    for said, page in ((about["explained_variance"]["says"], "/sets"), (study.advice().forecast, "")):
        assert said
        assert said in words(call("GET", f"/studies/shop{page}").text)
        assert said in report


def test_to_be_better_than_the_only_other_arm_is_to_be_the_best() -> None:
    """Whatever the level of the intervals, and also where a third arm is left out."""
    problem = cb.Problem("purchase", {"clicked": 2}, {"banner": ["none", "red", "blue"]})
    policy = cb.SafePolicy(problem, seed=0)
    rng = np.random.default_rng(3)
    for level, clicks in (("none", 0.2), ("red", 0.3), ("blue", 0.25)):
        clicked = rng.random(150) < clicks
        bought = clicked & (rng.random(150) < 0.3)
        policy.tell_many(
            [
                {"banner": level, "clicked": int(one), "purchase": int(two)}
                for one, two in zip(clicked, bought, strict=True)
            ]
        )
    policy.restrict([problem.arms[0], problem.arms[1]])
    best = policy.recommend()
    other = problem.arms[1 - problem.index(best.arm)]
    for width in (0.5, 0.95):
        lift = policy.estimates(level=width, control=other)[problem.index(best.arm)].lift
        assert lift is not None
        assert lift.probability_better == best.probability_best

"""What objects show of themselves: one short line, and in a notebook a table in which every name is plain text."""

import re
from collections.abc import Callable
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import causal_bandits as cb
from causal_bandits.core.markup import number
from causal_bandits.core.policies import POLICIES
from causal_bandits.errors import ObservationError

HOSTILE = "<script>alert('x')</script>&\n\x1b[31m\u202e"
PROBLEM = cb.Problem(HOSTILE, {f"m{HOSTILE}": 2, "k": ["low", HOSTILE]}, {f"x{HOSTILE}": ["n", HOSTILE], "z": 2})
MANY = cb.Problem("y", {f"m{number}": 2 for number in range(40)}, {"x": 3})


def learnt(factory: Callable[..., Any] = cb.CausalThompsonSampling) -> Any:
    policy = factory(PROBLEM, seed=0)
    rng = np.random.default_rng(0)
    for _ in range(40):
        seen = {f"m{HOSTILE}": int(rng.integers(2)), "k": ["low", HOSTILE][rng.integers(2)]}
        policy.tell(policy.ask(), {**seen, HOSTILE: int(rng.integers(2))})
    return policy


def world() -> cb.DiscreteSCM:
    coin = cb.worlds.Mechanism([], [0.5, 0.5])
    reward = cb.worlds.Mechanism(["A"], [[0.8, 0.2], [0.3, 0.7]])
    return cb.DiscreteSCM(
        {"A": 2, HOSTILE: 2}, {"A": coin, HOSTILE: reward}, {"I": cb.worlds.perfect("A")}, target=HOSTILE
    )


def table() -> dict[str, list[Any]]:
    rng = np.random.default_rng(0)
    return {
        f"x{HOSTILE}": [("n", HOSTILE)[code] for code in rng.integers(0, 2, 60)],
        f"m{HOSTILE}": rng.integers(0, 2, 60).tolist(),
        HOSTILE: rng.integers(0, 2, 60).tolist(),
    }


def study(tmp_path: Path) -> cb.Study:
    made = cb.Study.create("shop <b>", PROBLEM, storage=f"sqlite:///{tmp_path}/one.db", seed=1)
    for reward in (0, 1, 1):
        made.tell(made.ask().id, {f"m{HOSTILE}": 1, "k": "low", HOSTILE: reward})
    return made


ONE_LINE: dict[str, Callable[[], Any]] = {
    "problem": lambda: PROBLEM,
    "a problem of many variables": lambda: MANY,
    "bins": lambda: cb.bins(quantiles=4),
    "history": lambda: learnt().history,
    "a set": lambda: learnt().separating_sets(rejected=True)[0],
    "evidence": lambda: learnt().separating_sets(rejected=True)[0].evidence,
    "findings": lambda: learnt().findings,
    "an estimate": lambda: learnt().estimates()[0],
    "a policy": learnt,
    "a world": world,
    "a linear world": lambda: cb.worlds.random_linear_world(cb.graphs.random_dag(["A", "Y"], "Y", 0), seed=0),
    "a logged world": lambda: cb.LoggedWorld(*cb.datasets.sachs()),
    "a structureless world": lambda: cb.StructurelessWorld(
        cb.worlds.paper_world(cb.graphs.random_dag(["A", "Y"], "Y", 0)), seed=0
    ),
    "a dataset": cb.datasets.sachs,
    "a mechanism": lambda: cb.worlds.Mechanism(["A"], np.full((50, 50), 0.02)),
    "a run": lambda: cb.simulation.play(cb.ThompsonSampling(world().problem), world(), 50, np.random.default_rng(0)),
    "a simulation": lambda: cb.simulate(cb.ThompsonSampling, world(), 20, runs=2, seed=0),
    "discovered graphs": lambda: cb.discover(learnt().history),
    "an analysis": lambda: cb.analyze(table(), target=HOSTILE, interventions=[f"x{HOSTILE}"]),
    "an arm": lambda: cb.Problem("y", {}, {f"x{HOSTILE}": ["a", f"b{HOSTILE}"]}).arms[1],
    "what was inferred": lambda: cb.analyze(table(), target=HOSTILE, interventions=[f"x{HOSTILE}"]).inferred,
}
TABLES: dict[str, Callable[[], Any]] = {
    "a problem": lambda: PROBLEM,
    "estimates": lambda: learnt().estimates(),
    "a set": lambda: learnt().separating_sets(rejected=True)[0],
    "sets": lambda: learnt().separating_sets(rejected=True),
    "a simulation": lambda: cb.simulate(cb.ThompsonSampling, world(), 20, runs=2, seed=0),
    "a comparison": lambda: cb.compare({f"TS {HOSTILE}": cb.ThompsonSampling}, [world()], horizon=20, runs=2),
    "an analysis": lambda: cb.analyze(table(), target=HOSTILE, interventions=[f"x{HOSTILE}"]),
}


def check_line(shown: str) -> None:
    assert len(shown) < 400
    assert shown.isprintable()
    assert " object at 0x" not in shown
    assert not re.search(r"\barray\(|dtype=", shown)


class Tags(HTMLParser):
    def __init__(self, page: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.seen: set[str] = set()
        self.text = ""
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.open.append(tag)
        self.seen.add(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.text += data


def check_table(page: str) -> None:
    found = Tags(page)
    assert found.open == []
    assert {"table", "tr", "td"} <= found.seen <= {"p", "div", "table", "thead", "tbody", "tr", "th", "td"}
    assert page.isprintable()


@pytest.mark.parametrize("make", ONE_LINE.values(), ids=ONE_LINE.keys())
def test_a_repr_is_one_short_line(make: Callable[[], Any]) -> None:
    check_line(repr(make()))


@pytest.mark.parametrize("name", ["ts", "causal-ts", "ucb1", "kl-ucb", "epsilon-greedy"])
def test_policies_show_their_problem_and_rows(name: str) -> None:
    policy = learnt(POLICIES[name])
    check_line(repr(policy))
    assert repr(policy).startswith(f"{type(policy).__name__}(target=")
    assert "4 arms, 40 rows" in repr(policy)


@pytest.mark.parametrize("make", TABLES.values(), ids=TABLES.keys())
def test_a_notebook_shows_a_table_of_plain_text(make: Callable[[], Any]) -> None:
    check_table(make()._repr_html_())


def test_names_are_shown_as_they_are() -> None:
    assert "<script>alert('x')</script>" in Tags(PROBLEM._repr_html_()).text
    assert "<script>alert('x')</script>" in Tags(learnt().separating_sets(rejected=True)._repr_html_()).text


def test_a_study_shows_itself(tmp_path: Path) -> None:
    with study(tmp_path) as made:
        check_line(repr(made))
        check_line(repr(made.ask()))
        check_line(repr(made.explain(1)))
        check_line(repr(made.evaluate(made.recommend().arm)))
        answers = (made.recommend(), made.advice(), made.health(), made.explain(1), made.evaluate(made.recommend().arm))
        for found in (made, made.separating_sets(rejected=True), made.estimates(), *answers):
            check_table(found._repr_html_())
            assert "do(" not in found._repr_html_() + str(found)
        assert "lift interval" in made.estimates()._repr_html_()
        assert "4 decisions" in made._repr_html_()


def test_nothing_is_recommended_without_data(tmp_path: Path) -> None:
    with cb.Study.create("empty", PROBLEM, storage=f"sqlite:///{tmp_path}/one.db", seed=1) as made:
        with pytest.raises(ObservationError, match="no data yet, so nothing is recommended"):
            made.recommend()
        assert str(made.advice()).startswith("continue: no data yet.")
        assert made.advice().arm is None
        assert made.describe()["recommendation"] is None
        check_table(made.advice()._repr_html_())
        made.ask()
        shown = str(made.explain(1)) + made.explain(1)._repr_html_()
        assert not re.search(r"\de-?\d|nan", shown)


def test_a_long_table_is_cut() -> None:
    many = cb.Problem("y", {"m": 2}, {"x": 100})
    page = cb.ThompsonSampling(many, seed=0).estimates()._repr_html_()
    assert page.count("<tr>") == 21
    assert page.endswith("<p>and 80 more rows</p>")


def test_sets_are_a_list_as_before() -> None:
    sets = learnt().separating_sets(rejected=True)
    assert sets == list(sets)
    assert isinstance(sets, list)


def test_estimates_and_effects_show_all_they_have() -> None:
    found = cb.analyze("example", target="purchase", interventions=["banner", "discount"])
    shown = repr(found.estimates())
    lines = shown.splitlines()
    columns = "arm, mean, interval, through, own rows, used, effective, own mean, own interval, lift, lift interval"
    assert re.split(r"  +", lines[0]) == columns.split(", ")
    assert len(lines) == 1 + len(found.estimates())
    assert "…" not in shown + repr(found.effects())
    assert max(map(len, lines)) < 160


def test_numbers_have_no_exponent() -> None:
    for value in (3.2e-146, -3.2e-146, 1e-6, 0.00012345, -0.0004, 0.25, 123456.0, 0.0):
        assert "e" not in number(value)
    assert number(3.2e-146) == "<0.000001"

"""One serializer: the same JSON from the command line, over HTTP, from the client's objects, and in the document."""

import json
import math
from collections.abc import Callable
from dataclasses import dataclass, fields
from datetime import datetime
from typing import Any, NamedTuple, NotRequired, TypedDict

import pytest
from typer.testing import CliRunner

import causal_bandits as cb
from causal_bandits.cli import app
from causal_bandits.core.serialization import from_json, json_schema, to_json
from causal_bandits.product.studies import Evaluation, Study
from tests.studies.cases import SHOP, play

from .calls import Caller


@pytest.fixture
def study(storage: str) -> cb.Study:
    made = cb.Study.create("shop", SHOP, storage=storage, policy="ts", seed=1)
    play(made, 12)
    return made


def printed(storage: str, *words: str) -> Any:
    found = CliRunner().invoke(app, ["study", *words, "--storage", storage, "--json"])
    assert found.exit_code == 0, found.output
    return json.loads(found.stdout)


SAME: dict[str, tuple[list[str], str, Callable[[Study], Any]]] = {
    "advice": (["advice", "shop"], "/advice", lambda study: study.advice()),
    "explain": (["explain", "shop", "5"], "/decisions/5/explanation", lambda study: study.explain(5)),
    "evaluate": (
        ["evaluate", "shop", "--arm", "banner=red"],
        "/evaluation?arm=banner=red",
        lambda study: study.evaluate({"banner": "red", "discount": "none"}),
    ),
    "show": (["show", "shop"], "", lambda study: study.describe()),
    "ask": (["ask", "shop", "--key", "k"], "/decisions", lambda study: study.ask(1, key="k")),
}


@pytest.mark.parametrize("name", list(SAME))
def test_every_way_gives_the_same_json(call: Caller, storage: str, study: cb.Study, name: str) -> None:
    words, path, method = SAME[name]
    shop = "/api/v1/studies/shop"
    if name == "ask":
        over_http = call("POST", shop + path, {"count": 1}, headers={"idempotency-key": "k"}).json
    else:
        over_http = call("GET", shop + path).json
    assert over_http == to_json(method(study)) == printed(storage, *words)
    study.close()


def test_studies_are_listed_and_created_in_the_same_way(call: Caller, storage: str, study: cb.Study) -> None:
    assert call("GET", "/api/v1/studies").json == to_json(cb.Study.list(storage=storage)) == printed(storage, "list")
    assert call("GET", "/api/v1/studies/shop/settings").json == to_json(study.settings)
    study.close()


@dataclass(frozen=True)
class WithMore(Evaluation):
    """An evaluation of tomorrow."""

    regret: float = math.nan

    @property
    def is_low(self) -> bool:
        """Whether it is."""
        return self.mean < 1


def test_a_new_field_needs_no_edit(
    call: Caller, storage: str, study: cb.Study, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = study.evaluate

    def evaluate(self: Study, policy: Any, **options: Any) -> WithMore:
        found = before(policy)
        return WithMore(**{each.name: getattr(found, each.name) for each in fields(found)}, regret=0.25)

    monkeypatch.setattr(Study, "evaluate", evaluate)
    expected = to_json(study.evaluate({"banner": "red", "discount": "none"}))
    assert (expected["regret"], expected["is_low"]) == (0.25, True)
    assert call("GET", "/api/v1/studies/shop/evaluation?arm=banner=red").json == expected
    assert printed(storage, "evaluate", "shop", "--arm", "banner=red") == expected
    assert from_json(WithMore, expected, SHOP).regret == 0.25
    described: dict[str, Any] = {}
    assert json_schema(WithMore, described) == {"$ref": "#/components/schemas/WithMore"}
    assert described["WithMore"]["properties"]["regret"] == {"type": ["number", "null"]}
    assert {"regret", "is_low"} <= set(described["WithMore"]["required"])
    study.close()


def test_every_route_says_what_it_answers(call: Caller) -> None:
    document = call("GET", "/openapi.json").json
    for path, item in document["paths"].items():
        for method, operation in item.items():
            answered = [each for status, each in operation["responses"].items() if status.startswith("2")]
            assert answered, (method, path)
            for each in answered:
                for kind, content in each.get("content", {}).items():
                    assert content["schema"], (method, path, kind)


class Point(NamedTuple):
    """A point."""

    x: float
    when: datetime

    @property
    def is_known(self) -> bool:
        """Whether it is somewhere."""
        return math.isfinite(self.x)


class Points(TypedDict):
    """Some points."""

    points: list[Point]
    pair: tuple[str, int]
    by_names: dict[tuple[str, ...], Point]
    note: NotRequired[str | None]


def test_what_comes_back() -> None:
    there = Point(1.5, datetime(2026, 1, 1))
    given: Points = {"points": [there], "pair": ("a", 1), "by_names": {("a", "b"): there}, "note": None}
    sent = json.loads(json.dumps(to_json(given)))
    assert sent["points"] == [{"x": 1.5, "when": "2026-01-01T00:00:00", "is_known": True}]
    assert from_json(Points, sent, SHOP) == given
    assert math.isnan(from_json(Point, to_json(Point(math.inf, there.when)), SHOP).x)
    described: dict[str, Any] = {}
    json_schema(Points, described)
    assert described["Points"]["required"] == ["points", "pair", "by_names"]
    assert described["Point"]["required"] == ["x", "when", "is_known"]
    with pytest.raises(TypeError, match="object has no form in JSON"):
        to_json(object())

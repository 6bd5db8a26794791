"""Random requests: every answer is one that the OpenAPI document allows, and sequences say what the library says."""

import json
import tempfile
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, precondition, rule

import causal_bandits as cb
from causal_bandits.core.markup import in_path
from causal_bandits.errors import CausalBanditsError

from .calls import SHOP, Caller
from .conftest import OpenApp

scalars = (
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8) | st.sampled_from(["red", "some"])
)
values = st.recursive(
    scalars,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=6), inner, max_size=3),
    max_leaves=6,
)
FIELDS = ["count", "arms", "mediators", "reward", "final", "rows", "columns", "arm", "state", "lever", "level", "id"]
bodies = values | st.dictionaries(
    st.sampled_from([*FIELDS, "clicked", "cart", "purchase", "banner"]), values, max_size=4
)
parts = st.sampled_from(["shop", "none", "1", "2", "99"]) | st.text(min_size=1, max_size=6).filter(
    lambda text: text.strip(".") != ""
)


def test_random_requests_get_answers_of_the_document(open_app: OpenApp) -> None:
    """Whatever is sent: a documented status, JSON or a sentence, and never 500."""
    call = open_app()
    shop = call.create()
    call("POST", f"{shop}/decisions", {"count": 2})
    operations = [
        (method.upper(), path, operation)
        for path, item in call("GET", "/openapi.json").json["paths"].items()
        for method, operation in item.items()
        if method != "delete" and not path.endswith("/events")
    ]

    @settings(max_examples=150, suppress_health_check=list(HealthCheck))
    @given(data=st.data())
    def requests(data: st.DataObject) -> None:
        method, path, operation = data.draw(st.sampled_from(operations))
        for name in ("{name}", "{id}", "{arm}"):
            path = path.replace(name, in_path(data.draw(parts)))
        query = {"after": parts, "limit": parts, "level": parts, "arm": parts, "draws": st.just("3"), "final": parts}
        asked = data.draw(st.dictionaries(st.sampled_from(sorted(query)), parts, max_size=2))
        target = path + ("?" if asked else "") + "&".join(f"{name}={in_path(text)}" for name, text in asked.items())
        answered = call(method, target) if method == "GET" else call(method, target, data.draw(bodies))
        assert str(answered.status) in operation["responses"] or answered.status in (304, 404), (target, answered.text)
        if answered.status >= 400:
            assert answered.detail
        elif answered.headers["content-type"] == "application/json":
            answered.json  # noqa: B018  (it can be read)

    requests()
    assert call("GET", "/readyz").status == 200


def outcome_of(work: Callable[[], Any]) -> tuple[Any, str | None]:
    """What a call of the library gives, or the sentence of its error."""
    try:
        return work(), None
    except CausalBanditsError as error:
        return None, str(error)


class Sequences(RuleBasedStateMachine):
    """The same calls over HTTP and on a study of the library; both must answer alike, errors included."""

    def __init__(self) -> None:
        super().__init__()
        self.folder = tempfile.TemporaryDirectory()
        self.call = Caller.to(f"sqlite:///{self.folder.name}/served.db")
        self.path = self.call.create()
        self.study = cb.Study.create(
            "shop",
            cb.Problem.from_dict(SHOP),
            storage=f"sqlite:///{self.folder.name}/library.db",
            policy="ts",
            seed=1,
        )
        self.made = 0

    def same(self, method: str, path: str, body: Any, work: Any) -> None:
        answered = self.call(method, self.path + path, body)
        found, sentence = outcome_of(work)
        if sentence is not None:
            assert answered.status in (404, 409, 422)
            assert answered.detail == sentence
            return
        assert answered.status in (200, 201), answered.text
        assert answered.json == json.loads(json.dumps(found))

    @rule(count=st.integers(1, 3), key=st.none() | st.sampled_from("ab"))
    def ask(self, count: int, key: str | None) -> None:
        headers = {} if key is None else {"Idempotency-Key": key}
        answered = self.call("POST", f"{self.path}/decisions", {"count": count}, headers=headers)
        made, sentence = outcome_of(lambda: self.study.ask(count, key=key))
        if sentence is not None:
            assert (answered.status, answered.detail) == (422, sentence)
            return
        assert [(row["id"], row["arm"]) for row in answered.json] == [(d.id, dict(d.arm)) for d in made]
        self.made = max(self.made, made[-1].id)

    @precondition(lambda self: self.made)
    @rule(
        data=st.data(),
        metrics=st.dictionaries(
            st.sampled_from(["clicked", "cart", "odd"]), st.sampled_from([0, 1, None, "some", "full"]), max_size=2
        ),
        reward=st.sampled_from([None, 0, 1, 2]),
        final=st.booleans(),
    )
    def tell(self, data: st.DataObject, metrics: dict[str, Any], reward: int | None, final: bool) -> None:
        number = data.draw(st.integers(1, self.made + 1))

        def work() -> dict[str, int]:
            self.study.tell(number, metrics, reward=reward, final=final)
            return {"id": number}

        self.same("PATCH", f"/decisions/{number}", {"mediators": metrics, "reward": reward, "final": final}, work)

    @precondition(lambda self: self.made)
    @rule(data=st.data())
    def abandon(self, data: st.DataObject) -> None:
        number = data.draw(st.integers(1, self.made))

        def work() -> dict[str, int]:
            self.study.abandon(number)
            return {"id": number}

        self.same("POST", f"/decisions/{number}/abandon", {}, work)

    @rule(banner=st.sampled_from(["red", "blue"]), state=st.sampled_from(["forbidden", "allowed", "retired"]))
    def change(self, banner: str, state: str) -> None:
        doing = {"forbidden": self.study.forbid, "allowed": self.study.allow, "retired": self.study.retire}

        def work() -> dict[str, Any]:
            return {"arms": [dict(arm) for arm in doing[state]({"banner": banner})]}

        self.same("PUT", f"/arms/banner%3D{banner}/state", {"state": state}, work)

    @rule()
    def restart(self) -> None:
        self.call.app.state.registry.close()

    def teardown(self) -> None:
        table = self.call("GET", f"{self.path}/decisions?limit=1000").json["decisions"]
        assert [(row["status"], row["outcome"]) for row in table] == [
            (row["status"], json.loads(json.dumps(row["outcome"]))) for row in self.study.decisions(limit=1000)
        ]
        self.call.close()
        self.study.close()
        self.folder.cleanup()


TestSequences = Sequences.TestCase
TestSequences.settings = settings(max_examples=8, stateful_step_count=15, deadline=None)


@pytest.mark.parametrize("text", ["/api/v1/studies/%", "/api/v1/studies/%zz", "/%ff", "/studies/%00", "/a/../b"])
def test_odd_addresses(call: Caller, text: str) -> None:
    assert call("GET", text).status in (404, 422)

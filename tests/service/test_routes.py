"""What the routes answer, against the library itself where it says the same."""

import io
import json
import math
from typing import Any

import polars as pl
import pytest

import causal_bandits as cb
from causal_bandits.core.markup import in_path

from .calls import SHOP, Caller
from .conftest import OpenApp

ROW = {"clicked": 1, "cart": "some", "purchase": 0}


def told(call: Caller, shop: str, count: int = 3) -> list[dict[str, Any]]:
    """Decisions with their outcomes."""
    made: list[dict[str, Any]] = call("POST", f"{shop}/decisions", {"count": count}).json
    rows = [{"id": each["id"], "clicked": each["id"] % 2, "cart": "some", "purchase": each["id"] % 2} for each in made]
    assert call("POST", f"{shop}/outcomes", rows).json == {"told": count}
    return made


def test_create_list_delete(call: Caller, storage: str) -> None:
    body = {"name": "shop", "problem": SHOP, "policy": "ts", "seed": 1}
    made = call("POST", "/api/v1/studies", body)
    assert (made.status, made.headers["location"]) == (201, "/api/v1/studies/shop")
    assert call("POST", "/api/v1/studies", body).status == 200
    other = call("POST", "/api/v1/studies", {**body, "seed": 2})
    assert other.status == 409
    assert "is already in storage" in other.detail
    assert other.json["error"] == "StudyExistsError"
    assert [row["name"] for row in call("GET", "/api/v1/studies").json] == ["shop"]
    settings = call("GET", "/api/v1/studies/shop/settings").json
    assert cb.Problem.from_dict(settings["problem"]) == cb.Problem.from_dict(SHOP)
    assert cb.Study.load("shop", storage=storage).seed == settings["seed"] == 1
    assert call("DELETE", "/api/v1/studies/shop").status == 204
    assert call("DELETE", "/api/v1/studies/shop").status == 404
    assert call("GET", "/api/v1/studies/shop").status == 404


def test_a_study_made_again_is_not_taken_for_the_old_one(call: Caller, storage: str) -> None:
    shop = call.create()
    call("POST", f"{shop}/decisions", {})
    tag = call("GET", f"{shop}/estimates").headers["etag"]
    cb.Study.delete("shop", storage=storage)  # by another process
    cb.Study.create("shop", cb.Problem.from_dict(SHOP), storage=storage, policy="ts", seed=9)
    made = call("POST", f"{shop}/decisions", {})
    assert made.json[0]["id"] == 1
    assert call("GET", f"{shop}/estimates", headers={"if-none-match": tag}).status == 200


def test_ask_and_tell_say_what_the_library_says(call: Caller, storage: str, tmp_path_factory: Any) -> None:
    shop = call.create()
    twin = cb.Study.create(
        "shop",
        cb.Problem.from_dict(SHOP),
        storage=f"sqlite:///{tmp_path_factory.mktemp('twin')}/x.db",
        policy="ts",
        seed=1,
    )
    for _ in range(5):
        made = call("POST", f"{shop}/decisions", {}).json[0]
        decision = twin.ask()
        assert (made["id"], made["arm"]) == (decision.id, dict(decision.arm))
        assert call("PATCH", f"{shop}/decisions/{made['id']}", {"mediators": {"clicked": 1}}).status == 200
        assert (
            call("PATCH", f"{shop}/decisions/{made['id']}", {"mediators": {"cart": "full"}, "reward": 1}).status == 200
        )
        twin.tell(decision.id, {"clicked": 1, "cart": "full"}, reward=1)
    assert call("GET", f"{shop}/recommendation").json["arm"] == dict(twin.recommend().arm)
    found = call("GET", f"{shop}/estimates?level=0.9").json
    assert [row["mean"] for row in found] == [row.mean for row in twin.estimates(level=0.9)]
    assert [row["low"] for row in found] == [row.low for row in twin.estimates(level=0.9)]
    asked = "/evaluation?arm=banner%3Dred&arm=%7B%22banner%22%3A%22blue%22%7D&share=0.25&share=0.75"
    mix = {twin.problem.arm(banner="red"): 0.25, twin.problem.arm(banner="blue"): 0.75}
    assert call("GET", shop + asked).json["mean"] == twin.evaluate(mix).mean
    assert call("GET", f"{shop}/decisions/3/propensity").json["propensity"] == twin.propensity(3)
    explained = call("GET", f"{shop}/decisions/3/explanation").json
    assert explained["reason"] == twin.explain(3).reason
    described, own = call("GET", shop).json, json.loads(json.dumps(twin.describe()))
    assert {**described, "created": None} == {**own, "created": None}
    twin.close()


def test_idempotency_keys(call: Caller) -> None:
    shop = call.create()
    key = {"Idempotency-Key": "visitor 1"}
    first = call("POST", f"{shop}/decisions", {"count": 2}, headers=key)
    again = call("POST", f"{shop}/decisions", {"count": 2}, headers=key)
    assert first.json == again.json
    other = call("POST", f"{shop}/decisions", {"count": 3}, headers=key)
    assert other.status == 422
    assert "was used for a different ask" in other.detail
    rows = {"rows": [{**ROW, "banner": "red", "discount": "none"}]}
    assert call("POST", f"{shop}/imports", rows, headers=key).status == 422
    assert call("POST", f"{shop}/imports", rows, headers={"Idempotency-Key": "log"}).json == {"imported": 1}
    assert call("POST", f"{shop}/imports", rows, headers={"Idempotency-Key": "log"}).json == {"imported": 0}
    assert call("POST", f"{shop}/decisions", {}, headers={"Idempotency-Key": ""}).status == 422
    assert call("GET", f"{shop}/decisions").json["decisions"][-1]["id"] == 2


def test_tags_say_whether_anything_changed(call: Caller) -> None:
    shop = call.create()
    told(call, shop)
    paths = ("", "/settings", "/estimates", "/sets", "/decisions", "/decisions/1", "/export.csv")
    tags = {path: call("GET", shop + path).headers["etag"] for path in paths}
    assert len(set(tags.values())) == 1
    for path, tag in tags.items():
        same = call("GET", shop + path, headers={"if-none-match": tag})
        assert (same.status, same.content, same.headers["etag"]) == (304, b"", tag)
    call("POST", f"{shop}/decisions", {})
    for path, tag in tags.items():
        assert call("GET", shop + path, headers={"if-none-match": tag}).status == 200


def test_batches(call: Caller) -> None:
    shop = call.create()
    call("POST", f"{shop}/decisions", {"count": 6})
    lines = b'{"id": 1, "clicked": 1, "cart": "some", "purchase": 1}\n\n{"id": 2, "clicked": 0}\n'
    ndjson = {"content-type": "application/x-ndjson"}
    assert call("POST", f"{shop}/outcomes", content=lines, headers=ndjson).json == {"told": 2}
    assert call("POST", f"{shop}/outcomes", content=lines, headers=ndjson).json == {"told": 0}
    columns = {"columns": {"id": [3, 4], "clicked": [1, None], "cart": ["full", "full"], "purchase": [0, 1]}}
    assert call("POST", f"{shop}/outcomes", columns).json == {"told": 2}
    before = call("GET", f"{shop}/decisions").json
    for body, sentence in (
        ([{"id": 5, "clicked": 1}, {"id": 6, "clicked": 7}], "row 2: 7 is not a level of 'clicked'"),
        ([{"id": 5, "clicked": 1}, {"id": 99, "clicked": 1}], "row 2: decision 99 is not known"),
        ([{"id": 5, "clickd": 1}], "'clickd' is not a variable of this study"),
        ([{"id": 5, "clicked": [1]}], "row 1: "),
        ([5], "row 1 is 5; expected an object"),
        ([{"id": 5, "clicked": 1}, [6]], "row 2 is [6]; expected an object"),
        ([{"clicked": 1}], "expected id or key, and some of"),
        ({"columns": {"id": [5, 6], "clicked": [1]}}, "different lengths"),
        ({"rows": []}, "the body is one object without columns; expected a list of rows, or"),
        ("x", "the body is 'x'; expected an array of rows, or an object with columns"),
    ):
        refused = call("POST", f"{shop}/outcomes", body)
        assert refused.status in (404, 422)
        assert sentence in refused.detail
    broken = call("POST", f"{shop}/outcomes", content=lines + b'{"id": 5, "cl', headers=ndjson)
    assert (broken.status, "line 4 is not JSON" in broken.detail) == (400, True)
    for cut in (
        b"[",
        b'[{"id": 5, "clicked": 1}',
        b'[{"id": 5, "clicked": 1},',
        b'[{"id": 5, "cl',
        b"[{} {}]",
        b"[{}] x",
        b"\xff",
    ):
        broken = call("POST", f"{shop}/outcomes", content=cut, headers={"content-type": "application/json"})
        assert (broken.status, "is not JSON" in broken.detail) == (400, True), cut
    assert call("GET", f"{shop}/decisions").json == before
    assert call("POST", f"{shop}/outcomes?final=true", [{"id": 5, "purchase": 1}]).json == {"told": 1}
    imported = b'{"banner":"red","discount":"none","clicked":1,"cart":"some","purchase":1}\n'
    assert call("POST", f"{shop}/imports", content=imported * 3, headers=ndjson).json == {"imported": 3}


def test_declared_metrics(call: Caller, storage: str) -> None:
    """A guardrail metric is told like any variable: alone, in every kind of batch, and by the client."""
    options: dict[str, Any] = {"metrics": {"refund": "bool", "minutes": "float"}, "guardrails": {"refund": ["<=", 0.5]}}
    shop = call.create(**options)
    call("POST", f"{shop}/decisions", {"count": 5})
    assert call("PATCH", f"{shop}/decisions/1", {"mediators": {"refund": 1}}).status == 200
    assert call("POST", f"{shop}/outcomes", [{"id": 2, "refund": 0, "minutes": 2.5}]).json == {"told": 1}
    ndjson = {"content-type": "application/x-ndjson"}
    assert call("POST", f"{shop}/outcomes", content=b'{"id": 3, "refund": 1}', headers=ndjson).json == {"told": 1}
    columns = {"columns": {"id": [4], "clicked": [1], "cart": ["some"], "purchase": [0], "refund": [0]}}
    assert call("POST", f"{shop}/outcomes", columns).json == {"told": 1}
    row = {"banner": "red", "discount": "none", "clicked": 1, "cart": "some", "purchase": 0, "refund": 1}
    assert call("POST", f"{shop}/imports", {"rows": [row]}).json == {"imported": 1}
    refused = call("POST", f"{shop}/outcomes", [{"id": 5, "refunds": 0}])
    assert "'refunds' is not a variable of this study; expected some of 'id', 'key', 'clicked'" in refused.detail
    assert "'refund', 'minutes'" in refused.detail
    study = cb.Study.load("shop", storage=storage)
    assert study.to_frame()["refund"].to_list() == [1, 0, 1, 0, None]
    study.close()


def test_arms_by_address(call: Caller) -> None:
    shop = call.create()

    def put(arm: str, state: str) -> Any:
        return call("PUT", f"{shop}/arms/{in_path(arm)}/state", {"state": state})

    assert put("banner=red", "retired").json == {"arms": [{"banner": "red", "discount": "none"}]}
    assert put("banner=red", "retired").json == {"arms": []}
    assert len(put('{"banner": "blue", "discount": null}', "forbidden").json["arms"]) == 2
    assert len(put("banner=blue,discount=...", "allowed").json["arms"]) == 2
    assert "is retired permanently" in put("banner=red", "allowed").detail
    for odd in ("banner=green", "{", "[1]", '{"banner": {}}', "nothing=1", "x"):
        assert put(odd, "forbidden").status == 422
    assert put("banner=blue", "gone").detail == "state='gone'; expected 'allowed', 'forbidden' or 'retired'"
    added = call("POST", f"{shop}/arms", {"arm": {"banner": "green"}, "new_levels": True})
    assert added.json == {"arms": [{"banner": "green", "discount": "none"}]}
    level = call("POST", f"{shop}/levels", {"lever": "discount", "level": "20%"})
    assert {"banner": "green", "discount": "20%"} in level.json["arms"]
    asked = call("POST", f"{shop}/decisions", {"arms": [{"banner": "green", "discount": "20%"}]})
    assert asked.json[0]["arm"] == {"banner": "green", "discount": "20%"}


def test_closing_decisions(call: Caller) -> None:
    shop = call.create()
    call("POST", f"{shop}/decisions", {"count": 3})
    assert call("POST", f"{shop}/decisions/1/abandon").json == {"id": 1}
    assert call("POST", f"{shop}/decisions/1/abandon").status == 200
    assert call("PATCH", f"{shop}/decisions/1", {"reward": 1}).status == 409
    assert call("POST", f"{shop}/expire", {"older_than": 0}).json == {"expired": [2, 3]}
    statuses = [row["status"] for row in call("GET", f"{shop}/decisions").json["decisions"]]
    assert statuses == ["abandoned", "expired", "expired"]


def test_pages_of_decisions(call: Caller, storage: str) -> None:
    shop = call.create()
    told(call, shop, 7)
    seen: list[Any] = []
    after: int | None = 0
    while after is not None:
        page = call("GET", f"{shop}/decisions?after={after}&limit=3").json
        assert len(page["decisions"]) <= 3
        seen += page["decisions"]
        after = page["next"]
    frame = cb.Study.load("shop", storage=storage).to_frame()
    assert [row["id"] for row in seen] == frame["id"].to_list()
    assert [row["outcome"]["purchase"] for row in seen] == frame["purchase"].to_list()
    assert [row["arm"]["banner"] for row in seen] == frame["banner"].to_list()
    assert call("GET", f"{shop}/decisions?after=7").json == {"decisions": [], "next": None}
    for query in ("limit=0", "limit=1001", "after=-1", "after=x", "after=" + "9" * 5000):
        assert call("GET", f"{shop}/decisions?{query}").status == 422


def test_exports(call: Caller, storage: str) -> None:
    shop = call.create()
    told(call, shop)
    frame = cb.Study.load("shop", storage=storage).to_frame()
    parquet = call("GET", f"{shop}/export.parquet")
    assert pl.read_parquet(io.BytesIO(parquet.content)).equals(frame)
    assert "attachment" in parquet.headers["content-disposition"]
    assert pl.read_csv(call("GET", f"{shop}/export.csv").content)["id"].to_list() == frame["id"].to_list()


def test_exports_at_once_are_limited(call: Caller) -> None:
    shop = call.create()
    slots = call.app.state.exports_sent
    taken = 0
    while slots.acquire(blocking=False):
        taken += 1
    refused = call("GET", f"{shop}/export.csv")
    assert (refused.status, "too many exports" in refused.detail) == (503, True)
    slots.release(taken)
    for _ in range(2 * taken):
        assert call("GET", f"{shop}/export.parquet").status == 200
    assert call("GET", f"{shop}/export.csv").headers["content-length"]


def test_formulas_in_a_csv(call: Caller) -> None:
    problem = {"target": "y", "observed": {}, "interventions": {"x": ["=1+1", "b"]}}
    shop = call.create("formulas", problem=problem)
    call("POST", f"{shop}/decisions", {"arms": [{"x": "=1+1"}]})
    assert "'=1+1" in call("GET", f"{shop}/export.csv").text
    assert "'=1+1" not in call("GET", f"{shop}/export.csv?safe=false").text


BAD: list[tuple[str, str, Any, int, str]] = [
    ("POST", "/decisions", b"{", 400, "the body is not JSON"),
    ("POST", "/decisions", b"\xff\xfe", 400, "the body"),
    ("POST", "/decisions", b"[" * 100_000, 400, "the body"),
    ("POST", "/decisions", b'{"count": ' + b"9" * 5000 + b"}", 400, "the body cannot be read as JSON"),
    ("POST", "/decisions", b"", 400, "the body is empty"),
    ("POST", "/decisions", [], 422, "body=[]; "),
    ("POST", "/decisions", {"count": 0}, 422, "count=0; expected greater than or equal to 1"),
    ("POST", "/decisions", {"count": "1"}, 422, "count='1'; expected a valid integer"),
    ("POST", "/decisions", {"count": True}, 422, "count=True; "),
    (
        "POST",
        "/decisions",
        {"count": 10_001},
        422,
        "count=10001; expected at most 10,000 decisions in one request; ask",
    ),
    ("POST", "/decisions", {"count": 10**9}, 422, "count=1000000000; expected at most 10,000"),
    ("POST", "/decisions", {"n": 1}, 422, "unknown option 'n'"),
    ("POST", "/decisions", {"arms": [{"banner": "x"}]}, 422, "'x' is not a level of 'banner'"),
    ("POST", "/decisions", {"arms": []}, 422, "none of the given arms can be played"),
    ("POST", "/decisions", {"arms": [{"banner": ["red"]}]}, 422, "['red'] is not a level of 'banner'"),
    ("PATCH", "/decisions/1", {}, 422, "no values for decision 1"),
    ("PATCH", "/decisions/1", {"mediators": {"cart": "huge"}}, 422, "'huge' is not a level of 'cart'"),
    ("PATCH", "/decisions/1", {"mediators": {"x": 1}}, 422, "'x' is not an observed variable"),
    ("PATCH", "/decisions/1", {"reward": 2}, 422, "reward 'purchase' is 2; expected 0 or 1"),
    ("PATCH", "/decisions/1", {"reward": math.nan}, 422, "reward 'purchase' is nan"),
    ("PATCH", "/decisions/1", {"reward": 10**400}, 422, "reward"),
    ("PATCH", "/decisions/1", {"reward": {}}, 422, "'purchase' is {}, a dict; expected one value"),
    ("PATCH", "/decisions/1", {"mediators": [1]}, 422, "mediators=[1]; "),
    ("PATCH", "/decisions/1", {"final": 1}, 422, "final=1; "),
    ("PATCH", "/decisions/9", {"reward": 1}, 404, "decision 9 is not known"),
    ("PATCH", "/decisions/0", {"reward": 1}, 422, "id='0'; expected greater than or equal to 1"),
    ("PATCH", "/decisions/x", {"reward": 1}, 422, "id='x'; "),
    ("POST", "/decisions/9/abandon", b"", 404, "decision 9 is not known"),
    ("POST", "/expire", {"older_than": -1}, 422, "older_than=-1"),
    ("POST", "/expire", {}, 422, "older_than is missing"),
    ("POST", "/imports", {}, 422, "an import has rows or columns"),
    ("POST", "/imports", {"rows": []}, 422, "no rows"),
    ("POST", "/imports", {"rows": [{"banner": "red"}]}, 422, "the table has no column"),
    ("POST", "/imports", {"columns": {"clicked": [1], "cart": ["some"], "purchase": [1]}, "arm": {"x": 1}}, 422, "'x'"),
    ("GET", "/estimates?level=2", None, 422, "level='2'; expected less than 1"),
    ("GET", "/recommendation?margin=-1", None, 422, "margin=-1.0"),
    ("GET", "/evaluation", None, 422, "arm is missing"),
    ("GET", "/evaluation?arm=banner%3Dx", None, 422, "'x' is not a level"),
    ("GET", "/evaluation?arm=banner%3Dred&method=odd", None, 422, "method='odd'"),
    ("GET", "/evaluation?arm=banner%3Dred&share=1&share=1", None, 422, "give a share for each arm"),
    ("GET", "/evaluation?arm=a%0D%3Db", None, 422, "is not of the form lever=value"),
    ("GET", "/decisions/9/explanation", None, 404, "decision 9 is not known"),
    ("GET", "/nothing", None, 404, "no page or route has this address"),
    ("PUT", "/decisions", {}, 405, "method not allowed"),
]


def test_bad_requests_are_one_sentence_and_change_nothing(call: Caller) -> None:
    """One study for all of them, since each must leave it as it was."""
    shop = call.create()
    call("POST", f"{shop}/decisions", {})
    tag = call("GET", f"{shop}/settings").headers["etag"]
    for method, path, body, status, sentence in BAD:
        json_type = {"content-type": "application/json"}
        if isinstance(body, bytes):
            answered = call(method, shop + path, content=body, headers=json_type)
        else:
            answered = call(method, shop + path) if body is None else call(method, shop + path, body)
        assert answered.status == status, (method, path, body, answered.text)
        assert sentence in answered.detail, (method, path, body, answered.detail)
        assert len(answered.detail) < 600
    assert call("GET", f"{shop}/settings").headers["etag"] == tag


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"name": ""}, "name=''"),
        ({"name": "   "}, "name=' '"),
        ({"name": ".."}, "cannot be part of a URL"),
        ({"name": 3}, "name=3; expected a valid string"),
        ({"name": "\ud800"}, "is not valid Unicode"),
        ({"problem": {}}, "target"),
        ({"problem": {**SHOP, "target": "clicked"}}, "is also listed as observed"),
        ({"problem": {**SHOP, "levers": 1}}, "levers"),
        ({"problem": []}, "problem=[]; expected a valid dictionary"),
        ({"policy": "greedy"}, "greedy"),
        ({"options": {"alpha": 1}}, "alpha"),
        ({"seed": -1}, "seed=-1"),
        ({"expire_after": 0}, "expire_after=0"),
        ({"color": 1}, "unknown option 'color'"),
    ],
)
def test_studies_that_cannot_be(call: Caller, change: dict[str, Any], sentence: str) -> None:
    body = {"name": "shop", "problem": SHOP, "policy": "ts", **change}
    answered = call("POST", "/api/v1/studies", body)
    assert answered.status == 422, answered.text
    assert sentence in answered.detail
    assert call("GET", "/api/v1/studies").json == []


def test_names_are_shown_as_text(call: Caller) -> None:
    long = "x" * 1_000
    names = [
        "<script>alert(1)</script>",
        "../x",
        "a/b",
        "%2F",
        "100%",
        "?q#f",
        "😀",
        "\u202eright to left",
        long,
        "ü.",
        "a\nb",
    ]
    for name in names:
        problem = {"target": "<b id=z>", "observed": {}, "interventions": {"<i>": ["<u>", "&", "\x1b[31m", "\u202e"]}}
        where = call.create(name, problem=problem)
        call("POST", f"{where}/decisions", {})
        assert call("GET", f"{where}/settings").json["name"] == name
        page = call("GET", where.removeprefix("/api/v1"))
        assert page.status == 200
        for tag in ("<script>alert", "<b id=z>", "<i>", "<u>", "\u202e", "\x1b"):
            assert tag not in page.text
        assert "\\x1b[31m" in page.text
    listed = call("GET", "/")
    assert "&lt;script&gt;alert(1)&lt;/script&gt;" in listed.text
    assert long in listed.text
    assert "😀" in listed.text
    assert "<script>alert" not in listed.text
    assert [row["name"] for row in call("GET", "/api/v1/studies").json] == names


def test_a_prefix(open_app: OpenApp) -> None:
    call = open_app(root_path="/bandits")
    shop = call.create("a/b")
    assert shop == "/bandits/api/v1/studies/a%2Fb"
    for path in (shop, shop.removeprefix("/bandits")):  # a proxy may strip the prefix or leave it
        assert call("GET", path).json["name"] == "a/b"
    assert 'href="/bandits/studies/a%2Fb"' in call("GET", "/bandits/").text
    assert 'href="/bandits/static/site.css"' in call("GET", "/").text
    assert call("GET", "/bandits").status == 200
    assert call("GET", "/bandits/openapi.json").json["servers"] == [{"url": "/bandits"}]


def test_operations(call: Caller) -> None:
    shop = call.create('odd"name')
    told(call, shop)
    assert call("GET", "/healthz").json == {"status": "ok"}
    assert call("GET", "/readyz").json == {"status": "ok"}
    text = call("GET", "/metrics").text
    assert 'causal_bandits_requests_total{route="/api/v1/studies/{name}/decisions",method="POST",status="201"' in text
    assert "odd" not in text
    lines = {line.partition("{")[0]: line.rpartition(" ")[2] for line in text.splitlines() if line[0] != "#"}
    assert lines["causal_bandits_decisions_total"] == "3"
    assert lines["causal_bandits_outcomes_total"] == "3"


def test_the_document_has_every_route_and_examples(call: Caller) -> None:
    document = call("GET", "/openapi.json").json
    ours = {(route.path, method) for route in call.app.routes if "/api/" in route.path for method in route.methods}  # type: ignore[attr-defined]
    documented = {(path, method.upper()) for path, item in document["paths"].items() for method in item}
    assert ours <= documented
    assert document["security"] == [{"token": []}]
    for name in ("NewStudy", "Ask", "Outcome", "Rows", "ArmState", "NewArm", "AddLevel", "Expire", "Problem"):
        assert document["components"]["schemas"][name]["examples"], name
    references = json.dumps(document)
    for name in {part.split('"')[0] for part in references.split("#/components/schemas/")[1:]}:
        assert name in document["components"]["schemas"]


def test_a_storage_that_went_away(call: Caller, storage: str, tmp_path: Any) -> None:
    shop = call.create()
    file = tmp_path / "studies.db"
    elsewhere = tmp_path / "elsewhere.db"
    file.rename(elsewhere)
    for method, path in (("POST", f"{shop}/decisions"), ("GET", shop), ("GET", "/api/v1/studies")):
        answered = call(method, path, {}) if method == "POST" else call(method, path)
        assert answered.status == 503, (path, answered.text)
        assert "storage" in answered.detail
    assert [call("GET", path).status for path in ("/healthz", "/readyz")] == [200, 503]
    assert not file.exists()  # nothing was made again
    elsewhere.rename(file)
    assert call("POST", f"{shop}/decisions", {}).status == 201
    assert call("GET", "/readyz").status == 200


def test_an_error_nobody_expected_is_one_sentence(
    call: Caller, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    shop = call.create()

    def broken(self: cb.Study, *_: object, **__: object) -> None:
        raise RuntimeError("secret of the inside")

    monkeypatch.setattr(cb.Study, "ask", broken)
    answered = call("POST", f"{shop}/decisions", {})
    assert answered.status == 500
    assert "secret" not in answered.text
    assert "see the server log" in answered.detail
    assert "secret of the inside" in caplog.text


def test_durations_are_texts_or_seconds(call: Caller) -> None:
    call.create(reward_window="14d", expire_after=2_000_000)
    found = call("GET", "/api/v1/studies/shop/settings").json["rules"]
    assert (found["reward_window"], found["expire_after"]) == (14 * 86_400, 2_000_000)
    refused = call("POST", "/api/v1/studies", {"name": "odd", "problem": SHOP, "reward_window": "14 moons"})
    assert refused.status == 422
    assert "14 moons" in refused.detail


def test_what_is_read_changes_when_a_reward_window_closes(call: Caller) -> None:
    place = call.create(reward_window=60)
    call("POST", f"{place}/decisions", {})
    call("PATCH", f"{place}/decisions/1", {"mediators": {"clicked": 1, "cart": "some"}})
    looking = call.app.state.registry.look("shop", lambda study: study)
    now = looking._session.clock()
    looking._session.clock = lambda: now
    before = call("GET", f"{place}/estimates")
    same = call("GET", f"{place}/estimates", headers={"If-None-Match": before.headers["etag"]})
    assert same.status == 304
    looking._session.clock = lambda: now + 60
    after = call("GET", f"{place}/estimates", headers={"If-None-Match": before.headers["etag"]})
    assert after.status == 200
    assert sum(row["own_rows"] for row in after.json) == 1
    page = call("GET", "/studies/shop")
    assert page.headers["etag"] == after.headers["etag"]


def test_every_segment_gets_advice(call: Caller) -> None:
    problem = {**SHOP, "segments": {"device": ["phone", "desktop"]}}
    place = call.create("by device", problem=problem)
    found = call("GET", f"{place}/advice").json
    assert [each["segment"] for each in found] == [{"device": "phone"}, {"device": "desktop"}]
    one = call("GET", f"{place}/advice?segment=%7B%22device%22%3A%22phone%22%7D").json
    assert one == found[0]
    assert one["arm"] is None


@pytest.mark.parametrize(
    ("method", "path", "sentence"),
    [
        ("GET", "/estimates?levl=0.9", "unknown parameter 'levl' (did you mean 'level'?); expected"),
        ("GET", "?history=true&x=1", "unknown parameter 'x'; expected 'history'"),
        ("GET", "/finish?x=1", "unknown parameter 'x'; this address takes no parameters"),
        ("POST", "/decisions?count=3", "unknown parameter 'count'; this address takes no parameters"),
        ("DELETE", "?force=1", "unknown parameter 'force'; this address takes no parameters"),
    ],
)
def test_an_unknown_parameter_is_refused(call: Caller, method: str, path: str, sentence: str) -> None:
    address = call.create()
    body: dict[str, Any] | None = {} if method == "POST" else None
    refused = call(method, f"{address}{path}", body)
    assert (refused.status, refused.json["error"]) == (422, "OptionError")
    assert sentence in refused.json["detail"]
    assert call("GET", f"{address}/estimates?level=0.9").status == 200


def test_one_outcome_where_many_are_expected(call: Caller) -> None:
    address = call.create()
    made = call("POST", f"{address}/decisions", {}).json
    refused = call("POST", f"{address}/outcomes", {"id": made[0]["id"], "purchase": 1})
    assert refused.status == 422
    assert "expected a list of rows, or an object with columns" in refused.json["detail"]

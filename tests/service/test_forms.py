"""What the forms of the dashboard do, and what they refuse: nothing happens before it is confirmed."""

import json
import logging
import re
from html import unescape
from typing import Any
from urllib.parse import urlencode

import pytest

from causal_bandits.reporting.axes import seconds_of, time_words

from .calls import ADMIN, READ, TOKENS, Answered, Caller

FORM = {"content-type": "application/x-www-form-urlencoded", "origin": "http://localhost"}
NEW = {
    "name": "landing",
    "levers": "headline: plain, social\r\nshipping: free, current",
    "mediators": "clicked: 2\ncart: empty, some, full",
    "target": "purchase",
    "reward": "binary",
    "names": "headline: Headline\nheadline=social: Social proof",
    "option title": "Landing page",
    "option description": "Which page sells best?",
    "option control_share": "0.1",
    "option reward_window": "7d",
    "option guardrails": "clicked>=0.1",
    "option seed": "3",
}


def send(call: Caller, page: str, /, **fields: str) -> Answered:
    return call("POST", page, content=urlencode(fields).encode(), headers=FORM)


def confirmed(call: Caller, page: str, /, **fields: str) -> Answered:
    """Send a form, then the one that asks for confirmation, with the fields that it has."""
    asked = send(call, page, **fields)
    assert asked.status == 200, alarm(asked)
    hidden = re.findall(r'<input type="hidden" name="(.*?)" value="(.*?)">', asked.text)
    found = {unescape(name): unescape(value) for name, value in hidden}
    assert found == {**fields, "confirmed": "yes"}
    return send(call, page, **found)


def alarm(answered: Answered) -> str:
    found = re.search(r'role="alert">(.*?)</p>', answered.text, re.DOTALL)
    return unescape(re.sub(r"<[^>]*>", "", found[1])) if found else ""


def statuses(call: Caller) -> dict[str, str]:
    rows = call("GET", "/api/v1/studies/shop").json["arms"]
    return {row["label"]: row["status"] for row in rows}


def test_arms_and_levels(call: Caller) -> None:
    call.create()
    before = statuses(call)
    asked = send(call, "/studies/shop/manage", **{"do": "forbid", "lever banner": "red", "lever discount": ""})
    assert "2 arms will not be chosen until allowed again" in asked.text
    assert "banner=red, discount=10%" in asked.text
    assert statuses(call) == before, "nothing happened yet"
    red = {"lever banner": "red", "lever discount": ""}
    assert confirmed(call, "/studies/shop/manage", do="forbid", **red).status == 303
    assert sum(status == "forbidden" for status in statuses(call).values()) == 2
    assert confirmed(call, "/studies/shop/manage", do="allow", **red).status == 303
    assert statuses(call) == before
    one = {"lever banner": "blue", "lever discount": "10%"}
    assert confirmed(call, "/studies/shop/manage", do="retire", **one).status == 303
    assert statuses(call)["banner=blue, discount=10%"] == "retired"
    assert confirmed(call, "/studies/shop/manage", do="add-level", lever="banner", level="green").status == 303
    assert statuses(call)["banner=green, discount=none"] == "never played"
    told = [row["says"] for row in call("GET", "/api/v1/studies/shop/audit").json]
    assert told == [
        "added 2 arms: banner=green, discount=none; banner=green, discount=10%",
        "retired 1 arm: banner=blue, discount=10%",
        "allowed 2 arms: banner=red, discount=none; banner=red, discount=10%",
        "forbidden 2 arms: banner=red, discount=none; banner=red, discount=10%",
        "created the study",
    ]
    page = call("GET", "/studies/shop/manage").text
    assert all(says in page for says in told)


def test_annotations(call: Caller) -> None:
    address = call.create()
    release = {"do": "annotate", "date": "2026-11-18", "time": "14:30", "text": "<b>release</b>"}
    assert confirmed(call, "/studies/shop/manage", **release).status == 303
    (found,) = call("GET", f"{address}/annotations").json
    assert found == {"time": "2026-11-18T14:30:00+00:00", "text": "<b>release</b>"}
    assert "&lt;b&gt;release&lt;/b&gt;" in call("GET", "/studies/shop/manage").text
    assert confirmed(call, "/studies/shop/manage", **{**release, "text": ""}).status == 303
    assert call("GET", f"{address}/annotations").json == []


def test_decisions_are_excluded(call: Caller) -> None:
    address = call.create()
    made = call("POST", f"{address}/decisions", {"count": 40}).json
    for key in ("bot-1", "bot-2", "visitor"):
        call("POST", f"{address}/decisions", {"key": key})
    red = sum(each["arm"]["banner"] == "red" for each in made)
    bots = {"do": "exclude", "key_prefix": "bot-", "reason": "<bots>"}
    asked = send(call, "/studies/shop/manage", **bots)
    assert "2 decisions of 43 will not count in any result" in asked.text
    assert "Reason: &lt;bots&gt;" in asked.text
    assert call("GET", address).json["decisions"]["excluded"] == 0, "nothing happened yet"
    assert confirmed(call, "/studies/shop/manage", **bots).status == 303
    assert call("GET", address).json["decisions"]["excluded"] == 2
    old = {"since": "2020-01-01T00:00", "until": "2020-01-02T00:00"}
    none = send(call, "/studies/shop/manage", do="exclude", reason="release", **old)
    assert (none.status, "no decision matches" in alarm(none)) == (422, True)
    first = {"since": "2020-01-01T00:00", "until": "2999-01-01T00:00", "lever banner": "red", "lever discount": ""}
    assert confirmed(call, "/studies/shop/manage", do="exclude", reason="release", **first).status == 303
    excluded = call("GET", address).json["decisions"]["excluded"]
    assert red + 2 <= excluded <= red + 3  # the visitor may have seen the red banner, too
    told = [row["says"] for row in call("GET", "/api/v1/studies/shop/audit").json]
    assert "bots" in told[1]
    assert "release" in told[0]


def test_a_study_is_finished(call: Caller) -> None:
    address = call.create()
    for _ in range(3):
        made = call("POST", f"{address}/decisions", {"count": 10}).json
        told = [{"id": each["id"], "clicked": 1, "cart": "some", "purchase": each["id"] % 2} for each in made]
        assert call("POST", f"{address}/outcomes", told).status == 200
    call("POST", f"{address}/decisions", {"count": 1})
    asked = send(call, "/studies/shop/manage", do="finish")
    winner = call("GET", f"{address}/recommendation").json["arm"]
    for says in ("1 open decision will be closed", "This cannot be undone", "banner=" + winner["banner"]):
        assert says in asked.text
    assert call("GET", f"{address}/finish").json is None, "nothing happened yet"
    assert confirmed(call, "/studies/shop/manage", do="finish").status == 303
    final = call("GET", f"{address}/finish").json
    assert (final["answer"]["arm"], final["left_out"]) == (winner, 1)
    for page in ("", "/manage"):
        text = call("GET", f"/studies/shop{page}").text
        assert "inished" in text
        assert "Keep going" not in text
        assert "At this rate" not in text
        assert '<form method="post" class="stack"' not in text
    name = ", ".join(f"{lever}={level}" for lever, level in winner.items())
    report = call("GET", "/studies/shop/report").text
    assert f"Finished on {time_words(seconds_of(final['time']))}" in report
    for text in (call("GET", "/studies/shop").text, report):
        assert f"The winner is {name} (purchase" in text
    assert "At this rate" not in report
    advice = call("GET", f"{address}/advice").json
    assert (advice["action"], advice["arm"], advice["drop"]) == ("finished", winner, [])
    again = send(call, "/studies/shop/manage", do="finish", confirmed="yes")
    assert "a study is finished once" in alarm(again)


@pytest.mark.parametrize(
    ("fields", "sentence"),
    [
        ({"do": "finish"}, "no data yet"),
        ({"do": "exclude", "reason": "bots"}, "no decisions are selected"),
        ({"do": "exclude", "key_prefix": "bot-", "reason": " "}, "the reason is empty"),
        ({"do": "exclude", "since": "soon", "reason": "x"}, "since='soon'; expected"),
        ({"do": "explode"}, "do='explode'; expected one of retire, forbid"),
        ({"do": "retire"}, "in play and cannot be removed"),
        ({"do": "retire", "lever banner": "pink"}, "'pink' is not a level of 'banner'"),
        ({"do": "allow", "lever banner": "red"}, "no arm with these levels would change"),
        ({"do": "add-level", "lever": "banner", "level": " "}, "the new level is empty"),
        ({"do": "add-level", "lever": "banner", "level": "red"}, "already has the level 'red'"),
        ({"do": "add-level", "lever": "hat", "level": "red"}, "'hat' is not a lever"),
        ({"do": "annotate", "date": "soon", "text": "x"}, "at='soonT00:00'; expected a date"),
    ],
)
def test_what_cannot_be_done_is_said(call: Caller, fields: dict[str, str], sentence: str) -> None:
    call.create()
    refused = send(call, "/studies/shop/manage", **fields)
    assert refused.status == 422
    assert sentence in alarm(refused)
    assert len(call("GET", "/api/v1/studies/shop/audit").json) == 1


def test_a_study_from_the_form(call: Caller) -> None:
    previewed = send(call, "/new", **NEW, do="preview")
    assert previewed.status == 200
    shown = re.search(r'<pre id="preview" tabindex="0">(.*?)</pre>', previewed.text, re.DOTALL)
    assert shown is not None
    body: dict[str, Any] = json.loads(unescape(shown[1]))
    assert call("GET", "/api/v1/studies").json == []
    made = send(call, "/new", **NEW, do="create")
    assert (made.status, made.headers["location"]) == (303, "/studies/landing")
    assert call("POST", "/api/v1/studies", body).status == 200, "the preview is what was created"
    page = call("GET", "/studies/landing").text
    assert "<h1><bdi>Landing page</bdi></h1>" in page
    assert "Which page sells best?" in page
    assert "Headline=Social proof, shipping=current" in page
    about = call("GET", "/api/v1/studies/landing").json
    assert about["arms"][0]["label"].startswith("Headline=")
    assert next(row for row in about["arms"] if row["is_control"])["arm"]["shipping"] == "current"
    again = send(call, "/new", **NEW, do="create")
    assert (again.status, alarm(again)) == (422, "Not yet: study 'landing' already exists; use another name")


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"name": " "}, "expected the name of the study"),
        ({"name": ".."}, "cannot be part of a URL"),
        ({"levers": "headline"}, "levers: 'headline' is not of the form name: value"),
        ({"levers": "headline: plain"}, "a variable needs at least 2"),
        ({"target": ""}, "target"),
        ({"names": "hat: Hat"}, "names has 'hat'"),
        ({"option control_share": "2"}, "control_share=2"),
        ({"option guardrails": "clicked"}, "expected metric<=limit"),
        ({"option options": "{"}, "options is not JSON"),
    ],
)
def test_a_form_that_is_not_complete(call: Caller, change: dict[str, str], sentence: str) -> None:
    for button in ("preview", "create"):
        refused = send(call, "/new", **{**NEW, **change, "do": button})
        assert refused.status == 422
        assert sentence in alarm(refused)
    assert call("GET", "/api/v1/studies").json == []


def test_only_admins_on_pages_of_this_server(tmp_path: Any, caplog: pytest.LogCaptureFixture) -> None:
    call = Caller.to(f"sqlite:///{tmp_path}/s.db", TOKENS)
    call.token = ADMIN
    call.create()
    body = urlencode({"do": "retire", "lever banner": "red", "confirmed": "yes"}).encode()
    for odd in ({}, {"origin": "http://evil.example"}, {"origin": "null"}):
        headers = {"content-type": FORM["content-type"], **odd}
        assert call("POST", "/studies/shop/manage", content=body, headers=headers).status == 403
    assert call("POST", "/studies/shop/manage", {"do": "retire"}, headers={"origin": "http://localhost"}).status == 415
    call.token = READ
    assert call("POST", "/studies/shop/manage", content=body, headers=FORM).status == 403
    page = call("GET", "/studies/shop/manage").text
    assert "<form" not in page.partition("<main")[2]
    assert "scope admin" in page
    assert "New study" not in call("GET", "/").text
    call.token = ADMIN
    with caplog.at_level(logging.INFO, "causal_bandits.audit"):
        assert call("POST", "/studies/shop/manage", content=body.replace(b"yes", b"no"), headers=FORM).status == 200
        assert not caplog.records
        assert call("POST", "/studies/shop/manage", content=body, headers=FORM).status == 303
    (line,) = [record.getMessage() for record in caplog.records]
    assert re.fullmatch(r"POST /studies/shop/manage: 303, from 127.0.0.1 by token [0-9a-f]{8}", line)
    assert ADMIN not in line
    call.close()


def test_decisions_are_filtered(call: Caller) -> None:
    address = call.create()
    made = call("POST", f"{address}/decisions", {"count": 120}).json
    told = [{"id": each["id"], "clicked": 1, "cart": "some", "purchase": 0} for each in made[:20]]
    assert call("POST", f"{address}/outcomes", told).status == 200
    red = [each["id"] for each in made if each["arm"]["banner"] == "red"]

    def ids(query: str) -> list[int]:
        text = call("GET", f"/studies/shop/decisions?{query}").text
        return [int(found) for found in re.findall(r'/decisions/(\d+)">', text)]

    assert ids("status=told") == [*range(20, 0, -1)]
    assert ids("lever+banner=red") == red[::-1][:50]
    assert ids("status=told&lever+banner=red") == [each for each in red[::-1] if each <= 20]
    assert ids("since=2999-01-01") == []
    assert ids("until=2999-01-01&before=71") == [*range(70, 20, -1)]
    assert ids("before=121") == [*range(120, 70, -1)]
    page = call("GET", "/studies/shop/decisions?until=2999-01-01&before=71").text
    assert re.findall(r'href="\?(.*?)" rel="(.*?)"', page) == [
        ("until=2999-01-01&amp;before=121", "prev"),
        ("until=2999-01-01&amp;before=21", "next"),
    ]
    for odd in ("status=lost", "since=soon", "lever+banner=pink"):
        assert "expected" in alarm(call("GET", f"/studies/shop/decisions?{odd}"))


def test_two_studies_side_by_side(call: Caller) -> None:
    for name in ("one", "two"):
        address = call.create(name, title=f"Study {name}")
        call("POST", f"{address}/decisions", {"count": 5})
    page = call("GET", "/compare?left=one&right=two").text
    assert page.index("Study one</bdi></a>") < page.index("Study two</bdi></a>")
    assert page.count("No data yet") == 2
    assert call("GET", "/compare?left=one&right=three", headers={"accept": "text/html"}).status == 404


def test_a_page_without_data_has_no_numbers(call: Caller) -> None:
    address = call.create()
    call("POST", f"{address}/decisions", {"count": 3})
    page = call("GET", "/studies/shop").text
    table = page.partition('<table class="arms">')[2].partition("</table>")[0]
    assert "No data yet" in page
    assert "<dt>Control</dt>" not in page
    shown = re.sub(r"<[^>]*>", " ", table.partition("<tbody>")[2])
    assert not re.search(r"\d%(?! *\s)| pp|0 \+ [1-9]", shown.replace("discount=10%", ""))


def test_the_report_is_downloaded(call: Caller) -> None:
    call.create()
    found = call("GET", "/studies/shop/report")
    assert found.headers["content-disposition"] == 'attachment; filename="report.html"'
    assert found.text.startswith("<!doctype html>")

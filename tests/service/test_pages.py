"""The pages: what they say, whatever names hold, and what they cost."""

import re
import threading
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from causal_bandits import Problem, Study
from causal_bandits.core.markup import printable
from causal_bandits.product.service.pages import views
from causal_bandits.product.studies.funnel import difference, moments
from causal_bandits.reporting.courses import chances_over_time

from .calls import SHOP, Caller

PAGES = ("", "/sets", "/funnel", "/decisions", "/decisions/1", "/health", "/manage", "?arms=all")


def play(call: Caller, address: str, count: int) -> None:
    made = call("POST", f"{address}/decisions", {"count": count}).json
    rows = [
        {"id": each["id"], "clicked": each["id"] % 2, "cart": "some", "purchase": int(each["id"] % 3 == 0)}
        for each in made
    ]
    assert call("POST", f"{address}/outcomes", rows).status == 200


def test_pages_of_a_study(call: Caller) -> None:
    """From the first decision on every page is there, with a sentence first and no inline script or style."""
    address = call.create()
    assert "No data yet: nothing is recommended" in call("GET", "/studies/shop").text
    for count in (1, 40):
        play(call, address, count)
        for page in PAGES:
            found = call("GET", f"/studies/shop{page}")
            assert found.status == 200, page
            assert len(found.content) < 150_000
            assert not re.search(r"<script(?! src=)|<style|\sstyle=|\son\w+=", found.text), page
    text = call("GET", "/studies/shop").text
    assert text.index('class="lead"') < text.index("<table")
    assert "Keep going" in text
    assert "control" in text
    assert "purchase" in text
    assert "shop" in call("GET", "/").text


def test_rewards_in_open_windows_are_not_called_no_data(call: Caller) -> None:
    """Rewards count when their window has closed: until then the sentence says so, on pages and in answers."""
    address = call.create(reward_window="7d")
    play(call, address, 40)
    waits = "40 rewards count when 7 days have passed since the decision"
    page = call("GET", "/studies/shop").text
    assert f"Nothing is recommended yet: {waits}." in page
    assert "No data yet" not in page
    assert call("GET", f"{address}/recommendation").detail == f"no row counts yet, so nothing is recommended; {waits}"
    assert call("GET", f"{address}/advice").json["held"] == f"{waits}."
    assert "no row counts yet" in call("GET", f"{address}/advice").json["text"]
    assert "window of 7 days to close" in call("GET", "/studies/shop/health").text


def test_checks_of_a_large_study_are_those_of_its_view(call: Caller, monkeypatch: pytest.MonkeyPatch) -> None:
    """They take seconds, in which the study could not decide."""
    address = call.create()
    play(call, address, 20)
    few = call("GET", "/studies/shop/health").text
    monkeypatch.setattr(views, "LARGE", 1)
    monkeypatch.setattr(Study, "health", None)
    large = call("GET", "/studies/shop/health").text
    listed = re.compile(r"<b>([a-z-]+)</b>: <bdi>")
    assert len(listed.findall(few)) > 5
    assert listed.findall(large) == listed.findall(few)


def test_the_first_look_at_a_large_study_blocks_no_decision(
    call: Caller, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What takes seconds is computed from a copy: meanwhile somebody asks, in the same process."""
    study = Study.create("large", Problem(**SHOP), storage=f"sqlite:///{tmp_path}/large.db", seed=1)
    study.tell_many([{"id": each.id, "clicked": 1, "cart": "some", "purchase": 0} for each in study.ask(20)])
    asked: list[Any] = []

    def meanwhile(*arguments: Any) -> Any:
        if not asked:
            asking = threading.Thread(target=lambda: asked.append(study.ask()), daemon=True)
            asking.start()
            asking.join(20)
        return chances_over_time(*arguments)

    monkeypatch.setattr(views, "LARGE", 1)
    monkeypatch.setattr(views, "chances_over_time", meanwhile)
    seen = views.Views()
    first = seen.of(study)
    assert (first.is_newest, first.about["rows"], first.chances["rows"]) == (False, 20, [20])
    while not (newest := seen.of(study)).is_newest:
        time.sleep(0.01)
    assert [each.id for each in asked] == [21]
    assert newest.chances["rows"] == [5, 10, 15, 20]
    study.close()


def test_every_segment_is_shown(call: Caller) -> None:
    problem = {**SHOP, "interventions": {"banner": [f"b{n}" for n in range(8)]}, "segments": {"device": ["pc", "tv"]}}
    address = call.create(problem=problem)
    for device in ("pc", "tv"):
        made = call("POST", f"{address}/decisions", {"count": 24, "segment": {"device": device}}).json
        rows = [{"id": each["id"], "clicked": 0, "cart": "some", "purchase": each["id"] % 2} for each in made]
        assert call("POST", f"{address}/outcomes", rows).status == 200
    text = call("GET", "/studies/shop").text
    table = text[text.index('<table class="arms">') : text.index("</table>")]
    assert table.count(" | device=pc</bdi>") == table.count(" | device=tv</bdi>") == 6
    assert "&lt;svg" not in text
    compared = call("GET", "/compare?left=shop").text
    assert "Probability of being the best: <bdi>device=tv</bdi>" in compared
    assert "Against control" not in compared, "there is no control for all segments"


def test_nothing_new_is_304_and_what_is_unknown_404(call: Caller) -> None:
    address = call.create()
    play(call, address, 2)
    found = call("GET", "/studies/shop")
    assert call("GET", "/studies/shop", headers={"if-none-match": found.headers["etag"]}).status == 304
    missing = call("GET", "/studies/other", headers={"accept": "text/html"})
    assert missing.status == 404
    assert missing.headers["content-type"].startswith("text/html")
    assert call("GET", "/studies/shop/decisions/99").status == 404


@pytest.mark.parametrize("name", ["<script>alert(1)</script>", "../x", "😀 shop", "שלום \u202eevil", "x" * 1_000])
def test_names_are_shown_as_text(call: Caller, name: str) -> None:
    problem = {**SHOP, "interventions": {name: ["none", name], "discount": ["none", "10%"]}}
    address = call.create(name, problem=problem)
    made = call("POST", f"{address}/decisions", {"count": 3}).json
    assert len(made) == 3
    for page in ("", "/funnel", "/decisions", "/decisions/1"):
        found = call("GET", address.removeprefix("/api/v1") + page)
        assert found.status == 200
        assert "<script>alert" not in found.text
        assert "\u202e" not in found.text
        assert len(found.content) < 150_000
    shown = printable(name).replace("<", "&lt;").replace(">", "&gt;")
    assert f"<bdi>{shown}</bdi>" in call("GET", address.removeprefix("/api/v1")).text


def test_many_arms_are_drawn_when_asked_for(call: Caller) -> None:
    levels = [f"b{number}" for number in range(150)]
    call.create(problem={**SHOP, "interventions": {"banner": levels, "discount": ["none", "10%"]}})
    text = call("GET", "/studies/shop").text
    assert text.count('<td class="wide">') == 12
    assert "12 of 300 arms" in text
    assert call("GET", "/studies/shop?arms=all").text.count('<td class="wide">') == 300


def test_difference_is_that_of_pairs_of_arms() -> None:
    """Two strata with the same difference and other levels: the pooled difference is exact, a plain one is not."""
    cells = np.repeat([0, 1, 2, 3], [10, 40, 40, 10])
    values = np.repeat([0.1, 0.3, 0.6, 0.8], [10, 40, 40, 10]) + np.tile([-0.01, 0.01], 50)
    found = difference([(1, 0), (3, 2)], moments(cells, values, 4))
    assert found is not None
    assert found.value == pytest.approx(0.2)
    assert found.low < 0.2 < found.high
    assert found.rows == 100
    assert difference([(0, 1)], moments(cells[:10], values[:10], 4)) is None

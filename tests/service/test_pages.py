"""The pages: what they say, whatever names hold, and what they cost."""

import re

import numpy as np
import pytest

from causal_bandits.core.markup import printable
from causal_bandits.product.studies.funnel import difference, moments

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

"""The dashboard in a browser: every page at two widths, light and dark, and a study that changes while one looks."""

import re
from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

import pytest

import causal_bandits as cb
from tests.devtools import Browser, browser
from tests.firefox import firefox

from .calls import READ, TOKENS
from .servers import running

OpenBrowser = Callable[[Path], AbstractContextManager[Any]]

PROBLEM = cb.Problem(
    "purchase",
    {"clicked": 2, "cart": ["empty", "some", "full"]},
    {"banner": ["none", "red", "<script>alert(1)</script>"], "discount": ["none", "10 %"]},
)
PAGES = ("/", "/studies/checkout", *(f"/studies/checkout/{part}" for part in ("sets", "funnel", "decisions", "health")))
SHADE = "getComputedStyle(document.body).backgroundColor"


def play(study: cb.Study, decisions: int) -> None:
    for decision in study.ask(decisions):
        clicked = decision.id % 3 == 0
        study.tell(decision, {"clicked": int(clicked), "cart": "some" if clicked else "empty"}, reward=int(clicked))


def fits(page: Browser, width: int, *, dark: bool) -> None:
    """Nothing is wider than the page, text is there, and the colours are those asked for."""
    assert page.run("innerWidth") == width
    assert page.run("document.documentElement.scrollWidth") <= width, "the page scrolls sideways"
    tables = "[...document.querySelectorAll('section > .scroll')]"
    assert page.run(f"{tables}.every(table => table.scrollWidth <= table.clientWidth)"), "a table scrolls sideways"
    assert page.run("document.querySelector('main').innerText.length") > 40
    shade = [int(part) for part in re.findall(r"\d+", page.run(SHADE))[:3]]
    assert max(shade) < 60 if dark else min(shade) > 200


@pytest.fixture
def study(tmp_path: Path) -> cb.Study:
    made = cb.Study.create("checkout", PROBLEM, storage=f"sqlite:///{tmp_path}/studies.db", seed=3)
    play(made, 120)
    return made


@pytest.mark.parametrize("open_browser", [browser, firefox], ids=["chromium", "firefox"])
def test_sign_in_watch_and_sign_out(open_browser: OpenBrowser, study: cb.Study, tmp_path: Path) -> None:
    """Through the form, as people do: a wrong token, the right one, a live update, and out."""
    with running() as server, open_browser(tmp_path) as page:
        address = server.serve(f"sqlite:///{tmp_path}/studies.db", tokens=TOKENS)
        page.visit(f"{address}/studies/checkout")
        assert page.run("document.styleSheets.length && document.styleSheets[0].cssRules.length") > 10
        assert page.run("document.querySelector('h1').innerText") == "Sign in"
        page.type("input[name=token]", "wrong")
        page.click("main button")
        page.wait_for("document.querySelector('[role=alert]') !== null")
        assert "not known" in page.run("document.querySelector('[role=alert]').innerText")
        page.type("input[name=token]", READ)
        page.click("main button")
        page.wait_for("document.getElementById('live') && document.getElementById('live').dataset.state === 'on'")
        assert page.run("location.pathname").endswith("/studies/checkout")
        assert page.run("document.cookie") == "", "no script reads the session"
        before = page.run("document.querySelector('main').innerText")
        play(study, 30)
        page.wait_for("Number(document.body.dataset.updates || 0) > 0")
        after = page.run("document.querySelector('main').innerText")
        assert ("120" in before, "150" in after) == (True, True)
        page.click("header form button")
        page.wait_for("document.querySelector('input[name=token]') !== null")
        page.visit(f"{address}/studies/checkout")
        assert page.run("document.querySelector('h1').innerText") == "Sign in"
        page.visit("about:blank")  # no stream of events is left when the server stops
    study.close()


def test_every_page_fits_and_a_change_is_seen_at_once(study: cb.Study, tmp_path: Path) -> None:
    with running() as server, browser(tmp_path) as page:
        address = server.serve(f"sqlite:///{tmp_path}/studies.db")
        for width, dark in ((1280, False), (390, True)):
            page.resize(width, dark=dark)
            for path in (*PAGES, "/studies/checkout/decisions/7"):
                page.visit(address + path)
                fits(page, width, dark=dark)
        page.visit(f"{address}/studies/checkout")
        page.wait_for("document.getElementById('live').dataset.state === 'on'")
        assert page.run("document.querySelectorAll('main script').length") == 0, "a name is text"
        before = page.run("document.querySelector('main').innerText")
        play(study, 30)
        page.wait_for("Number(document.body.dataset.updates || 0) > 0")
        after = page.run("document.querySelector('main').innerText")
        assert ("120" in before, "150" in after) == (True, True)
        assert page.complaints == []
        page.visit("about:blank")  # no stream of events is left when the server stops
    study.close()

"""The dashboard in a browser: every page at two widths, light and dark, and a study that changes while one looks."""

import json
import re
from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

import pytest

import causal_bandits as cb
from tests.devtools import Browser, browser
from tests.firefox import firefox

from .calls import ADMIN, READ, TOKENS
from .servers import running

OpenBrowser = Callable[[Path], AbstractContextManager[Any]]

PROBLEM = cb.Problem(
    "purchase",
    {"clicked": 2, "cart": ["empty", "some", "full"]},
    {"banner": ["none", "red", "<script>alert(1)</script>"], "discount": ["none", "10%"]},
)
PARTS = ("sets", "funnel", "decisions", "health", "manage")
PAGES = ("/", "/studies/checkout", *(f"/studies/checkout/{part}" for part in PARTS), "/new", "/compare")
SHADE = "getComputedStyle(document.body).backgroundColor"


def play(study: cb.Study, decisions: int) -> None:
    for decision in study.ask(decisions):
        clicked = decision.id % 3 == 0
        study.tell(decision, {"clicked": int(clicked), "cart": "some" if clicked else "empty"}, reward=int(clicked))


def fits(page: Browser, width: int, *, dark: bool) -> None:
    """Nothing is wider than the page, text is there, and the colors are those asked for."""
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
        assert "does not know this token" in page.run("document.querySelector('[role=alert]').innerText")
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

        # Pause, and follow again; leaf through decisions
        page.click("#live button")
        page.wait_for("document.querySelector('#live').innerText.includes('Resume')")
        updates = page.run("document.body.dataset.updates")
        play(study, 30)
        page.run("new Promise(done => setTimeout(done, 2000))")
        assert page.run("document.body.dataset.updates") == updates
        page.click("#live button")
        page.wait_for("document.querySelector('main').innerText.includes('180')")
        page.visit(f"{address}/studies/checkout/decisions")
        page.click("main > section a[rel=next], a[href*='before=']")
        page.wait_for("location.search.includes('before=')")
        assert page.run("document.querySelector('td a, th a').innerText") == "130"
        assert page.complaints == []
        page.visit("about:blank")  # no stream of events is left when the server stops
    study.close()


def choose(page: Browser, name: str, value: str) -> None:
    """Choose from a list."""
    page.run(f"document.querySelector('select[name={json.dumps(name)}]').value = {json.dumps(value)}")


def heading(page: Browser) -> Any:
    return page.run("document.querySelector('h1').innerText")


def submit(page: Browser, button: str, title: str) -> None:
    """Click on a button, read what will happen, and confirm."""
    page.click(f"button[value={button}]")
    page.wait_for(f"document.querySelector('h1').innerText === {json.dumps(title + '?')}")
    page.click("main button")
    page.wait_for("location.pathname.endsWith('/manage') && document.querySelector('nav.tabs') !== null")


def changes(page: Browser) -> Any:
    return page.run("document.querySelector('main table').innerText")


def test_every_action_of_the_dashboard(tmp_path: Path) -> None:
    """Sign in, make a study from the form, and change it in every way; each change is confirmed and listed."""
    with running() as server, browser(tmp_path) as page:
        address = server.serve(f"sqlite:///{tmp_path}/studies.db", tokens=TOKENS)
        page.resize(1280)
        page.visit(f"{address}/new")
        page.type("input[name=token]", ADMIN)
        page.press("Enter")
        page.wait_for("document.querySelector('h1').innerText === 'New study'")

        # Create: a preview first, in which something is missing
        page.type("input[name=name]", "checkout")
        page.type("textarea[name=levers]", "banner: none, red, blue\ndiscount: none, 10%")
        page.type("textarea[name=mediators]", "clicked: 2\ncart: empty, some, full")
        page.type("textarea[name=names]", "banner: Banner\nbanner=red: Red one")
        page.run("document.querySelector('input[name=target]').required = false")
        page.click("button[value=preview]")
        page.wait_for("document.querySelector('[role=alert]') !== null")
        assert "target" in page.run("document.querySelector('[role=alert]').innerText")
        page.type("input[name=target]", "purchase")
        page.click("button[value=preview]")
        page.wait_for("document.querySelector('[role=alert]') === null && document.querySelector('#preview') !== null")
        shown = json.loads(page.run("document.querySelector('#preview').innerText"))
        assert shown["problem"]["names"] == {"banner": "Banner", "banner=red": "Red one"}
        page.click("button[value=create]")
        page.wait_for("document.querySelector('nav.tabs') !== null")
        assert heading(page) == "checkout"
        assert "No data yet" in page.run("document.querySelector('.lead').innerText")
        study = cb.Study.load("checkout", storage=f"sqlite:///{tmp_path}/studies.db")
        play(study, 60)

        # Arms and levels
        page.visit(f"{address}/studies/checkout/manage")
        offered = page.run("[...document.querySelectorAll('button[name=do]')].map(button => button.value)")
        assert {*offered} == {"forbid", "allow", "retire", "exclude", "add-level", "annotate", "finish"}
        for button, title, says in (
            ("forbid", "Forbid arms", "forbidden 2 arms: Banner=Red one"),
            ("allow", "Allow arms", "allowed 2 arms: Banner=Red one"),
            ("retire", "Retire arms", "retired 2 arms: Banner=Red one"),
        ):
            choose(page, "lever banner", "red")
            submit(page, button, title)
            assert says in changes(page)
        choose(page, "lever", "discount")
        page.type("input[name=level]", "20%")
        submit(page, "add-level", "Add a level")
        assert "added 2 arms: Banner=none, discount=20%" in changes(page)
        assert {row.status for row in study.estimates() if row.arm["banner"] == "red"} == {"retired"}

        # Annotate, with the keyboard alone: from the text to the button, and to the one that confirms
        page.type("input[name=text]", "new prices")
        page.press("Tab")
        assert page.run("document.activeElement.value") == "annotate"
        page.press("Enter")
        page.wait_for("document.querySelector('h1').innerText === 'Annotate a date?'")
        page.wait_for("document.activeElement.innerText === 'Annotate'")  # the button that confirms has the focus
        page.press("Enter")
        page.wait_for("document.querySelector('nav.tabs') !== null")
        assert ": new prices" in changes(page)
        assert [each.text for each in study.annotations()] == ["new prices"]

        # Exclude decisions by a key
        staff = study.ask(key="staff-1")
        page.type("input[name=key_prefix]", "staff-")
        page.type("input[name=reason]", "our own visits")
        submit(page, "exclude", "Exclude decisions")
        assert "our own visits" in changes(page)
        assert study.decision(staff.id)["excluded"] == "our own visits"

        # What cannot be done is said, and nothing is changed
        page.click("button[value=retire]")
        page.wait_for("document.querySelector('[role=alert]') !== null")
        assert "cannot be removed" in page.run("document.querySelector('[role=alert]').innerText")

        # Downloads, filters, two studies side by side, paper
        page.visit(f"{address}/studies/checkout/manage")
        links = page.run("[...document.querySelectorAll('a[download]')].map(link => link.href)")
        fetched = f"Promise.all({json.dumps(links)}.map(link => fetch(link).then(answer => answer.status)))"
        assert page.run(fetched) == [200, 200, 200]
        page.visit(f"{address}/studies/checkout/decisions")
        choose(page, "lever banner", "blue")
        page.click("form.row button")
        page.wait_for("location.search.includes('lever+banner=blue')")
        arms = page.run("[...document.querySelectorAll('td[data-name=Arm]')].map(cell => cell.innerText)")
        assert arms
        assert all("Banner=blue" in arm for arm in arms)
        cb.Study.create("other", PROBLEM, storage=f"sqlite:///{tmp_path}/studies.db", seed=1).close()
        page.visit(f"{address}/compare?left=checkout&right=other")
        assert page.run("document.querySelectorAll('.pair > section').length") == 2
        page.visit(f"{address}/studies/checkout/manage")
        page.call("Emulation.setEmulatedMedia", media="print")
        assert page.run("getComputedStyle(document.querySelector('main form')).display") == "none"
        page.call("Emulation.setEmulatedMedia", media="screen")

        # Finish: nothing can be changed after that, and everything can still be read
        submit(page, "finish", "Finish the study")
        assert "finished the study" in changes(page)
        assert page.run("document.querySelectorAll('main form').length") == 0
        assert page.run("document.querySelectorAll('a[download]').length") == 3
        page.visit(f"{address}/studies/checkout")
        winner = study.finished.answer.arm  # type: ignore[union-attr]
        assert page.run("document.querySelector('.lead').innerText").startswith("Finished on ")
        assert str(winner["discount"]) in page.run("document.querySelector('.lead').innerText")
        assert [each for each in page.complaints if "422" not in each and "401" not in each] == []
        page.visit("about:blank")
    study.close()

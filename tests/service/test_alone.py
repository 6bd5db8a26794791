"""One client alone is answered by the event loop itself, which never waits for anybody else."""

import sqlite3
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from causal_bandits.service.alone import QUICK_SECONDS, TURNS, Alone
from causal_bandits.service.measuring import Measures
from causal_bandits.studies import Study

from .calls import Caller
from .conftest import OpenApp

OUTCOME = {"metrics": {"clicked": 1, "cart": "some"}, "reward": 0}


def test_who_is_alone() -> None:
    measures = Measures()
    alone = Alone(measures)
    for _ in range(TURNS):
        assert not alone.is_now("me", "ask")
        alone.took("me", "ask", 0.001)
    measures.in_flight = measures.streams = 1
    measures.in_flight += 1
    assert alone.is_now("me", "ask"), "streams wait for nothing"
    assert not alone.is_now("me", "tell"), "it may have to be compiled"
    assert not alone.is_now("you", "ask")
    measures.in_flight += 1
    assert not alone.is_now("me", "ask"), "somebody else waits"
    measures.in_flight -= 1
    alone.took("me", "ask", 2 * QUICK_SECONDS)
    for _ in range(TURNS):
        assert not alone.is_now("me", "ask"), "it was slow a moment ago"
        alone.took("me", "ask", 0.001)
    assert alone.is_now("me", "ask")
    alone.took("you", "ask", 0.001)
    assert not alone.is_now("me", "ask")


@pytest.fixture
def call(open_app: OpenApp, monkeypatch: pytest.MonkeyPatch) -> Caller:
    """However slow this machine is now, its answers count as quick."""
    monkeypatch.setattr("causal_bandits.service.alone.QUICK_SECONDS", 60.0)
    return open_app()


def threads_of(call: Caller, monkeypatch: pytest.MonkeyPatch) -> list[bool]:
    """For everything that is done with a study: whether the event loop does it."""
    seen: list[bool] = []
    act: Callable[..., Any] = call.app.state.desk.act

    def noted(name: str, work: Callable[[Study], Any]) -> Any:
        seen.append(threading.current_thread() is threading.main_thread())
        return act(name, work)

    monkeypatch.setattr(call.app.state.desk, "act", noted)
    return seen


def turns(call: Caller, shop: str, count: int) -> None:
    """Ask and tell."""
    for _ in range(count):
        made = call("POST", f"{shop}/decisions", {}).json["decisions"][0]
        assert call("PATCH", f"{shop}/decisions/{made['id']}", OUTCOME).status == 200


def test_the_loop_answers_one_client_but_neither_waits_nor_discovers(
    call: Caller, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shop = call.create()
    seen = threads_of(call, monkeypatch)
    turns(call, shop, 40)
    assert not any(seen[:TURNS])
    assert sum(seen[TURNS:]) >= 40, "most of the others"
    assert not all(seen[TURNS:]), "an ask before which discovery is due is given to a thread"
    seen.clear()
    call("PATCH", f"{shop}/decisions/1", {"metrics": {"clicked": 1}})
    assert seen == [False], "a part of an outcome came for the first time"
    study = Study.load("shop", storage=f"sqlite:///{tmp_path}/studies.db")
    assert study.describe()["decisions"]["told"] == 40
    assert call("GET", f"{shop}/decisions/40").json["outcome"] == {"clicked": 1, "cart": "some", "purchase": 0}
    study.close()


def test_a_busy_storage_is_waited_for_by_a_thread(
    call: Caller, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shop = call.create()
    turns(call, shop, 30)
    seen = threads_of(call, monkeypatch)
    made = call("POST", f"{shop}/decisions", {}).json["decisions"][0]  # whatever there is to discover, it is done
    seen.clear()
    other = sqlite3.connect(tmp_path / "studies.db", isolation_level=None, check_same_thread=False)
    other.execute("BEGIN IMMEDIATE")
    deadline = time.monotonic() + 20

    def let_go() -> None:
        while len(seen) < 2 and time.monotonic() < deadline:
            time.sleep(0.005)
        other.execute("ROLLBACK")

    thread = threading.Thread(target=let_go)
    thread.start()
    assert call("PATCH", f"{shop}/decisions/{made['id']}", OUTCOME).status == 200
    thread.join()
    other.close()
    assert seen == [True, False]
    turns(call, shop, 3)

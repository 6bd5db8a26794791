"""The client: the methods of `Study`, and every trouble on the way as one sentence."""

import asyncio
import contextlib
import inspect
import os
import resource
import socket
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any, cast

import numpy as np
import pandas as pd
import polars as pl
import pytest

import causal_bandits as cb
from causal_bandits.core.policies.recommendation import Recommendations
from causal_bandits.core.serialization import to_json
from causal_bandits.errors import (
    AccessError,
    CausalBanditsError,
    ConflictError,
    ObservationError,
    OptionError,
    StorageError,
    UnknownArmError,
    UnknownDecisionError,
    UnknownStudyError,
)
from causal_bandits.product.service import AsyncClient, AsyncRemoteStudy, RemoteStudy
from causal_bandits.product.service.client import Call, attribute, operation
from tests.studies.cases import SHOP, answer, play

from .calls import ADMIN, READ, TOKENS
from .servers import Applications, running


@pytest.fixture(scope="module")
def server() -> Iterator[Applications]:
    with running() as apps:
        yield apps


@pytest.fixture
def address(server: Applications, tmp_path: Path) -> str:
    return server.serve(f"sqlite:///{tmp_path}/studies.db")


@pytest.fixture
def shop(address: str) -> RemoteStudy:
    return cb.Client(address).create("shop", SHOP, policy="ts", seed=1)


BY_NAME = {"create", "load", "list", "delete"}
LOCAL = {"close"}
"""What sends no request, and is awaited by a study for an event loop alone."""
ANY_ANSWER = {"ask", "create", "load"}
"""Methods whose result depends on their arguments or on the class."""


def public(kind: type) -> dict[str, Any]:
    """Every public method and attribute of a class."""
    return {name: inspect.getattr_static(kind, name) for name in dir(kind) if not name.startswith("_")}


def parameters(method: Any) -> list[inspect.Parameter]:
    """What a method takes; a server has one storage."""
    return [each for name, each in signature(method).parameters.items() if name not in ("self", "storage")]


def signature(method: Any) -> inspect.Signature:
    """A signature with its annotations evaluated."""
    return inspect.signature(method, eval_str=True)


@pytest.mark.parametrize(("client", "study"), [(cb.Client, RemoteStudy), (AsyncClient, AsyncRemoteStudy)])
def test_it_has_every_method_of_a_study(client: type, study: type) -> None:
    wanted = public(cb.Study)
    assert set(public(study)) == set(wanted) - BY_NAME
    assert set(public(client)) == BY_NAME | LOCAL
    for name, member in wanted.items():
        mine = inspect.getattr_static(client if name in BY_NAME else study, name)
        if isinstance(member, property):
            assert isinstance(mine, property | attribute), name
        elif name not in LOCAL:
            assert isinstance(mine, operation), name
            theirs = getattr(cb.Study, name)
            call = getattr(client if name in BY_NAME else study, name)
            assert parameters(call) == parameters(theirs), name
            answered, returned = (signature(each).return_annotation for each in (call, theirs))
            assert name in ANY_ANSWER or answered in (returned, cast(Any, Call)[returned]), name


def test_answers_are_the_objects_of_the_library(shop: RemoteStudy, tmp_path: Path) -> None:
    play(shop, 12)  # type: ignore[arg-type]
    twin = cb.Study.load("shop", storage=f"sqlite:///{tmp_path}/studies.db")
    assert repr(shop.estimates()) == repr(twin.estimates())
    assert shop.recommend() == twin.recommend()
    assert shop.separating_sets(rejected=True) == twin.separating_sets(rejected=True)
    assert str(shop.explain(5)) == str(twin.explain(5))
    assert shop.explain(5).arms == twin.explain(5).arms
    assert shop.propensity(5) == twin.propensity(5)
    one, other = [row.arm for row in twin.estimates() if row.own_rows][:2]
    for policy in (one, {one: 0.5, other: 0.5}):
        assert shop.evaluate(policy) == twin.evaluate(policy)
    assert shop.to_frame().equals(twin.to_frame())
    assert shop.describe(history=True) == twin.describe(history=True)
    assert shop.decisions(3, limit=4) == twin.decisions(3, limit=4)
    assert shop.decision(2) == twin.decision(2)
    assert shop.changes(2) == twin.changes(2)
    assert shop.newest == twin.newest
    assert to_json(shop.advice()) == to_json(twin.advice())
    assert to_json([*shop.effects()]) == to_json([*twin.effects()])
    assert to_json([*shop.health()]) == to_json([*twin.health()])
    assert shop.guardrails() == twin.guardrails()
    assert to_json(shop.funnel()) == to_json(twin.funnel())
    assert shop.waiting()._replace(oldest=None) == twin.waiting()._replace(oldest=None)
    assert shop.settings == twin.settings
    assert (shop.metrics, shop.created, shop.missing()) == (twin.metrics, twin.created, twin.missing())
    draws = twin.posterior().draws[:1000]
    assert shop.posterior().means.tolist() == twin.posterior().means.tolist()
    assert shop.posterior().sources == [*twin.posterior().sources]
    assert shop.posterior().draws.tolist() == draws.tolist()
    assert shop.posterior().sample_means(0, 5).shape == (5, len(SHOP.arms))
    assert shop.problem == twin.problem
    assert shop.report(tmp_path / "a.html").read_text() == twin.report(tmp_path / "b.html").read_text()
    assert shop._repr_html_().startswith("<")
    assert "shop" in repr(shop)
    twin.close()


def test_the_same_in_an_event_loop(address: str, tmp_path: Path) -> None:
    twin = cb.Study.create("shop", SHOP, storage=f"sqlite:///{tmp_path}/studies.db", policy="ts", seed=1)

    async def play_many() -> None:
        async with AsyncClient(address) as client:
            study = await client.create("shop", SHOP, policy="ts", seed=1)
            assert not study.is_new
            assert [row.name for row in await client.list()] == ["shop"]
            made = await asyncio.gather(*(study.ask() for _ in range(8)))
            assert sorted(each.id for each in made) == [*range(1, 9)]
            await asyncio.gather(*(study.tell(each, {"clicked": 1, "cart": "some"}, reward=0) for each in made))
            assert repr(await study.estimates()) == repr(twin.estimates())
            assert await study.recommend() == twin.recommend()
            assert await study.settings == twin.settings
            assert await study.problem == twin.problem
            assert await study.newest == twin.newest
            assert (study.name, study.metrics, study.created) == (twin.name, twin.metrics, twin.created)
            report = await study.report(tmp_path / "a.html")
            assert report.read_text() == twin.report(tmp_path / "b.html").read_text()
            assert await study.propensity(made[0]) == twin.propensity(made[0].id)
            with pytest.raises(OptionError, match=r"await study\.propensity"):
                _ = made[0].propensity
            with pytest.raises(UnknownDecisionError):
                await study.tell(99, reward=1)
            await client.delete("shop")
            with pytest.raises(UnknownStudyError):
                await client.load("shop")

    asyncio.run(play_many())
    twin.close()


def test_sets_come_back_whole(address: str, tmp_path: Path) -> None:
    study = cb.Client(address).create("paper", SHOP, policy="paper", seed=1)
    play(study, 40)  # type: ignore[arg-type]
    twin = cb.Study.load("paper", storage=f"sqlite:///{tmp_path}/studies.db")
    assert to_json(study.separating_sets(rejected=True)) == to_json(twin.separating_sets(rejected=True))
    assert (
        study.separating_sets(rejected=True)[1].evidence.words == twin.separating_sets(rejected=True)[1].evidence.words
    )
    assert to_json(study.explain(30)) == to_json(twin.explain(30))
    twin.close()


def test_tables_of_any_kind(shop: RemoteStudy) -> None:
    rows = [{"id": each.id, **answer(SHOP, each)} for each in shop.ask(8)]
    assert shop.tell_many(pl.DataFrame(rows[:2])) == 2
    assert shop.tell_many(pd.DataFrame(rows[2:4])) == 2
    assert shop.tell_many(rows[4:6]) == 2
    assert shop.tell_many({name: [row[name] for row in rows[6:]] for name in rows[0]}) == 2
    assert set(shop.to_frame()["status"]) == {"told"}
    shop.tell(shop.ask().id, {"clicked": np.int64(1), "cart": np.str_("some")}, reward=np.float64(1))
    with pytest.raises(ObservationError, match="cannot be sent as JSON"):
        shop.tell(shop.ask().id, {"clicked": object()})


def test_keys_of_any_text(shop: RemoteStudy, tmp_path: Path) -> None:
    twin = cb.Study.load("shop", storage=f"sqlite:///{tmp_path}/studies.db")
    for key in ("visitor 1", "100%", "schlüssel 😀", "a,b;c=d", " a", "a\nb"):
        assert shop.ask(key=key) == twin.ask(key=key)
    for odd in ("", "a\0b", 3):
        with pytest.raises(OptionError, match="key="):
            shop.ask(key=odd)  # type: ignore[arg-type]
    assert len(shop.to_frame()) == 6
    twin.close()


def test_levels_and_patterns(shop: RemoteStudy) -> None:
    assert len(shop.retire_level("banner", "red")) == 2
    assert len(shop.forbid({"banner": "blue", "discount": ...})) == 2
    assert len(shop.allow_level("banner", "blue")) == 2
    assert [dict(arm) for arm in shop.add_level("banner", "green")] == [
        {"banner": "green", "discount": "none"},
        {"banner": "green", "discount": "10%"},
    ]
    assert len(shop.problem.arms) == 8
    assert len(shop.forbid_level("banner", "green")) == 2
    for odd in ("red", {"banner": object()}):
        with pytest.raises(UnknownArmError):
            shop.retire(odd)  # type: ignore[arg-type]


def test_bad_calls_say_what_a_study_says(shop: RemoteStudy) -> None:
    shop.ask(key="k")
    with pytest.raises(ConflictError, match="used for a different ask"):
        shop.ask(2, key="k")
    for number in (0, -1, True, "1", 9):
        with pytest.raises(UnknownDecisionError, match="is not known"):
            shop.tell(number, reward=1)  # type: ignore[arg-type]
    with pytest.raises(ObservationError, match="reward 'purchase' is nan"):
        shop.tell(1, reward=float("nan"))
    with pytest.raises(OptionError, match="to evaluate a policy object"):
        shop.evaluate(cb.ThompsonSampling(SHOP))
    with pytest.raises(OptionError, match="count=0"):
        shop.ask(0)


def test_who_may_do_what(server: Applications, tmp_path: Path) -> None:
    address = server.serve(f"sqlite:///{tmp_path}/closed.db", tokens=TOKENS)
    with pytest.raises(AccessError, match="needs a token"):
        cb.Client(address).list()
    with pytest.raises(AccessError, match="needs a token"):
        cb.Client(address, token="wrong-token-0123456789").list()
    admin, reader = cb.Client(address, token=ADMIN), cb.Client(address, token=READ)
    admin.create("shop", SHOP, policy="ts")
    assert [row.name for row in reader.list()] == ["shop"]
    with pytest.raises(AccessError, match="has the scope read"):
        reader.load("shop").ask()
    assert ADMIN not in repr(admin) + repr(admin.load("shop")) + str(vars(admin.load("shop")))
    with pytest.raises(OptionError, match="token is not printable"):
        cb.Client(address, token="a\nb")


@pytest.mark.parametrize(
    "url", ["127.0.0.1:8080", "ftp://x", "http://", "http://h:x", "http://h?a=1", 3, "sqlite:///x.db"]
)
def test_addresses_that_are_none(url: str) -> None:
    with pytest.raises(OptionError, match="is not a server URL"):
        cb.Client(url)


def test_an_address_with_a_password() -> None:
    with pytest.raises(OptionError, match="pass the server's token") as caught:
        cb.Client("http://me:secret@host")
    assert "secret" not in str(caught.value)


def test_a_server_that_is_not_there_or_another() -> None:
    with socket.create_server(("127.0.0.1", 0)) as other:
        port = other.getsockname()[1]
        said = [
            b"HTTP/1.1 200 OK\r\n\r\n<html>",
            b"SSH-2.0-x\r\n\r\n",
            b"HTTP/1.1 500 No\r\nContent-Length: 1\r\n\r\nx",
        ]

        def answer_oddly() -> None:
            for text in said:
                connection, _ = other.accept()
                connection.recv(65536)
                connection.sendall(text)
                connection.close()

        thread = threading.Thread(target=answer_oddly)
        thread.start()
        for sentence in (
            "check that it is a causal-bandits server",
            "did not answer",
            "status 500 and no error message",
        ):
            client = cb.Client(f"http://127.0.0.1:{port}", timeout=5)
            with pytest.raises(StorageError, match=sentence):
                client.list()
        thread.join()
    with pytest.raises(StorageError, match=r"cannot be reached \(.+\); check that it runs"):
        cb.Client(f"http://127.0.0.1:{port}").list()


@pytest.mark.skipif(sys.platform == "win32", reason="no descriptors")
def test_a_process_with_many_descriptors(shop: RemoteStudy) -> None:
    """Where `select` refuses descriptors from 1,024 on."""
    before = resource.getrlimit(resource.RLIMIT_NOFILE)
    if before[1] < 2048:
        pytest.skip("this process may not have 2,048 descriptors")
    resource.setrlimit(resource.RLIMIT_NOFILE, (max(before[0], 2048), before[1]))
    with contextlib.ExitStack() as taken:
        for _ in range(1024):
            taken.enter_context(Path(os.devnull).open())
        client = cb.Client(shop._client.address)
        study = client.load(shop.name)
        for _ in range(3):
            study.tell(study.ask().id, {"clicked": 1})
        client.close()
    resource.setrlimit(resource.RLIMIT_NOFILE, before)


def test_names_that_cannot_be_addressed(address: str) -> None:
    client = cb.Client(address)
    for name in ("../x", "a/b", "<script>", "😀", "100%"):
        client.create(name, SHOP, policy="ts")
        assert client.load(name).ask().id == 1
        client.delete(name)
    with pytest.raises(UnknownStudyError):
        client.load("..")
    with pytest.raises(OptionError, match="name="):
        client.load("")


def test_rules_of_single_arms_are_those_of_the_library(address: str, tmp_path: Path) -> None:
    red, both = SHOP.arm({"banner": "red"}), SHOP.arm({"banner": "red", "discount": SHOP.interventions[1].levels[1]})
    rules: dict[str, Any] = {
        "shares": {red: (0.1, None), "banner=blue": (None, 0.4)},
        "metrics": {"refund": bool, "minutes": "float"},
        "guardrails": {"refund": ("<=", 0.2)},
        "cost": {"discount": {SHOP.interventions[1].levels[1]: 0.1}, both: 0.2},
    }
    there = cb.Client(address).create("rules", SHOP, seed=1, **rules)
    here = cb.Study.create("rules", SHOP, storage=f"sqlite:///{tmp_path}/here.db", seed=1, **rules)
    assert there.is_new
    assert not cb.Client(address).create("rules", SHOP, seed=1, **rules).is_new
    assert there.settings.rules == to_json(here.settings.rules)
    assert there.metrics == here.metrics == {"refund": "binary", "minutes": "real"}
    for study in (there, here):
        play(cast(cb.Study, study), 40)
    assert [row["arm"] for row in there.decisions()] == [row["arm"] for row in here.decisions()]
    more = [{"id": there.ask().id, "refund": 1}, {"id": there.ask().id, "refund": 0, "minutes": 1.5}]
    assert there.tell_many(more) == 2
    assert there.tell_many({"id": [there.ask().id], "refund": [1]}) == 1
    assert there.to_frame()["refund"].to_list()[-3:] == [1, 0, 1]
    with pytest.raises(OptionError, match="the share of 'banner=red,discount=none' is"):
        cb.Client(address).create("other", SHOP, shares={red: (2, 3)})


def test_segments(address: str, tmp_path: Path) -> None:
    problem = cb.Problem("y", {"m": 2}, {"lever": ["a", "b"]}, segments={"device": ["mobile", "desktop"]})
    there = cb.Client(address).create("segments", problem, seed=1)
    here = cb.Study.create("segments", problem, storage=f"sqlite:///{tmp_path}/here.db", seed=1)
    both: list[Any] = [there, here]
    for study in both:
        for number in range(40):
            decision = study.ask(segment={"device": "mobile" if number % 3 else "desktop"})
            assert decision.segment == {"device": "mobile" if number % 3 else "desktop"}
            study.tell(decision, {"m": number % 2}, reward=int(number % 2 and decision.arm["lever"] == "b"))
    assert to_json(there.recommend()) == to_json(here.recommend())
    assert repr(there.recommend()) == repr(here.recommend())
    assert [each.segment for each in cast(Recommendations, there.recommend())] == [
        {"device": "mobile"},
        {"device": "desktop"},
    ]
    one = {"device": "desktop"}
    assert there.recommend(segment=one) == here.recommend(segment=one)
    assert str(there.advice(segment=one)) == str(here.advice(segment=one))
    assert [each.arm for each in there.estimates(segment=one)] == [each.arm for each in here.estimates(segment=one)]
    with pytest.raises(CausalBanditsError, match="'watch' is not a level of 'device'"):
        there.ask(segment={"device": "watch"})

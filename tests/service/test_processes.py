"""Servers as processes: killed between the parts of an answer, stopped with answers in flight, many clients at once."""

import http.client
import json
import runpy
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from benchmarks import chaos
from typer.testing import CliRunner

import causal_bandits as cb
from causal_bandits.cli import app
from causal_bandits.errors import OptionError, StorageError
from causal_bandits.product.service.serving import listen
from tests.studies.cases import SHOP, answer
from tests.studies.postgres import Server

from .calls import ADMIN
from .processes import serving
from .servers import Applications, running


@pytest.fixture
def storage(tmp_path: Path) -> str:
    return f"sqlite:///{tmp_path}/studies.db"


def test_nothing_acknowledged_is_lost_when_the_server_is_killed(storage: str) -> None:
    """Clients ask and tell in turns while the server is killed; a key makes every ask repeatable."""
    acknowledged: dict[str, int] = {}
    told: dict[int, dict[str, object]] = {}

    def play(study: cb.service.RemoteStudy, who: int, rounds: int) -> None:
        for number in range(rounds):
            key = f"{who} {number}"
            try:
                decision = study.ask(key=key)
                acknowledged[key] = decision.id
                outcome = answer(SHOP, decision)
                study.tell(decision.id, outcome)
                told[decision.id] = outcome
            except StorageError:
                return

    with serving("--storage", storage) as server:
        study = cb.Client(server.address).create("shop", SHOP, policy="ts", seed=1)
        clients = [threading.Thread(target=play, args=(study, who, 10_000)) for who in range(4)]
        for client in clients:
            client.start()
        while len(told) < 60:
            time.sleep(0.005)
        server.kill()
        for client in clients:
            client.join()
    kept = cb.Study.load("shop", storage=storage)
    frame = {row["id"]: row for row in kept.to_frame().to_dicts()}
    assert len(told) >= 60
    for number, outcome in told.items():
        assert frame[number]["status"] == "told"
        assert {name: frame[number][name] for name in outcome} == outcome
    assert len(set(acknowledged.values())) == len(acknowledged)
    for key, number in acknowledged.items():
        assert kept.ask(key=key).id == number
    assert len(frame) - len(acknowledged) <= 4  # whose answer was cut off: at most one for each client


def test_answers_in_flight_are_finished_and_streams_end(storage: str, tmp_path: Path) -> None:
    tokens = tmp_path / "tokens"
    tokens.write_text(ADMIN)
    with serving("--storage", storage, "--token-file", str(tokens), "--workers", "1") as server:
        client = cb.Client(server.address, token=ADMIN)
        study = client.create("shop", SHOP, policy="ts", seed=1)
        where = urlsplit(server.address)
        stream = http.client.HTTPConnection(where.netloc, timeout=30)
        stream.request("GET", "/api/v1/studies/shop/events?after=0", headers={"Authorization": f"Bearer {ADMIN}"})
        events = stream.getresponse()
        assert events.readline() == b"retry: 2000\n"
        rows = [{"id": each.id, **answer(SHOP, each)} for each in study.ask(2000)]
        assert any(line == b"event: asked\n" for line in iter(events.readline, b""))
        results: list[int] = []
        busy = threading.Thread(target=lambda: results.append(study.tell_many(rows)))
        busy.start()
        time.sleep(0.05)
        code, said = server.stop()
        busy.join()
        assert (code, said) == (0, "")
        events.read()  # to its end: the stream was closed
        stream.close()
    kept = cb.Study.load("shop", storage=storage).to_frame()["status"].to_list()
    if results:
        assert results == [2000]
        assert kept == ["told"] * 2000


@pytest.mark.slow
def test_several_workers(storage: str) -> None:
    with serving("--storage", storage, "--workers", "2") as server:
        client = cb.Client(server.address)
        deadline = time.monotonic() + 60
        while True:
            try:
                study = client.create("shop", SHOP, policy="ts", seed=1)
                break
            except StorageError:
                assert time.monotonic() < deadline
                time.sleep(0.05)
        made = [study.ask().id for _ in range(5)]
        assert made == [1, 2, 3, 4, 5]
        code, said = server.stop()
        assert (code, said) == (0, "")


@pytest.fixture(scope="module")
def server() -> Iterator[Applications]:
    with running() as apps:
        yield apps


def test_many_clients_lose_and_double_nothing(server: Applications, storage: str) -> None:
    """Eight clients, each with its own connection; `benchmarks/service.py` does the same with 1,000 rounds each."""
    address = server.serve(storage)
    cb.Client(address).create("shop", SHOP, policy="ts", seed=1)
    made: list[int] = []

    def play() -> None:
        study = cb.Client(address).load("shop")
        for _ in range(12):
            decision = study.ask()
            study.tell(decision.id, answer(SHOP, decision))
            made.append(decision.id)

    clients = [threading.Thread(target=play) for _ in range(8)]
    for client in clients:
        client.start()
    for client in clients:
        client.join()
    assert sorted(made) == [*range(1, 97)]
    frame = cb.Study.load("shop", storage=storage).to_frame()
    assert frame["status"].to_list() == ["told"] * 96


def test_events_from_a_number_on(server: Applications, storage: str) -> None:
    address = server.serve(storage)
    study = cb.Client(address).create("shop", SHOP, policy="ts", seed=1)
    study.ask(2)
    study.tell(1, {"clicked": 1})
    where = urlsplit(address)
    connection = http.client.HTTPConnection(where.netloc, timeout=30)

    def begin(query: str, headers: dict[str, str]) -> http.client.HTTPResponse:
        connection.close()
        connection.request("GET", f"{where.path}/api/v1/studies/shop/events{query}", headers=headers)
        answered = connection.getresponse()
        assert answered.headers["content-type"].startswith("text/event-stream")
        return answered

    def event(answered: http.client.HTTPResponse) -> dict[str, str]:
        found = {}
        while line := answered.readline().decode().rstrip("\n"):
            name, _, value = line.partition(": ")
            found[name] = value
        return found

    answered = begin("?after=1", {})
    assert event(answered)["id"] == "1"
    first, second = event(answered), event(answered)
    assert (first["id"], first["event"], json.loads(first["data"])["decisions"]) == ("2", "asked", [1, 2])
    assert (second["id"], second["event"], json.loads(second["data"])["decisions"]) == ("3", "told", [1])
    study.abandon(2)  # while the stream is open
    third = event(answered)
    assert (third["id"], third["event"]) == ("4", "abandoned")
    answered = begin("?after=0", {"Last-Event-ID": "3"})  # what a browser says when it comes back
    assert event(answered)["id"] == "3"
    assert event(answered)["id"] == "4"
    answered = begin("", {})  # from now on
    assert event(answered)["id"] == "4"
    cb.Client(address).delete("shop")
    assert event(answered)["event"] == "gone"
    assert answered.read() == b""
    connection.request("GET", f"{where.path}/api/v1/studies/shop/events")
    assert connection.getresponse().status == 404
    connection.close()


def test_the_command_refuses_what_is_not_safe(tmp_path: Path) -> None:
    def refused(*arguments: str) -> str:
        result = CliRunner().invoke(app, ["serve", "--storage", f"sqlite:///{tmp_path}/x.db", *arguments])
        assert isinstance(result.exception, OptionError | StorageError), result
        return str(result.exception)

    for host in ("0.0.0.0", "::", "192.168.0.1", "example.com"):
        assert "and there is no token; pass --token-file FILE, or listen on 127.0.0.1" in refused("--host", host)
    assert "cannot read the tokens" in refused("--token-file", str(tmp_path / "absent"))
    assert "root_path=" in refused("--root-path", "bandits")
    assert "is not a URL" in refused("--storage", "studies.db")
    secret = refused("--storage", "postgresql://me:secret@127.0.0.1:1/db")
    assert "secret" not in secret


@pytest.mark.slow
@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="needs /proc")
def test_chaos_loses_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Kills and pauses of workers, aggregator, server and database."""
    monkeypatch.setattr(chaos, "DISTURBANCES", 6)
    monkeypatch.setattr(chaos, "HTTP_DISTURBANCES", 4)
    with Server() as server:
        for found in (chaos.disturbed_workers(server, tmp_path), chaos.disturbed_server(server)):
            assert found.acknowledged > 0
            assert (found.lost, found.doubled, found.same_after_replay) == (0, 0, True)


@pytest.mark.slow
@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="needs /proc")
def test_readiness_while_the_database_is_stopped() -> None:
    with Server() as server, serving("--storage", server.new_database()) as process:
        connection = http.client.HTTPConnection(urlsplit(process.address).netloc, timeout=60)

        def status(path: str) -> int:
            connection.request("GET", path)
            answered = connection.getresponse()
            answered.read()
            return answered.status

        assert status("/readyz") == 200
        with chaos.paused(chaos.children_of(server.process)):
            assert [status("/readyz"), status("/readyz"), status("/healthz")] == [503, 503, 200]
        assert status("/readyz") == 200
        connection.close()


def test_a_port_that_is_in_use(tmp_path: Path) -> None:
    """The command and the demo say so in one sentence; the demo finds another port unless one was asked for."""
    with listen("127.0.0.1", 0) as taken:
        port = str(taken.getsockname()[1])
        storage = f"sqlite:///{tmp_path}/x.db"
        command = [sys.executable, "-m", "causal_bandits.cli", "serve", "--storage", storage, "--port", port]
        demo = [sys.executable, str(Path(__file__).parents[2] / "scripts" / "demo_service.py"), "--port", port]
        for each in (command, demo):
            ended = subprocess.run(each, capture_output=True, text=True, check=False)
            assert ended.returncode != 0
            assert ended.stderr.startswith(f"Error: cannot listen on 127.0.0.1, port {port} (Address already in use")
            assert ended.stderr.count("\n") == 1


def test_the_demo_finds_a_free_port(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    path = Path(__file__).parents[2] / "scripts" / "demo_service.py"
    demo = runpy.run_path(str(path), run_name="demo")
    with listen("127.0.0.1", 0) as taken:
        port = taken.getsockname()[1]
        monkeypatch.setitem(demo["usable_port"].__globals__, "PORT", port)
        assert demo["usable_port"](None) == 0
        assert capsys.readouterr().out == f"Port {port} is in use; another port is used\n"
        with pytest.raises(OptionError):
            demo["usable_port"](port)
    assert demo["usable_port"](None) == port

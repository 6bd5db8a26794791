"""The direct way answers what the usual way would, or leaves it alone; and it never takes a body for a request."""

import json
import re
import socket
import sqlite3
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from causal_bandits import Client
from causal_bandits.problem import Problem
from causal_bandits.service import direct
from causal_bandits.service.answering import Made
from causal_bandits.service.app import Service
from causal_bandits.service.serving import Server, configured
from causal_bandits.service.whole_requests import plain_headers, whole_request

from .calls import ADMIN, DECIDE, READ, SHOP, TOKENS, Caller
from .conftest import OpenApp
from .servers import running

TURNS = 4
OUTCOME = {"metrics": {"clicked": 1, "cart": "some"}, "reward": 0}
ME = ("127.0.0.1", 50000)
ASK, TELL = "POST /api/v1/studies/shop/decisions", "PATCH /api/v1/studies/shop/decisions/1"


def raw(line: str, body: Any = None, *more: str, token: str | None = DECIDE, host: str = "localhost") -> bytes:
    """A request as it is sent."""
    content = body if isinstance(body, bytes) else json.dumps({} if body is None else body).encode()
    lines = [f"{line} HTTP/1.1", f"Host: {host}", *more]
    lines += [] if token is None else [f"Authorization: Bearer {token}"]
    lines += [] if any(each.lower().startswith("content-type") for each in more) else ["Content-Type: application/json"]
    return "\r\n".join([*lines, f"Content-Length: {len(content)}", "", ""]).encode() + content


@pytest.fixture
def alone(open_app: OpenApp, monkeypatch: pytest.MonkeyPatch) -> Caller:
    """A server with tokens that has had one client for some time, who did nothing unusual; nothing is to discover."""
    monkeypatch.setattr("causal_bandits.service.alone.QUICK_SECONDS", 60.0)
    monkeypatch.setattr("causal_bandits.service.alone.TURNS", TURNS)
    monkeypatch.setattr("causal_bandits.studies.session.Session.has_to_discover", False)
    call = open_app(TOKENS)
    call.token = ADMIN
    shop = call.create()
    call("POST", f"{shop}/decisions", {})
    call("PATCH", f"{shop}/decisions/1", OUTCOME)
    for count, key in ((1, "old"), (2, "two")):
        call("POST", f"{shop}/decisions", {"count": count}, headers={"idempotency-key": key})
    return call


def at_once(call: Caller, data: bytes, client: object = ME) -> Made | None:
    assert isinstance(call.app, Service)
    sent: list[Made] = []
    assert call.app.at_once(data, client, sent.append) is bool(sent)
    return sent[0] if sent else None


def decisions(call: Caller) -> int:
    return len(call("GET", "/api/v1/studies/shop/decisions?limit=1000").json["decisions"])


SAME: list[tuple[str, Any, str, int]] = [
    (ASK, {}, "", 201),
    (ASK, {"count": 1}, "Idempotency-Key: old", 201),
    (ASK, {"count": 2}, "Idempotency-Key: old", 422),
    (ASK, {"count": 0}, "", 422),
    (ASK, {"odd": 1}, "", 422),
    (TELL, OUTCOME, "", 200),
    (TELL, {**OUTCOME, "reward": 1}, "", 409),
    (TELL.replace("s/1", "s/999"), OUTCOME, "", 404),
]


@pytest.mark.parametrize(("line", "body", "more", "status"), SAME)
def test_both_ways_answer_the_same(alone: Caller, line: str, body: Any, more: str, status: int) -> None:
    method, path = line.split()
    usual = alone(method, path, body, headers=dict([more.split(": ")]) if more else None)
    made = at_once(alone, raw(line, body, *([more] if more else [])))
    assert made is not None
    assert made.status == usual.status == status
    found, expected = json.loads(made.content), usual.json
    for each in (found, expected) if status == 201 and not more else ():
        row = each["decisions"][0]
        assert (each.keys(), row.keys(), row["arm"].keys()) == (
            {"decisions"},
            {"id", "arm", "time"},
            {*SHOP["interventions"]},
        )
        each["decisions"] = []
    assert found == expected
    text = direct.written(made, [(b"date", b"now")]).decode()
    first, *lines = text.partition("\r\n\r\n")[0].split("\r\n")
    headers = {name: value for name, _, value in (each.partition(": ") for each in lines)}
    assert re.fullmatch(rf"HTTP/1\.1 {status} [A-Z].+", first)
    assert headers.pop("date") == "now"
    assert headers.pop("content-length") == str(len(made.content))
    usual.headers.pop("content-length")
    assert headers == usual.headers


LEFT: list[bytes] = [
    raw(ASK, token=None),
    raw(ASK, token=f"{DECIDE}x"),
    raw(ASK, token=READ),
    raw(ASK, host="evil.example"),
    raw(ASK, {}, "Origin: http://evil.example"),
    raw(ASK, {}, "Cookie: a=b"),
    raw(ASK, {}, "Sec-Fetch-Site: cross-site"),
    raw(ASK, {}, "X-Forwarded-For: 10.0.0.1"),
    raw(ASK, {}, "Transfer-Encoding: chunked"),
    raw(ASK, {}, "Content-Length: 2"),
    raw(ASK, {}, "Expect: 100-continue"),
    raw(ASK, {}, "Connection: close"),
    raw(ASK, {}, "Content-Type: text/plain"),
    raw(ASK, {}, "Host: localhost"),
    raw(ASK, {}, "Idempotency-Key: ü"),
    raw(ASK, {"arms": [{"banner": "red"}]}),  # unlike any call so far
    raw(ASK, {"arms": [{"banner": "x" * 10_000}]}),
    raw(ASK, b"{"),
    raw(ASK) + b" ",
    raw(ASK)[:-1],
    raw(ASK) + raw(ASK),
    raw(ASK).replace(b"Host:", b"Host :"),
    raw(ASK).replace(b"\r\n", b"\n"),
    raw(ASK).replace(b"Content-Type: ", b"Content-Type: a\r\n "),
    raw(ASK).replace(b"Content-Length: ", b"Content-Length: 0"),
    raw(ASK).replace(b"HTTP/1.1", b"HTTP/1.0"),
    raw(ASK + "?x=1"),
    raw(ASK.replace("POST", "PUT")),
    raw(ASK.replace("POST", "PATCH")),
    raw(ASK.replace("decisions", "outcomes"), []),
    raw("POST http://localhost/api/v1/studies/shop/decisions"),
    raw("POST /api/v1/studies", {"name": "x", "problem": SHOP}, token=ADMIN),
    raw("GET /api/v1/studies"),
    b"",
]


def test_what_is_left_to_the_usual_way(alone: Caller) -> None:
    before = decisions(alone)
    for data in LEFT:
        assert at_once(alone, data) is None, data
    assert at_once(alone, raw(ASK), ("127.0.0.1", 50001)) is None, "another client"
    assert decisions(alone) == before
    assert at_once(alone, raw(ASK)) is not None, "it was for the request"


def test_it_counts_and_says_what_it_cannot_expect(
    alone: Caller, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    measures = alone.app.state.measures
    before = measures.text({})
    assert at_once(alone, raw(ASK)) is not None
    after = measures.text({})
    count = re.compile(r'requests_total\{route="[^"]*decisions",method="POST",status="201".*\} (\d+)')
    assert int(count.findall(after)[0]) == int(count.findall(before)[0]) + 1
    assert "in_flight" in after
    assert measures.in_flight == 0
    other = sqlite3.connect(tmp_path / "studies.db", isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    assert at_once(alone, raw(ASK)) is None, "a busy storage is not waited for"
    other.execute("ROLLBACK")
    other.close()
    assert measures.text({}) == after

    def broken(*_: object) -> None:
        raise ZeroDivisionError("secret")

    monkeypatch.setattr(alone.app.state.desk, "act", broken)
    made = at_once(alone, raw(ASK))
    assert made is not None
    assert made.status == 500
    assert b"secret" not in made.content
    assert "ZeroDivisionError: secret" in caplog.text
    assert measures.in_flight == 0


def test_headers_as_they_come() -> None:
    data = raw(ASK, {}, "connection: keep-alive", "USER-AGENT: x  ")
    sent = whole_request(data)
    assert sent is not None
    headers = plain_headers(sent.lines)
    assert headers is not None
    assert headers["user-agent"] == "x"
    assert (sent.method, sent.path, sent.content) == ("POST", b"/api/v1/studies/shop/decisions", b"{}")


class Clock:
    """A loop whose time is set, and what it was asked to call later."""

    def __init__(self) -> None:
        self.now = 0.0
        self.later: list[tuple[float, Callable[[], None]]] = []

    def time(self) -> float:
        return self.now

    def call_later(self, seconds: float, work: Callable[[], None]) -> None:
        self.later.append((seconds, work))


class Transport:
    """A connection's other side."""

    def __init__(self) -> None:
        self.is_closed = False

    def is_closing(self) -> bool:
        return self.is_closed

    def close(self) -> None:
        self.is_closed = True


def test_a_connection_in_use_is_not_closed() -> None:
    clock, line = Clock(), Transport()
    protocol = direct.DirectProtocol.__new__(direct.DirectProtocol)
    protocol.loop, protocol.transport, protocol.timeout_keep_alive = clock, line, 30  # type: ignore[assignment]
    protocol._last, clock.now = 25.0, 30.0  # the last request came 5 s before the clock of the one before ran out
    protocol.timeout_keep_alive_handler()
    assert [seconds for seconds, _ in clock.later] == [25.0]
    assert not line.is_closed
    clock.now = 55.0
    clock.later[0][1]()
    assert line.is_closed


def exchange(line: socket.socket, mark: bytes, *parts: bytes) -> bytes:
    """What is answered, up to and with the chunk that has the mark."""
    for part in parts:
        line.sendall(part)
    found = b""
    while mark not in found:
        more = line.recv(65536)
        assert more, found
        found += more
    return found


def test_over_a_socket(storage: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("causal_bandits.service.alone.QUICK_SECONDS", 60.0)
    monkeypatch.setattr("causal_bandits.service.alone.TURNS", TURNS)
    monkeypatch.setattr("causal_bandits.studies.session.Session.has_to_discover", False)
    seen: list[bool] = []
    with running() as apps:
        usual = apps.at_once

        def noted(data: bytes, client: object, send: Callable[[Made], None]) -> bool:
            seen.append(usual(data, client, send))
            return seen[-1]

        monkeypatch.setattr(apps, "at_once", noted)
        address = apps.serve(storage, body_bytes=5000)
        Client(address).create("shop", Problem.from_dict(SHOP), policy="ts", seed=1)
        seen.clear()
        host, _, root = address.removeprefix("http://").partition("/")
        ask = raw(ASK.replace("/api", f"/{root}/api"), token=None, host=host)
        with socket.create_connection((host.split(":")[0], int(host.split(":")[1]))) as line:
            for number in range(1, TURNS + 3):
                assert exchange(line, b'"id":%d,' % number, ask).startswith(b"HTTP/1.1 201 Created")
            assert seen == [False] * TURNS + [True] * 2
            seen.clear()
            exchange(line, b'"id":7,', ask[:40], ask[40:-1], ask[-1:])
            assert not any(seen)
            exchange(line, b'"id":8,', ask)
            assert seen[-1], "the connection is idle again"
            seen.clear()
            exchange(
                line, b"HTTP/1.1 413", ask.replace(b"Content-Length: 2\r\n\r\n{}", b"Content-Length: 6000\r\n\r\n")
            )
            line.sendall(ask)  # a part of that body, though it looks like a request
            line.sendall(b" " * (6000 - len(ask)))
            exchange(line, b'"id":9,', ask)
            assert not any(seen[:2])
            exchange(line, b'"id":11,', ask + ask)
            exchange(line, b'"id":12,', ask)
        assert len(Client(address).load("shop").to_frame()) == 12


def test_requests_that_are_logged_take_the_usual_way(alone: Caller) -> None:
    for access_log in (False, True):
        config = configured(alone.app, access_log=access_log)
        state = Server(config).server_state
        protocol = direct.DirectProtocol(config, state, {}, alone._loop)
        assert (protocol._at_once is None) is access_log

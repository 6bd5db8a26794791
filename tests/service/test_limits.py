"""What a client may take before its request is understood, over real sockets."""

import asyncio
import contextlib
import json
import socket
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from uvicorn.server import ServerState

from causal_bandits import Client
from causal_bandits.core.problem import Problem
from causal_bandits.errors import OptionError
from causal_bandits.product.service import ServiceSettings, create_app
from causal_bandits.product.service.limits import Connections, most_connections
from causal_bandits.product.service.serving import Server, configured, listen
from causal_bandits.product.service.settings import Limits

from .calls import DECIDE, SHOP, TOKENS

ASK = "POST /api/v1/studies/shop/decisions"
SECONDS = 30.0
"""How long a test waits for what must happen; a limit under test is shorter by far."""


@contextlib.contextmanager
def serving(storage: str, **options: Any) -> Iterator[tuple[str, int]]:
    """A server in a thread, with a study; gives where it listens."""
    settings = ServiceSettings(storage, **options)
    app = create_app(settings)
    listening = listen("127.0.0.1", 0)
    server = Server(configured(app, settings))
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listening]}, daemon=True)
    thread.start()
    while not server.started:
        time.sleep(0.01)
    try:
        yield listening.getsockname()
    finally:
        server.should_exit = True
        thread.join(60)
        listening.close()
        assert not thread.is_alive()


def raw(line: str, *headers: str, body: str = "{}", host: str = "localhost", length: int | None = None) -> bytes:
    """A request as it is sent."""
    lines = [f"{line} HTTP/1.1", f"Host: {host}", "Content-Type: application/json", *headers]
    return "\r\n".join([*lines, f"Content-Length: {len(body) if length is None else length}", "", body]).encode()


def answer(line: socket.socket) -> tuple[int, Any]:
    """The status and the JSON value of one answer."""
    line.settimeout(SECONDS)
    found = b""
    while b"\r\n\r\n" not in found:
        more = line.recv(65_536)
        assert more, found
        found += more
    head, _, body = found.partition(b"\r\n\r\n")
    lengths = [each for each in head.lower().split(b"\r\n") if each.startswith(b"content-length:")]
    while len(body) < int(lengths[0].split(b":")[1]):
        body += line.recv(65_536)
    return int(head.split()[1]), json.loads(body)


def sent(where: tuple[str, int], *parts: bytes) -> tuple[int, Any]:
    with socket.create_connection(where) as line:
        for part in parts:
            line.sendall(part)
        return answer(line)


def is_closed(line: socket.socket) -> bool:
    """Whether the server closes a connection, whatever it says before."""
    line.settimeout(SECONDS)
    try:
        while line.recv(65_536):
            pass
    except ConnectionError:
        return True
    except TimeoutError:
        return False
    return True


def wait_for(what: Callable[[], bool]) -> None:
    deadline = time.monotonic() + SECONDS
    while not what():
        assert time.monotonic() < deadline
        time.sleep(0.02)


def test_headers_are_read_in_one_way(storage: str) -> None:
    with serving(storage) as where:
        Client("http://{}:{}".format(*where)).create("shop", Problem.from_dict(SHOP), policy="ts", seed=1)
        for _ in range(30):  # however many requests came before
            assert sent(where, raw(ASK))[0] == 201
        ids = []
        for value in ("visit-1", "visit-1 ", " visit-1", "visit-1\t", "  visit-1 \t "):
            status, found = sent(where, raw(ASK, f"Idempotency-Key:{value}"))
            assert status == 201
            ids.append(found[0]["id"])
        assert ids == [31] * 5
        assert sent(where, raw(ASK, host="localhost  "))[0] == 201
        assert sent(where, raw(ASK, host="evil.example "))[0] == 400
        status, found = sent(where, raw(ASK, "Idempotency-Key: a", "Idempotency-Key: b"))
        assert (status, found["detail"]) == (400, "the header idempotency-key is repeated; send it once")
        for twice in ("Host: localhost", "Host: evil.example", "Content-Type: application/json", "Content-Length: 3"):
            assert sent(where, raw(ASK, twice))[0] == 400, twice
        assert len(Client("http://{}:{}".format(*where)).load("shop").to_frame()) == 32


def test_the_head_of_a_request_is_bounded(storage: str) -> None:
    limits = Limits(head_bytes=10_000, max_headers=50)
    with serving(storage, limits=limits) as where:
        status, found = sent(where, raw(ASK, *(f"x{number}: y" for number in range(51))))
        assert (status, found["detail"]) == (431, "this request has more than 50 headers; send fewer")
        for endless in (b"x: y\r\n", b"y" * 1000):
            with socket.create_connection(where, SECONDS) as line:
                line.sendall(b"GET / HTTP/1.1\r\nHost: localhost\r\nx: ")
                with contextlib.suppress(ConnectionError):
                    for _ in range(100_000):
                        line.sendall(endless)
                    pytest.fail("the server read it all")
        status, found = sent(where, b"GET / HTTP/1.1\r\nx: " + b"y" * 40_000)
        assert (status, "longer than 10,000 bytes" in found["detail"]) == (400, True)
        assert sent(where, b"\x16\x03\x01\r\n\r\n")[0] == 400


def test_slow_requests_end(storage: str) -> None:
    limits = Limits(head_seconds=0.5, body_seconds=0.5, rest_seconds=0.5)
    with serving(storage, tokens=TOKENS, limits=limits) as where, contextlib.ExitStack() as opened:
        token = f"Authorization: Bearer {DECIDE}"
        begun = [b"", b"GET / HT", b"GET / HTTP/1.1\r\nHost: localhost\r\n", raw(ASK, token, body="{", length=9)]
        begun.append(raw("GET /healthz", token, body="") + b"GET /hea")  # the second request of a connection
        begun.append(raw(ASK, body="{", length=99))  # refused, and the rest of the body does not come
        lines = [opened.enter_context(socket.create_connection(where)) for _ in begun]
        for line, part in zip(lines, begun, strict=True):
            line.sendall(part)
        assert answer(lines[3]) == (
            408,
            {
                "type": "about:blank",
                "title": "Refused",
                "status": 408,
                "detail": "the body of this request did not arrive in time; nothing was changed",
            },
        )
        assert answer(lines[5])[0] == 401
        for line, part in zip(lines, begun, strict=True):
            assert is_closed(line), part


def test_a_body_that_is_too_long_is_read_to_its_end(storage: str) -> None:
    """A client that sends first and reads then sees the answer, and its connection stays usable."""
    with serving(storage, body_bytes=1000) as where, socket.create_connection(where, SECONDS) as line:
        for _ in range(2):
            line.sendall(raw(ASK, body=" " * 3_000_000))
            status, found = answer(line)
            assert (status, found["detail"]) == (413, "the body is longer than 1,000 bytes; send it in parts")
        line.sendall(raw("GET /healthz", body=""))
        assert answer(line)[0] == 200


def test_clients_that_go_away_are_not_errors(storage: str, caplog: pytest.LogCaptureFixture) -> None:
    with serving(storage, tokens=TOKENS) as where:
        token, form = f"Authorization: Bearer {DECIDE}", "Content-Type: application/x-www-form-urlencoded"
        for path in ("/decisions", "/outcomes", "/decisions/1/abandon"):
            line = socket.create_connection(where)
            line.sendall(raw(f"POST /api/v1/studies/shop{path}", token, body="{", length=99))
            line.close()
        with socket.create_connection(where) as line:
            line.sendall(f"POST /sign-in HTTP/1.1\r\nHost: localhost\r\n{form}\r\nContent-Length: 99\r\n\r\nx".encode())
        assert sent(where, raw("GET /healthz", token, body=""))[0] == 200
    assert caplog.text == ""


def test_silent_connections_do_not_keep_others_out(storage: str) -> None:
    limits = Limits(max_connections=20, max_connections_per_address=15)
    for proxies in ((), ("127.0.0.0/8",)):  # a limit per address, or one for all since they come through a proxy
        with serving(storage, limits=limits, proxies=proxies) as where, contextlib.ExitStack() as lines:
            used = lines.enter_context(socket.create_connection(where))
            used.sendall(raw("GET /healthz", body=""))
            assert answer(used)[0] == 200
            silent = [lines.enter_context(socket.create_connection(where)) for _ in range(60)]
            for _ in range(20):
                assert sent(where, raw("GET /healthz", body=""))[0] == 200
            used.sendall(raw("GET /healthz", body=""))
            assert answer(used)[0] == 200, "a connection that has sent requests stays"
            assert all(is_closed(line) for line in silent[:40])


def test_busy_connections_are_not_closed_for_new_ones(storage: str) -> None:
    limits = Limits(max_connections=5)
    with serving(storage, limits=limits) as where, contextlib.ExitStack() as lines:
        Client("http://{}:{}".format(*where)).create("shop", Problem.from_dict(SHOP), policy="ts", seed=1)
        streams = [lines.enter_context(socket.create_connection(where)) for _ in range(5)]
        for line in streams:
            line.sendall(raw("GET /api/v1/studies/shop/events", body=""))
            assert line.recv(12) == b"HTTP/1.1 200"
        status, found = sent(where, raw("GET /healthz", body=""))
        assert (status, "too many connections" in found["detail"]) == (503, True)


def test_unread_answers_end(storage: str) -> None:
    limits = Limits(answer_seconds=0.5)
    with serving(storage, limits=limits) as where:
        Client("http://{}:{}".format(*where)).create("shop", Problem.from_dict(SHOP), policy="ts", seed=1)
        with socket.socket() as line:
            line.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
            line.connect(where)
            line.settimeout(SECONDS)
            with contextlib.suppress(ConnectionError):
                for _ in range(100_000):  # answers that are never read
                    line.sendall(raw("GET /openapi.json", body=""))
                pytest.fail("the server answered on and on")


def test_bodies_together_are_bounded(storage: str) -> None:
    limits = Limits(held_bytes=100_000)
    with serving(storage, limits=limits) as where, socket.create_connection(where) as line:
        line.sendall(raw("POST /api/v1/studies/shop/outcomes", body="[" + " " * 90_000, length=95_000))
        other = raw("POST /api/v1/studies/shop/outcomes", body="[" + " " * 60_000)

        def is_refused() -> bool:
            status, found = sent(where, other)
            assert status in (400, 503)
            return status == 503 and "too many long bodies" in found["detail"]

        wait_for(is_refused)
        line.sendall(b" " * 4_999)
        assert answer(line)[0] == 400
        assert sent(where, other)[0] == 400, "what was read is forgotten"


@pytest.mark.parametrize(("proxies", "statuses"), [(("127.0.0.1",), [401] * 12), ((), [401] * 10 + [429] * 2)])
def test_a_trusted_proxy_says_who_the_client_is(storage: str, proxies: tuple[str, ...], statuses: list[int]) -> None:
    found = []
    with serving(storage, tokens=TOKENS, proxies=proxies) as where:
        for number in range(12):
            head = ["POST /sign-in HTTP/1.1", "Host: localhost", "Content-Type: application/x-www-form-urlencoded"]
            head += [f"X-Forwarded-For: 192.0.2.{number}", "Connection: close", "Content-Length: 7", "", "token=x"]
            with socket.create_connection(where, SECONDS) as line:
                line.sendall("\r\n".join(head).encode())
                found.append(int(line.recv(65_536).split()[1]))
    assert found == statuses


def test_connections_are_fewer_than_descriptors(monkeypatch: pytest.MonkeyPatch) -> None:
    resource = pytest.importorskip("resource")
    for soft, most in ((200, 72), (64, 16), (1024, 896), (100_000, 1000), (resource.RLIM_INFINITY, 1000)):
        monkeypatch.setattr(resource, "getrlimit", lambda _, soft=soft: (soft, soft))
        assert most_connections(Limits()) == most


def test_answers_are_sent_without_delay(storage: str) -> None:
    """The head and the body of an answer are two packets: the second must not wait until the first is acknowledged."""

    async def main() -> int:
        settings = ServiceSettings(storage)
        config = configured(create_app(settings), settings)
        config.load()
        made: list[Any] = []

        def make() -> asyncio.Protocol:
            made.append(config.http_protocol_class(config=config, server_state=ServerState(), app_state={}))  # type: ignore[call-arg]
            found: asyncio.Protocol = made[-1]
            return found

        with listen("127.0.0.1", 0) as listening:
            server = await asyncio.get_running_loop().create_server(make, sock=listening)
            with socket.create_connection(listening.getsockname()):
                while not made or made[0].transport is None:
                    await asyncio.sleep(0.01)
                line = made[0].transport.get_extra_info("socket")
                found: int = line.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY)
            server.close()
        return found

    assert asyncio.run(main()) == 1


def test_proxies() -> None:
    found = Connections(Limits(), ("10.0.0.0/8", "::1"))
    assert [found._is_proxy(each) for each in ("10.1.2.3", "::1", "11.0.0.1", "", "unix")] == [True, True, False] + [
        False
    ] * 2
    assert Connections(Limits(), ("*",))._is_proxy("11.0.0.1")
    for odd in ("proxy", "10.0.0.0/99", ""):
        with pytest.raises(OptionError, match="is not an address"):
            ServiceSettings("sqlite:///x.db", proxies=(odd,))

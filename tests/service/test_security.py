"""Nobody gets in without a token, by no route and no method; and what a browser can be made to send does no harm."""

import re
from pathlib import Path

import pytest
from fastapi import FastAPI
from starlette.routing import Route

from causal_bandits.errors import OptionError
from causal_bandits.product.service import ServiceSettings, gate, read_tokens
from causal_bandits.product.service.settings import is_loopback
from causal_bandits.product.service.sign_in import (
    FAILURES,
    FAILURES_PER_ADDRESS,
    MOST_ADDRESSES,
    WINDOW_SECONDS,
    Attempts,
)
from causal_bandits.product.service.tokens import SESSION_SECONDS

from .calls import ADMIN, DECIDE, READ, TOKENS, Caller
from .conftest import OpenApp

METHODS = ("GET", "HEAD", "OPTIONS", "POST", "PUT", "PATCH", "DELETE", "TRACE", "ODD")


def addresses(app: FastAPI) -> list[str]:
    """An address for every route there is."""
    parts = {"{name}": "shop", "{id}": "1", "{arm}": "banner=red", "{file}": "site.css"}
    found = []
    for route in app.routes:
        assert isinstance(route, Route), route
        path = route.path
        for part, value in parts.items():
            path = path.replace(part, value)
        assert "{" not in path
        found.append(path)
    return found


SIGNING_IN = {("GET", "/sign-in"), ("HEAD", "/sign-in"), ("POST", "/sign-in"), ("POST", "/sign-out")}
"""What those who have not signed in may do; tested below."""


def test_every_route_and_method_needs_a_token(closed: Caller) -> None:
    paths = addresses(closed.app)
    assert len(paths) > 25
    assert {"/openapi.json", "/metrics", "/", "/api/v1/studies/shop/decisions"} <= set(paths)
    for path in (*paths, "/nothing", "/api/v1/nothing", "//", "/static/../app.py", "/sign-in/x"):
        for method in METHODS:
            answered = closed(method, path, headers={"content-type": "application/json"})
            if (method, path) in SIGNING_IN:
                continue
            public = ("/static/site.css", "/healthz", "/readyz")  # the page to sign in has a style
            if path in public and method in ("GET", "HEAD"):
                assert answered.status == (200 if method == "GET" else 405)
                continue
            assert answered.status == 401, (method, path)
            assert answered.headers["www-authenticate"] == "Bearer"
            assert "needs a token" in answered.detail


@pytest.mark.parametrize(
    "credentials",
    [
        {"authorization": "Bearer wrong-token-0123456789"},
        {"authorization": f"Bearer {ADMIN}x"},
        {"authorization": f"Bearer {ADMIN[:-1]}"},
        {"authorization": f"Basic {ADMIN}"},
        {"authorization": "Bearer"},
        {"authorization": "Bearer " + "é" * 20},
        {"cookie": f"{gate.COOKIE}={ADMIN}"},
        {"cookie": f"{gate.COOKIE}=99999999999.{'0' * 64}"},
        {"cookie": f"{gate.COOKIE}=; other=1"},
        {"cookie": "a=b; ="},
    ],
)
def test_wrong_credentials(closed: Caller, credentials: dict[str, str]) -> None:
    assert closed("GET", "/api/v1/studies", headers=credentials).status == 401
    assert closed("GET", f"/api/v1/studies?token={ADMIN}").status == 401


def test_scopes(closed: Caller) -> None:
    closed.token = ADMIN
    shop = closed.create()
    deciding = [("POST", f"{shop}/decisions"), ("PATCH", f"{shop}/decisions/1"), ("POST", f"{shop}/outcomes")]
    deciding += [
        ("POST", f"{shop}/decisions/1/abandon"),
        ("POST", f"{shop}/corrections"),
        ("PATCH", f"{shop}/decisions"),
    ]
    others = [
        (method, path)
        for path in addresses(closed.app)
        for method in ("POST", "PUT", "PATCH", "DELETE")
        if (method, path) not in {*deciding, *SIGNING_IN}
    ]
    closed.token = READ
    assert closed("GET", shop).status == 200
    for method, path in (*deciding, *others):
        answered = closed(method, path, {})
        assert answered.status == 403, (method, path)
    assert answered.detail == "this token has the scope read; DELETE here needs admin"
    closed.token = DECIDE
    assert closed("GET", shop).status == 200
    assert closed("POST", f"{shop}/decisions", {}).status == 201
    for method, path in deciding:
        assert closed(method, path, {}).status != 403, (method, path)
    for method, path in others:
        assert closed(method, path, {}).status == 403, (method, path)
    closed.token = ADMIN
    assert closed("DELETE", shop).status == 204


def test_signing_in_with_a_browser(closed: Caller) -> None:
    html = {"accept": "text/html"}
    asked = closed("GET", "/studies/a%2Fb", headers=html)
    assert asked.status == 401
    assert '<input type="hidden" name="target" value="/studies/a%2Fb">' in asked.text
    form = {"content-type": "application/x-www-form-urlencoded", "origin": "http://localhost"}
    wrong = closed("POST", "/sign-in", content=b"token=wrong&target=/", headers=form)
    assert wrong.status == 401
    assert "does not know this token" in wrong.text
    style = re.search(r'<link rel="stylesheet" href="([^"]+)"', wrong.text)
    assert style is not None
    assert closed("GET", style[1]).headers["content-type"].startswith("text/css")
    body = f"token={READ}&target=%2Fstudies%2Fa%252Fb".encode()
    assert closed("POST", "/sign-in", content=body, headers={**form, "origin": "http://evil.example"}).status == 403
    done = closed("POST", "/sign-in", content=body, headers=form)
    assert (done.status, done.headers["location"]) == (303, "/studies/a%2Fb")
    cookie = done.headers["set-cookie"]
    assert "HttpOnly" in cookie
    assert "SameSite=lax" in cookie
    assert "Secure" not in cookie
    assert READ not in cookie
    signed = {"cookie": cookie.partition(";")[0]}
    assert closed("GET", "/", headers={**html, **signed}).status == 200
    assert closed("POST", "/api/v1/studies", {}, headers={**signed, "origin": "http://localhost"}).status == 403
    assert "needs an Origin header" in closed("POST", "/api/v1/studies", {}, headers=signed).detail
    for target in (b"//evil.example", b"https://evil.example/x", b"/%5Cevil", b"x", b"//[", b"http://["):
        away = closed("POST", "/sign-in", content=b"token=" + READ.encode() + b"&target=" + target, headers=form)
        assert away.headers["location"] == "/"
    out = closed("POST", "/sign-out", headers={**signed, "origin": "http://localhost"})
    assert 'session=""' in out.headers["set-cookie"]


def test_the_cookie_is_secure_where_the_browser_came_by_https(open_app: OpenApp) -> None:
    """Whatever proxy there is, and whether it is known to the server."""
    caller = open_app(TOKENS, hosts=("bandits.example.com",))
    form = {
        "content-type": "application/x-www-form-urlencoded",
        "host": "bandits.example.com",
        "origin": "https://bandits.example.com",
    }
    done = caller("POST", "/sign-in", content=f"token={READ}".encode(), headers=form)
    assert "; Secure" in done.headers["set-cookie"]


def test_wrong_tokens_are_limited(closed: Caller) -> None:
    form = {"content-type": "application/x-www-form-urlencoded", "origin": "http://localhost"}
    statuses = [closed("POST", "/sign-in", content=b"token=wrong", headers=form).status for _ in range(11)]
    assert statuses == [401] * 10 + [429]
    refused = closed("POST", "/sign-in", content=f"token={READ}".encode(), headers=form)
    assert refused.status == 429, "a right token tells nobody that it is right"
    assert 1 <= int(refused.headers["retry-after"]) <= 61
    assert re.search(r"Too many wrong tokens. Try again in \d+ seconds.", refused.text)
    assert "set-cookie" not in refused.headers
    closed.token = READ
    assert closed("GET", "/api/v1/studies").status == 200, "programs are not signed in by a form"


def test_attempts() -> None:
    now = 0.0
    attempts = Attempts(lambda: now)
    for _ in range(FAILURES_PER_ADDRESS):
        assert attempts.wait("192.0.2.1") == 0
        attempts.failed("192.0.2.1")
        now += 1.0
    assert attempts.wait("192.0.2.1") == WINDOW_SECONDS - FAILURES_PER_ADDRESS
    assert attempts.wait("192.0.2.2") == 0
    now += WINDOW_SECONDS - FAILURES_PER_ADDRESS
    assert attempts.wait("192.0.2.1") == 0, "the first one is a minute ago"
    for number in range(FAILURES):
        attempts.failed(f"2001:db8::{number // 4:x}:0:0:0:{number % 4}")
    assert attempts.wait("192.0.2.2") == WINDOW_SECONDS, "too many from all together"
    now += WINDOW_SECONDS
    assert attempts.wait("192.0.2.2") == 0
    for number in range(MOST_ADDRESSES + 10):
        attempts.failed(str(number))
    assert len(attempts._by_address) == MOST_ADDRESSES


def test_errors_are_pages_in_a_browser(closed: Caller) -> None:
    html = {"accept": "text/html,*/*"}
    form = {"content-type": "application/x-www-form-urlencoded", **html}
    away = {**form, "origin": "http://evil.example"}
    asked = [
        (closed("POST", "/sign-in", content=b"token=x", headers=away), 403, "comes from a page of another site"),
        (closed("POST", "/sign-in", content=b"token=x", headers={**away, "origin": "null"}), 403, "another site"),
        (closed("GET", "/", headers={**html, "host": "evil.example"}), 400, "is not a name of this server"),
        (closed("POST", "/sign-in", content=b"x" * 9000, headers=form), 413, "longer than"),
        (closed("POST", "/sign-in", content=b"{}", headers={**html, "content-type": "text/plain"}), 415, "the form"),
    ]
    closed.token = ADMIN
    asked += [
        (closed("GET", "/nothing", headers=html), 404, "No page or route has this address."),
        (closed("PUT", "/", headers=html), 405, "Method not allowed"),
        (closed("GET", "/studies/none", headers=html), 404, "none"),
        (closed("GET", "/studies/none/decisions?before=x", headers=html), 422, "Before="),
    ]
    for answered, status, sentence in asked:
        assert (answered.status, answered.headers["content-type"]) == (status, "text/html; charset=utf-8")
        assert sentence in answered.text
        assert "<h1>" in answered.text
    assert closed("GET", "/api/v1/nothing", headers=html).headers["content-type"] == "application/problem+json"


def test_a_session_ends_and_cannot_be_made_longer() -> None:
    session = TOKENS.session_for(READ, now=1000.0)
    assert session is not None
    assert TOKENS.of_session(session, now=1001.0).scope == "read"
    assert TOKENS.of_session(session, now=1001.0 + SESSION_SECONDS).scope is None
    later = f"{int(1e9)}.{session.partition('.')[2]}"
    assert TOKENS.of_session(later, now=1001.0).scope is None
    for odd in ("", ".", "x.y", "9" * 30 + ".ff", "١.ff"):
        assert TOKENS.of_session(odd, now=0.0).scope is None


@pytest.mark.parametrize(
    ("host", "status"),
    [
        ("localhost:8080", 200),
        ("127.0.0.1", 200),
        ("[::1]:8080", 200),
        ("LOCALHOST", 200),
        ("evil.example", 400),
        ("localhost.evil.example", 400),
        ("localhost:80:80", 400),
        ("", 400),
    ],
)
def test_only_known_hosts(call: Caller, host: str, status: int) -> None:
    assert call("GET", "/metrics", headers={"host": host}).status == status


def test_probes_need_no_token_and_no_name_and_say_nothing_else(closed: Caller, tmp_path: Path) -> None:
    for path in ("/healthz", "/readyz"):
        for host in ("10.1.2.3:8080", "evil.example", ""):
            answered = closed("GET", path, headers={"host": host})
            assert (answered.status, answered.json) == (200, {"status": "ok"})
        assert closed("POST", path, headers={"host": "evil.example"}).status == 400
        assert closed("GET", f"{path}/x", headers={"host": "evil.example"}).status == 400
    (tmp_path / "studies.db").rename(tmp_path / "elsewhere.db")
    answered = closed("GET", "/readyz")
    assert (answered.status, answered.json) == (503, {"status": "storage unavailable"})
    assert closed("GET", "/healthz").json == {"status": "ok"}


def test_hosts_that_were_named(open_app: OpenApp) -> None:
    caller = open_app(hosts=("bandits.example.com", "*.inner.example"))
    for host, status in (("bandits.example.com:443", 200), ("a.inner.example", 200), ("inner.example", 400)):
        assert caller("GET", "/metrics", headers={"host": host}).status == status


@pytest.mark.parametrize("origin", ["http://evil.example", "null", "http://localhost:9999", "http://[", ""])
def test_pages_of_other_sites_change_nothing(call: Caller, origin: str) -> None:
    for method in ("POST", "PUT", "PATCH", "DELETE"):
        answered = call(method, "/api/v1/studies", {"name": "x"}, headers={"origin": origin})
        assert answered.status == 403
        assert "another site" in answered.detail
    other = {"sec-fetch-site": "cross-site"}
    assert call("POST", "/api/v1/studies", {"name": "x"}, headers=other).status == 403
    assert call("POST", "/api/v1/studies", content=b"name=x", headers={"content-type": "text/plain"}).status == 415
    assert call("GET", "/api/v1/studies").json == []


def test_bodies_that_are_too_long(open_app: OpenApp) -> None:
    caller = open_app(body_bytes=1000, batch_bytes=2000)
    shop = caller.create()
    long = [{"id": 1, "clicked": 1}] * 50
    assert caller("POST", f"{shop}/outcomes", long).status == 404  # read, and refused by the study
    assert "longer than 2,000 bytes" in caller("POST", f"{shop}/outcomes", long * 3).detail
    undeclared = {"content-length": "", "transfer-encoding": "chunked", "content-type": "application/json"}
    for path, size in ((f"{shop}/decisions", 1001), (f"{shop}/outcomes", 2001)):
        answered = caller("POST", path, content=b"[" + b" " * size, headers=undeclared)
        assert answered.status == 413, answered.text


def test_headers_of_every_answer(call: Caller) -> None:
    for method, path in (("GET", "/"), ("GET", "/nothing"), ("GET", "/static/site.css"), ("DELETE", "/api/v1/studies")):
        headers = call(method, path).headers
        policy = headers["content-security-policy"]
        assert "default-src 'none'" in policy
        assert "unsafe" not in policy
        assert "frame-ancestors 'none'" in policy
        assert headers["x-content-type-options"] == "nosniff"
        assert headers["referrer-policy"] == "same-origin"


def test_token_files(tmp_path: Path) -> None:
    file = tmp_path / "tokens"
    file.write_text(f"# who may what\n\n{ADMIN}\nread {READ}\n  decide   {DECIDE}\n")
    tokens = read_tokens(file)
    assert [tokens.find(each).scope for each in (ADMIN, READ, DECIDE, "x", "")] == [
        "admin",
        "read",
        "decide",
        None,
        None,
    ]
    assert ADMIN not in repr(tokens) + repr(tokens.by_digest) + repr(ServiceSettings("sqlite:///x.db", tokens))
    for text, sentence in (
        ("short", "too short"),
        ("é" * 20, "too short or not ASCII"),
        (f"write {ADMIN}", "line 1 of .* is not a token; write TOKEN, or read TOKEN"),
        (f"read {ADMIN} more", "is not a token"),
        ("# nothing", "holds no token"),
    ):
        file.write_text(text)
        with pytest.raises(OptionError, match=sentence) as caught:
            read_tokens(file)
        assert ADMIN not in str(caught.value)
    with pytest.raises(OptionError, match="cannot read the tokens"):
        read_tokens(tmp_path / "absent")


def test_settings_that_cannot_be() -> None:
    for options in ({"root_path": "bandits"}, {"root_path": "/a b"}, {"root_path": "//x"}, {"hosts": ("a:80",)}):
        with pytest.raises(OptionError):
            ServiceSettings("sqlite:///x.db", **options)
    assert not is_loopback("192.168.0.1")
    assert not is_loopback("example.com")

"""Nobody gets in without a token, by no route and no method; and what a browser can be made to send does no harm."""

from pathlib import Path

import pytest
from fastapi import FastAPI
from starlette.routing import Route

from causal_bandits.errors import OptionError
from causal_bandits.service import ServiceSettings, gate, read_tokens
from causal_bandits.service.settings import is_loopback
from causal_bandits.service.tokens import SESSION_SECONDS

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


def test_every_route_and_method_needs_a_token(closed: Caller) -> None:
    paths = addresses(closed.app)
    assert len(paths) > 25
    assert {"/openapi.json", "/metrics", "/healthz", "/", "/api/v1/studies/shop/decisions"} <= set(paths)
    for path in (*paths, "/nothing", "/api/v1/nothing", "//", "/static/../app.py", "/sign-in/x"):
        for method in METHODS:
            answered = closed(method, path, headers={"content-type": "application/json"})
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
    deciding.append(("POST", f"{shop}/decisions/1/abandon"))
    others = [
        (method, path)
        for path in addresses(closed.app)
        for method in ("POST", "PUT", "PATCH", "DELETE")
        if (method, path) not in deciding
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
    assert "not known" in wrong.text
    body = f"token={READ}&target=%2Fstudies%2Fa%252Fb".encode()
    assert closed("POST", "/sign-in", content=body, headers={**form, "origin": "http://evil.example"}).status == 403
    done = closed("POST", "/sign-in", content=body, headers=form)
    assert (done.status, done.headers["location"]) == (303, "/studies/a%2Fb")
    cookie = done.headers["set-cookie"]
    assert "HttpOnly" in cookie
    assert "SameSite=lax" in cookie
    assert READ not in cookie
    signed = {"cookie": cookie.partition(";")[0]}
    assert closed("GET", "/", headers={**html, **signed}).status == 200
    assert closed("POST", "/api/v1/studies", {}, headers={**signed, "origin": "http://localhost"}).status == 403
    assert "must say its Origin" in closed("POST", "/api/v1/studies", {}, headers=signed).detail
    for target in (b"//evil.example", b"https://evil.example/x", b"/%5Cevil", b"x"):
        away = closed("POST", "/sign-in", content=b"token=" + READ.encode() + b"&target=" + target, headers=form)
        assert away.headers["location"] == "/"
    out = closed("POST", "/sign-out", headers={**signed, "origin": "http://localhost"})
    assert 'session=""' in out.headers["set-cookie"]


def test_a_session_ends_and_cannot_be_made_longer() -> None:
    session = TOKENS.session_for(READ, now=1000.0)
    assert session is not None
    assert TOKENS.scope_of_session(session, now=1001.0) == "read"
    assert TOKENS.scope_of_session(session, now=1001.0 + SESSION_SECONDS) is None
    later = f"{int(1e9)}.{session.partition('.')[2]}"
    assert TOKENS.scope_of_session(later, now=1001.0) is None
    for odd in ("", ".", "x.y", "9" * 30 + ".ff", "١.ff"):
        assert TOKENS.scope_of_session(odd, now=0.0) is None


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
    assert call("GET", "/healthz", headers={"host": host}).status == status


def test_hosts_that_were_named(open_app: OpenApp) -> None:
    caller = open_app(hosts=("bandits.example.com", "*.inner.example"))
    for host, status in (("bandits.example.com:443", 200), ("a.inner.example", 200), ("inner.example", 400)):
        assert caller("GET", "/healthz", headers={"host": host}).status == status


@pytest.mark.parametrize("origin", ["http://evil.example", "null", "http://localhost:9999", "http://[", ""])
def test_pages_of_other_sites_change_nothing(call: Caller, origin: str) -> None:
    for method in ("POST", "PUT", "PATCH", "DELETE"):
        answered = call(method, "/api/v1/studies", {"name": "x"}, headers={"origin": origin})
        assert answered.status == 403
        assert "another site" in answered.detail
    other = {"sec-fetch-site": "cross-site"}
    assert call("POST", "/api/v1/studies", {"name": "x"}, headers=other).status == 403
    assert call("POST", "/api/v1/studies", content=b"name=x", headers={"content-type": "text/plain"}).status == 415
    assert call("GET", "/api/v1/studies").json == {"studies": []}


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
    assert [tokens.scope_of(each) for each in (ADMIN, READ, DECIDE, "x", "")] == ["admin", "read", "decide", None, None]
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

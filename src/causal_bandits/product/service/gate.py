"""Access control: functions of headers, method and path. Everything that is not listed is rejected."""

import re
from collections.abc import Iterable, Mapping
from urllib.parse import unquote, urlsplit

from fastapi import HTTPException

from .settings import ServiceSettings
from .tokens import ANYBODY, UNKNOWN, Scope, Token, allows

LOOKING = ("GET", "HEAD", "OPTIONS")
COOKIE = "causal-bandits-session"
JSON_TYPES = ("application/json", "application/x-ndjson", "application/ndjson")
FORM_TYPE, FORM_BYTES, SIGN_IN_BYTES = "application/x-www-form-urlencoded", 262_144, 8192
MOST_FIELDS = 1000
FORMS = re.compile(r"POST /(sign-in|new|studies/[^/]+/manage)")
"""What is sent by forms of pages."""

ONCE = frozenset(
    ("authorization", "content-length", "content-type", "host", "idempotency-key", "origin", "sec-fetch-site")
)

API = "/api/v1"
DECIDING = re.compile(
    rf"POST {API}/studies/[^/]+/(decisions|outcomes|corrections|decisions/[^/]+/abandon)"
    rf"|PATCH {API}/studies/[^/]+/decisions(/[^/]+)?"
)
"""What changes something and needs the scope `decide` alone; everything else that does needs `admin`."""
BATCHES = re.compile(rf"POST {API}/studies/[^/]+/(outcomes|imports)")


PUBLIC = re.compile(r"(GET|HEAD) /(static/[^/]+|healthz|readyz|sign-in)|POST /sign-(in|out)")
"""What needs no token: the page to sign in, its style sheet and files like it, and probes."""
PROBES = re.compile(r"(GET|HEAD) /(healthz|readyz)")
"""What an orchestrator calls by an address that is none of the server's names."""


class RefusedError(HTTPException):
    """A request that goes no further."""

    def __init__(self, status: int, sentence: str, headers: dict[str, str] | None = None) -> None:
        super().__init__(status, sentence, headers)


def read_headers(raw: Iterable[tuple[bytes, bytes]], most: int) -> dict[str, str]:
    """Headers by their names in lower case, without spaces around values; those in `ONCE` may not come twice."""
    found: dict[str, str] = {}
    for number, (name, value) in enumerate(raw):
        if number == most:
            raise RefusedError(431, f"this request has more than {most} headers; send fewer")
        key, text = name.decode("latin-1").lower(), value.decode("latin-1").strip(" \t")
        if key in found and key in ONCE:
            raise RefusedError(400, f"the header {key} is repeated; send it once")
        found[key] = f"{found[key]}{'; ' if key == 'cookie' else ', '}{text}" if key in found else text
    return found


def own_path(raw_path: bytes, root_path: str) -> str:
    """The path as it was sent, without the prefix of a proxy."""
    path = raw_path.split(b"?", 1)[0].decode("ascii", "replace")
    if root_path and (path == root_path or path.startswith(root_path + "/")):
        return path[len(root_path) :] or "/"
    return path


def route_path(path: str) -> str:
    """The path that routes see: each part decoded, but for / and % inside it.

    >>> route_path("/studies/a%2Fb%20c")
    '/studies/a%2Fb c'
    """
    if "%" not in path:
        return path
    return "/".join(unquote(part).replace("%", "%25").replace("/", "%2F") for part in path.split("/"))


def name_in(part: str) -> str:
    """A name from a part of such a path.

    >>> name_in("a%2Fb 100%25")
    'a/b 100%'
    """
    return part.replace("%2F", "/").replace("%25", "%") if "%" in part else part


def needed_scope(method: str, path: str) -> Scope:
    """What a request must be allowed to do."""
    if method in LOOKING:
        return "read"
    return "decide" if DECIDING.fullmatch(f"{method} {path}") else "admin"


def has_changed(method: str, path: str, status: int) -> bool:
    """Whether a request with this answer changed a study itself; a form is answered with a page until it has."""
    asked = f"{method} {path}"
    if PUBLIC.fullmatch(asked) or needed_scope(method, path) != "admin":
        return False
    return status == 303 if FORMS.fullmatch(asked) else status < 300


def is_probe(method: str, path: str) -> bool:
    """Whether a request is a health probe: it needs no token and may name any host."""
    return PROBES.fullmatch(f"{method} {path}") is not None


def check_host(headers: Mapping[str, str], settings: ServiceSettings) -> None:
    """Reject names that are not this server's: a page elsewhere may have pointed its own name here (DNS rebinding)."""
    host = headers.get("host", "").lower()
    name = host.rpartition(":")[0] if re.search(r":\d*$", host) else host
    if name in settings.all_hosts or any(
        name.endswith(allowed[1:]) for allowed in settings.all_hosts if allowed.startswith("*.")
    ):
        return
    raise RefusedError(
        400, f"host {name[:100]!r} is not a name of this server; to allow it, start the server with --allow-host"
    )


def held_token(headers: Mapping[str, str], settings: ServiceSettings) -> Token:
    """The token of the sender, a bearer token or that of a browser that signed in; without tokens all may do all."""
    if not settings.tokens:
        return ANYBODY
    kind, _, token = headers.get("authorization", "").partition(" ")
    if kind.lower() == "bearer":
        return settings.tokens.find(token.strip())
    session = session_in(headers.get("cookie", ""))
    return UNKNOWN if session is None else settings.tokens.of_session(session)


def session_in(cookies: str) -> str | None:
    """The session among a browser's cookies; not by `http.cookies`, which takes quadratic time for some values.

    >>> session_in("a=b; causal-bandits-session=1.ff"), session_in("a=b")
    ('1.ff', None)
    """
    for cookie in cookies.split(";"):
        name, _, value = cookie.strip().partition("=")
        if name == COOKIE:
            return value
    return None


def check_scope(method: str, path: str, held: Scope | None) -> Scope | None:
    """Reject an unknown token (401), or one that lacks the scope (403)."""
    if PUBLIC.fullmatch(f"{method} {path}"):
        return held
    if held is None:
        raise RefusedError(
            401,
            "this server needs a token; send it as the header Authorization: Bearer TOKEN",
            {"WWW-Authenticate": "Bearer"},
        )
    needed = needed_scope(method, path)
    if not allows(held, needed):
        raise RefusedError(403, f"this token has the scope {held}; {method} here needs {needed}")
    return held


def check_origin(method: str, headers: Mapping[str, str]) -> None:
    """Reject what another site's page makes a browser send."""
    if method in LOOKING:
        return
    origin = headers.get("origin")
    other = origin is not None and _netloc(origin) != headers.get("host", "").lower()
    if other or headers.get("sec-fetch-site", "same-origin") not in ("same-origin", "none"):
        raise RefusedError(403, "this request comes from a page of another site; nothing was changed")
    if origin is None and "authorization" not in headers and "cookie" in headers:
        raise RefusedError(403, "a request with a cookie needs an Origin header; nothing was changed")


def _netloc(origin: str) -> str | None:
    try:
        return urlsplit(origin).netloc.lower()
    except ValueError:
        return None


def check_type(method: str, path: str, headers: Mapping[str, str]) -> None:
    """Reject bodies of another kind than JSON: a form on another site can send those."""
    if method in LOOKING or not (headers.get("content-length", "0") != "0" or "transfer-encoding" in headers):
        return
    kind = headers.get("content-type", "").partition(";")[0].strip().lower()
    if FORMS.fullmatch(f"{method} {path}"):
        if kind != FORM_TYPE:
            raise RefusedError(415, f"the form is of type {kind[:100]!r}; use the form on the page")
        if "origin" not in headers and path != "/sign-in":
            raise RefusedError(403, "a form needs an Origin header; use the form on the page")
    elif kind not in JSON_TYPES:
        raise RefusedError(
            415, f"the body is of type {kind[:100]!r}; expected application/json, or application/x-ndjson"
        )


def most_bytes(method: str, path: str, settings: ServiceSettings) -> int:
    """How long the body may be."""
    if FORMS.fullmatch(f"{method} {path}"):
        return SIGN_IN_BYTES if path == "/sign-in" else FORM_BYTES
    return settings.batch_bytes if BATCHES.fullmatch(f"{method} {path}") else settings.body_bytes

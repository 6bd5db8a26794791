"""Signing in with a browser: a form takes the token once, and a signed cookie replaces it."""

import ipaddress
import time
from collections import OrderedDict, deque
from collections.abc import Callable
from urllib.parse import parse_qs

from fastapi import APIRouter
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import HTMLResponse, RedirectResponse, Response

from .gate import COOKIE
from .pages.views import render
from .settings import ServiceSettings
from .tokens import SESSION_SECONDS

router = APIRouter(include_in_schema=False)

LONGEST = 4096

WINDOW_SECONDS = 60.0
FAILURES_PER_ADDRESS = 10
FAILURES = 200
"""Wrong tokens in a window, from one address and from all."""
MOST_ADDRESSES = 10_000


class Attempts:
    """Wrong tokens of the last minute: a moving window for each address, and one for all of them."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._all: deque[float] = deque(maxlen=FAILURES)
        self._by_address: OrderedDict[str, deque[float]] = OrderedDict()

    def wait(self, address: str) -> float:
        """Seconds until another attempt from this address is allowed; 0 for now."""
        since = self._clock() - WINDOW_SECONDS
        own = self._by_address.get(network_of(address), deque())
        full = [times[0] for times in (own, self._all) if len(times) == times.maxlen]
        return max(0.0, *(first - since for first in full)) if full else 0.0

    def failed(self, address: str) -> None:
        """A wrong token came from this address."""
        own = self._by_address.setdefault(network_of(address), deque(maxlen=FAILURES_PER_ADDRESS))
        self._by_address.move_to_end(network_of(address))
        for times in (own, self._all):
            times.append(self._clock())
        while len(self._by_address) > MOST_ADDRESSES:
            self._by_address.popitem(last=False)


def network_of(address: str) -> str:
    """What attempts are counted for: an IPv4 address, or the /64 network of an IPv6 address, which one sender has.

    >>> network_of("192.0.2.7"), network_of("2001:db8::7"), network_of("unknown")
    ('192.0.2.7', '2001:db8::/64', 'unknown')
    """
    try:
        found = ipaddress.ip_address(address)
    except ValueError:
        return address
    return address if found.version == 4 else str(ipaddress.ip_network(f"{address}/64", strict=False))


def page(
    target: str, settings: ServiceSettings, *, status: int = 401, message: str = "", wait: float = 0.0
) -> Response:
    """The sign-in form; its status is that of a request that is not signed in."""
    text = render("sign_in.html", root_path=settings.root_path, target=target, message=message)
    headers = {"Cache-Control": "no-store"}
    headers |= {"WWW-Authenticate": "Bearer"} if status == 401 else {"Retry-After": str(int(wait) + 1)}
    return HTMLResponse(text, status, headers)


@router.get("/sign-in")
async def form(request: Request) -> Response:
    """Show the sign-in form."""
    return page("/", settings_of(request))


@router.post("/sign-in")
async def sign_in(request: Request) -> Response:
    """Exchange a token for a cookie."""
    settings, attempts = settings_of(request), request.app.state.attempts
    given = parse_qs((await request.body()).decode("ascii", "replace"))
    target = local(given.get("target", ["/"])[0])
    address = request.client.host if request.client else ""
    wait = attempts.wait(address)
    if wait > 0:
        message = f"Too many wrong tokens. Try again in {int(wait) + 1} seconds."
        return page(target, settings, status=429, message=message, wait=wait)
    session = settings.tokens.session_for(given.get("token", [""])[0].strip())
    if session is None:
        attempts.failed(address)
        return page(target, settings, message="The server does not know this token.")
    response = RedirectResponse(settings.root_path + target, 303)
    response.set_cookie(
        COOKIE,
        session,
        max_age=SESSION_SECONDS,
        path=settings.root_path or "/",
        httponly=True,
        samesite="lax",
        # A browser says in Origin how it came here, whatever proxy is in between.
        secure=request.url.scheme == "https" or request.headers.get("origin", "").startswith("https://"),
    )
    return response


@router.post("/sign-out")
async def sign_out(request: Request) -> Response:
    """End the session."""
    root = settings_of(request).root_path
    response = RedirectResponse(f"{root}/", 303)
    response.delete_cookie(COOKIE, path=root or "/", httponly=True, samesite="lax")
    return response


def settings_of(request: Request) -> ServiceSettings:
    """The settings of a server that has tokens; another has nothing to sign in to."""
    settings: ServiceSettings = request.app.state.settings
    if not settings.tokens:
        raise HTTPException(404)
    return settings


def local(target: str) -> str:
    """A path on this server, or its start page.

    >>> local("/studies/a"), local("//evil.example"), local("https://evil.example"), local("/x\\ny")
    ('/studies/a', '/', '/', '/')
    """
    odd = any(ord(sign) < 33 or sign == "\\" for sign in target) or len(target) > LONGEST
    return "/" if odd or not target.startswith("/") or "//" in target else target

"""Signing in with a browser: a form takes the token once, and a signed cookie stands for it."""

from urllib.parse import parse_qs, urlsplit

from starlette.responses import HTMLResponse, RedirectResponse, Response
from starlette.types import Receive, Scope, Send

from .gate import COOKIE, RefusedError
from .rendering import render
from .settings import ServiceSettings
from .tokens import SESSION_SECONDS

PATHS = ("/sign-in", "/sign-out")
LONGEST = 4096


def page(target: str, settings: ServiceSettings, *, failed: bool = False) -> Response:
    """The form; its status says that nobody is signed in."""
    text = render("sign_in.html", root_path=settings.root_path, target=target, failed=failed)
    return HTMLResponse(text, 401, {"WWW-Authenticate": "Bearer", "Cache-Control": "no-store"})


async def answered(
    path: str,
    method: str,
    headers: dict[str, str],
    settings: ServiceSettings,
    scope: Scope,
    receive: Receive,
    send: Send,
) -> None:
    """Both addresses, which exist before anybody has signed in."""
    if method == "POST" and path == "/sign-out":
        response: Response = RedirectResponse(f"{settings.root_path}/", 303)
        response.delete_cookie(COOKIE, path=settings.root_path or "/", httponly=True, samesite="lax")
    elif method == "POST":
        response = _signed_in(await _form(headers, receive), scope, settings)
    else:
        response = page("/", settings)
    await response(scope, receive, send)


def _signed_in(form: dict[str, list[str]], scope: Scope, settings: ServiceSettings) -> Response:
    target = local(form.get("target", ["/"])[0])
    session = settings.tokens.session_for(form.get("token", [""])[0].strip())
    if session is None:
        return page(target, settings, failed=True)
    response = RedirectResponse(settings.root_path + target, 303)
    response.set_cookie(
        COOKIE,
        session,
        max_age=SESSION_SECONDS,
        path=settings.root_path or "/",
        httponly=True,
        samesite="lax",
        secure=scope.get("scheme") == "https",
    )
    return response


def local(target: str) -> str:
    """A path on this server, or its start page.

    >>> local("/studies/a"), local("//evil.example"), local("https://evil.example"), local("/x\\ny")
    ('/studies/a', '/', '/', '/')
    """
    parts = urlsplit(target)
    odd = any(ord(sign) < 33 or sign == "\\" for sign in target) or len(target) > LONGEST
    return "/" if odd or parts.scheme or parts.netloc or not target.startswith("/") or "//" in target else target


async def _form(headers: dict[str, str], receive: Receive) -> dict[str, list[str]]:
    kind = headers.get("content-type", "").partition(";")[0].strip().lower()
    if kind != "application/x-www-form-urlencoded":
        raise RefusedError(415, "the form to sign in is of another type; use the form of the page")
    body = b""
    while True:
        message = await receive()
        body += message.get("body", b"")
        if len(body) > 2 * LONGEST:
            raise RefusedError(413, f"the form to sign in is longer than {2 * LONGEST:,} bytes")
        if not message.get("more_body"):
            return parse_qs(body.decode("ascii", "replace"))

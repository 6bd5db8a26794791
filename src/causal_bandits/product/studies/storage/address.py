"""Addresses of storages: read from what a user gave, and shown without anything that may be a secret."""

import re
from collections.abc import Iterable
from pathlib import Path
from urllib.parse import quote, quote_plus, unquote

import sqlalchemy as sa
from sqlalchemy import exc

from ....core.secrecy import may_hold_secret, scheme_of
from ....errors import StorageError, brief, missing_extra

_PLAIN = re.compile(r"[\w.\-]*")
_OPTION = re.compile(r"[a-z_]{3,40}")
_SECONDS = re.compile(r"\d+(\.\d+)?")
_HOST = re.compile(r"[\w.\-:]*")


def read_url(storage: object) -> sa.URL:
    """The address of a storage, checked."""
    if not isinstance(storage, str | sa.URL):
        raise StorageError(
            f"storage is of type {type(storage).__name__}; expected a URL such as 'sqlite:///studies.db'"
        )
    text = storage if isinstance(storage, str) else ""
    try:
        url = sa.make_url(storage)
    except exc.ArgumentError:
        raise StorageError(_no_url(text)) from None
    except ValueError:
        raise StorageError(
            f"storage {_hint(text)} has a port that is not a number; write for example "
            "'postgresql://user@host:5432/database'"
        ) from None
    if text.rpartition("?")[0].count("@") > 1 or ("?" not in text and text.count("@") > 1):
        raise StorageError(
            f"storage {_hint(text)} has several @; write an @ in the user's name or password as %40, a / as %2F"
        )
    return _checked(url)


def _checked(url: sa.URL) -> sa.URL:
    backend = url.get_backend_name()
    if backend == "postgresql":
        try:
            import psycopg  # noqa: F401
        except ImportError:
            raise missing_extra("psycopg", "postgres") from None
        return url.set(drivername="postgresql+psycopg")
    if backend != "sqlite":
        kind = f"of kind {backend!r}" if scheme_of(f"{backend}:") else "of another kind"
        raise StorageError(f"storage {shown(url)} is {kind}; expected sqlite or postgresql")
    if url.drivername not in ("sqlite", "sqlite+pysqlite"):
        raise StorageError(f"storage {shown(url)} names a driver; write 'sqlite:///FILE'")
    if url.host or url.username or url.password or "\0" in (url.database or ""):
        raise StorageError(f"storage {shown(url)} names no file on this machine; write 'sqlite:///FILE', three slashes")
    if not url.database or url.database.startswith((":memory:", "file:")) or url.query.get("mode") == "memory":
        raise StorageError(f"storage {shown(url)} names no file; write for example 'sqlite:///studies.db'")
    if not (url.query.keys() <= {"timeout"} and _SECONDS.fullmatch(str(url.query.get("timeout", 1)))):
        raise StorageError(
            f"storage {shown(url)} is not a URL that can be used: a file takes no options but timeout=SECONDS"
        )
    return url


def _hint(text: str) -> str:
    """An address that cannot be read: its scheme, since the rest may hold a password."""
    scheme = scheme_of(text)
    return repr(f"{scheme}:...") if scheme else "(not shown: it may hold a password)"


def _no_url(text: str) -> str:
    if may_hold_secret(text) or re.search(r"[:=%?&;\0]", text):
        return (
            f"storage {_hint(text)} is not a URL; write 'sqlite:///FILE' or 'postgresql://user:password@host/database'"
        )
    return f"storage {brief(text)} is not a URL; for a file write {brief(f'sqlite:///{text}')}"


def shown(url: sa.URL) -> str:
    """The address without its password and without its options; only its scheme where something looks odd.

    >>> shown(sa.make_url("postgresql://me:pw@host:5432/shop?sslpassword=pw"))
    "'postgresql://me@host:5432/shop?...'"
    >>> shown(sa.make_url("postgresql:///me:pw@host/shop"))
    "'postgresql://...'"
    """
    scheme = scheme_of(f"{url.get_backend_name()}:")
    if scheme is None:
        return "(not shown: it may hold a password)"
    options = "?..." if url.query else ""
    if scheme == "sqlite":
        plain = not may_hold_secret(f"{url.database}") and not (url.host or url.username or url.password)
        return repr(f"sqlite:///{url.database or ''}{options}" if plain else "sqlite://...")
    parts = ((_PLAIN, url.username), (_HOST, url.host), (_PLAIN, url.database))
    if not all(shape.fullmatch(text or "") for shape, text in parts):
        return repr(f"{scheme}://...")
    user = "" if url.username is None else f"{url.username}@"
    port = "" if url.port is None else f":{url.port}"
    database = "" if url.database is None else f"/{url.database}"
    return repr(f"{scheme}://{user}{url.host or ''}{port}{database}{options}")


def secrets_of(url: sa.URL) -> Iterable[str]:
    """The password and every option, in each spelling in which a message of a library may repeat them."""
    options = [part for value in url.query.values() for part in ((value,) if isinstance(value, str) else value)]
    odd = [name for name in url.query if not _OPTION.fullmatch(name)]
    for secret in (str(url.password or ""), *options, *odd):
        yield from (secret, unquote(secret), quote(secret), quote(secret, safe=""), quote_plus(secret))
        yield repr(secret)[1:-1]


def file_of(url: sa.URL) -> Path | None:
    """The file of an SQLite storage."""
    return Path(str(url.database)) if url.get_backend_name() == "sqlite" else None

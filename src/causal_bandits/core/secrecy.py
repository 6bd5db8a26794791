"""Keep secrets out of messages: passwords in addresses, on command lines, in messages of other libraries. If it is not
certain what is a secret, only the scheme of an address is shown.
"""

import re
from collections.abc import Iterable

SCHEMES = ("sqlite", "postgresql", "postgres", "mysql", "mariadb", "oracle", "mssql", "http", "https", "tcp", "tls")
"""What is shown of an address that is hidden."""

_SCHEME = re.compile(r"\s*([a-z0-9]+)(?:\+[a-z0-9_]+)?\s*(?::|%3a)", re.IGNORECASE)
# Each part has a maximum length: without one, a long text would take quadratic time.
_ADDRESS = re.compile(
    r"([a-z][a-z0-9+_]{0,40}\s{0,8}(?::|%3a)\s{0,8}(?:/|%2f){1,8})[^\s'\"]{0,4000}(?:@|%40)", re.IGNORECASE
)
_SETTING = re.compile(
    r"((?:password|passwd|passphrase|pwd|passwort)\w{0,40})(\s{0,8}(?:=|%3d|:\s)\s{0,8})('[^']*'|\"[^\"]*\"|[^\s&;,'\"]+)",
    re.IGNORECASE,
)
_DOUBT = re.compile(r"@|%40|pass|pwd|secret|token|key\w*\s*=|://[^/]*:(?!\d+(?:/|$))", re.IGNORECASE)


def scheme_of(text: str) -> str | None:
    """The scheme of something like an address; None if it has none that is known.

    >>> scheme_of(" postgresql:/user:pw@host"), scheme_of("user:pw@host")
    ('postgresql', None)
    """
    found = _SCHEME.match(text)
    return found.group(1).lower() if found and found.group(1).lower() in SCHEMES else None


def may_hold_secret(text: str) -> bool:
    """Whether a text could be an address with a password, or settings with one.

    >>> may_hold_secret("studies.db"), may_hold_secret("host=db password=x"), may_hold_secret("user:pw@host")
    (False, True, True)
    """
    return _DOUBT.search(text) is not None


def shown_argument(argument: str) -> str:
    """One word of a stored command; left out if it may contain a secret.

    >>> shown_argument("--runs"), shown_argument("tcp://10.0.0.1:8786"), shown_argument("--storage=postgresql:/me:pw@h")
    ('--runs', 'tcp://10.0.0.1:8786', '...')
    """
    if not may_hold_secret(argument):
        return argument
    scheme = scheme_of(argument)
    return f"{scheme}:..." if scheme else "..."


def without_secrets(text: str, known: Iterable[str] = ()) -> str:
    """A message or command with its passwords hidden; known ones wherever they occur.

    >>> without_secrets("connect to postgresql://me:pw@host/db?password=pw failed")
    'connect to postgresql://...@host/db?password=... failed'
    """
    for secret in sorted(set(known), key=len, reverse=True):
        if secret:
            text = text.replace(secret, "...")
    if "@" in text or "%40" in text:
        text = _ADDRESS.sub(lambda found: f"{found.group(1)}...@", text)
    return _SETTING.sub(lambda found: f"{found.group(1)}{found.group(2)}...", text)

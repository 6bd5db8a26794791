"""Tokens and what they allow: read (look), decide (ask and tell as well), admin (everything)."""

import hashlib
import hmac
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, NamedTuple, get_args

from ...errors import OptionError

Scope = Literal["read", "decide", "admin"]
SCOPES: tuple[Scope, ...] = get_args(Scope)
SHORTEST = 16
SESSION_SECONDS = 12 * 3600


def allows(held: Scope, needed: Scope) -> bool:
    """Whether a scope includes another.

    >>> allows("admin", "read"), allows("read", "decide")
    (True, False)
    """
    return SCOPES.index(held) >= SCOPES.index(needed)


def _digest(token: str) -> bytes:
    return hashlib.sha256(token.encode("utf-8", "surrogateescape")).digest()


def _fingerprint(digest: bytes) -> str:
    return hashlib.sha256(digest).hexdigest()[:8]


class Token(NamedTuple):
    """What a sender may do, and what tells its token from others in logs: the start of a digest of its digest."""

    scope: Scope | None
    fingerprint: str | None = None

    def __str__(self) -> str:
        return "anybody" if self.fingerprint is None else f"token {self.fingerprint}"


ANYBODY, UNKNOWN = Token("admin"), Token(None)
"""Where there are no tokens; and where none, or no known one, was shown."""


@dataclass(frozen=True, repr=False)
class Tokens:
    """The tokens of a server by their digests; without any, whoever reaches it may do everything."""

    by_digest: Mapping[bytes, Scope]

    @classmethod
    def of(cls, tokens: Mapping[str, Scope]) -> "Tokens":
        """Tokens from their texts, each with its scope."""
        return cls({_digest(token): scope for token, scope in tokens.items()})

    def __bool__(self) -> bool:
        return bool(self.by_digest)

    def __repr__(self) -> str:
        return f"Tokens({len(self.by_digest)})"

    def find(self, token: str) -> Token:
        """A token by its text; every one is compared, in constant time."""
        given = _digest(token)
        return self._find(lambda digest: hmac.compare_digest(digest, given))

    def _find(self, is_it: Callable[[bytes], bool]) -> Token:
        found = UNKNOWN
        for digest, scope in self.by_digest.items():
            if is_it(digest):
                found = Token(scope, _fingerprint(digest))
        return found

    # A browser that signed in holds a signed statement, never the token.

    def session_for(self, token: str, now: float | None = None) -> str | None:
        """The cookie of somebody who showed a token: when it ends, signed with the token's digest."""
        if self.find(token) == UNKNOWN:
            return None
        until = int((time.time() if now is None else now) + SESSION_SECONDS)
        return f"{until}.{self._signature(_digest(token), until)}"

    def of_session(self, session: str, now: float | None = None) -> Token:
        """The token that signed a cookie; `UNKNOWN` when it has ended, or nobody here signed it."""
        ends, _, signature = session.partition(".")
        until = int(ends) if ends.isascii() and ends.isdigit() and len(ends) < 12 else 0
        given = signature.encode("utf-8", "replace")
        found = self._find(lambda digest: hmac.compare_digest(self._signature(digest, until).encode(), given))
        return found if until > (time.time() if now is None else now) else UNKNOWN

    @staticmethod
    def _signature(digest: bytes, until: int) -> str:
        return hmac.new(digest, f"causal-bandits session {until}".encode(), hashlib.sha256).hexdigest()


NO_TOKENS = Tokens({})


def read_tokens(path: Path) -> Tokens:
    """The tokens in a file: one per line, alone (admin) or after its scope and a space; # begins a comment."""
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeError) as error:
        reason = getattr(error, "strerror", None) or "it is not text"
        raise OptionError(f"cannot read the tokens from {str(path)!r} ({reason})") from None
    return Tokens.of(_checked(lines, path))


def _checked(lines: Iterable[str], path: Path) -> dict[str, Scope]:
    found: dict[str, Scope] = {}
    for number, line in enumerate(lines, 1):
        words = line.split()
        if not words or words[0].startswith("#"):
            continue
        named = next((scope for scope in SCOPES if scope == words[0]), None) if len(words) > 1 else "admin"
        if len(words) > 2 or named is None:
            raise OptionError(
                f"line {number} of {str(path)!r} is not a token; write TOKEN, or read TOKEN, decide TOKEN, admin TOKEN"
            )
        if len(words[-1]) < SHORTEST or not words[-1].isascii():
            raise OptionError(
                f"the token in line {number} of {str(path)!r} is too short or not ASCII; use {SHORTEST} characters or "
                "more, for example from `openssl rand -hex 32`"
            )
        found[words[-1]] = named
    if not found:
        raise OptionError(f"{str(path)!r} holds no token; write one on a line, for example from `openssl rand -hex 32`")
    return found

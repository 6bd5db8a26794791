"""Requests that arrive whole and plain, read without a parser's calls: what the direct way answers.

Whatever is unusual in the least is left to the server's own parser: another header than the ones below, one that comes
twice, another version, a query, text that is not ASCII, a body that is longer or shorter than declared. So both read
every request that is read here in the same way.
"""

import re
from typing import NamedTuple

_HEAD = re.compile(rb"(POST|PATCH) (/[\w/.~%-]+) HTTP/1\.1\r\n((?:[A-Za-z-]+: [!-~][ -~]*\r\n)+)\r\n")
_KNOWN = frozenset(
    (
        "accept",
        "accept-encoding",
        "authorization",
        "connection",
        "content-length",
        "content-type",
        "host",
        "idempotency-key",
        "user-agent",
    )
)


class WholeRequest(NamedTuple):
    """A request with a body, all of it; its headers as they came."""

    method: str
    path: bytes
    lines: bytes
    content: bytes


def whole_request(data: bytes) -> WholeRequest | None:
    r"""The request that these bytes begin with, if the rest of them can be its body.

    >>> whole_request(b"POST /x HTTP/1.1\r\nHost: a\r\nContent-Length: 2\r\n\r\n{}")
    WholeRequest(method='POST', path=b'/x', lines=b'Host: a\r\nContent-Length: 2\r\n', content=b'{}')
    """
    head = _HEAD.match(data)
    if head is None:
        return None
    method, path, lines = head.groups()
    return WholeRequest("POST" if method == b"POST" else "PATCH", path, lines, data[head.end() :])


def plain_headers(lines: bytes) -> dict[str, str] | None:
    r"""Headers by their names; None if one of them is unusual, or `content-length` is missing.

    >>> plain_headers(b"Host: a\r\nContent-Length: 2\r\n"), plain_headers(b"Transfer-Encoding: chunked\r\n")
    ({'host': 'a', 'content-length': '2'}, None)
    """
    each = [line.partition(": ") for line in lines.decode("ascii").splitlines()]
    headers = {name.lower(): value.rstrip(" ") for name, _, value in each}
    plain = "content-length" in headers and len(headers) == len(each) and _KNOWN.issuperset(headers)
    return headers if plain and headers.get("connection", "keep-alive") == "keep-alive" else None

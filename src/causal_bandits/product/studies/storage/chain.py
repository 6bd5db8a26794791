"""Digests that make every change of stored history noticeable.

The digest of an event covers the digest of the event before it, so the digest of the newest event stands for the whole
history: an event that was edited, removed, added or moved no longer fits the ones after it. The digests guard against
accidents (a corrupt page, a restored copy, a manual correction), not against somebody who recomputes all of them.
"""

import struct
from hashlib import blake2b
from typing import NamedTuple

SIZE = 8
"""Bytes of a digest: a change goes unnoticed with probability 2^-64."""


class Head(NamedTuple):
    """The newest event of a history: its number and its digest."""

    seq: int
    digest: bytes


START = Head(0, bytes(SIZE))
"""Before the first event."""


def _digest(*parts: bytes) -> bytes:
    made = blake2b(digest_size=SIZE)
    for part in parts:
        made.update(len(part).to_bytes(8, "big"))
        made.update(part)
    return made.digest()


def event_digest(before: bytes, seq: int, kind: str, time: float, body: str) -> bytes:
    """The digest of an event after the one with digest `before`.

    >>> first = event_digest(START.digest, 1, "created", 0.0, "{}")
    >>> len(first), first == event_digest(START.digest, 1, "created", 0.5, "{}")
    (8, False)
    """
    return _digest(before, struct.pack(">qd", seq, time), kind.encode(), body.encode())


def snapshot_digest(head: Head, content: bytes) -> bytes:
    """The digest of a snapshot: of its content and of the history it stands for."""
    return _digest(struct.pack(">q", head.seq), head.digest, content)


def key_digest(key: str, seq: int) -> bytes:
    """The digest of one key and its event."""
    return _digest(key.encode(), struct.pack(">q", seq))


def combined(one: bytes, other: bytes) -> bytes:
    """Digests of a set, put together in any order; a digest put in twice is out again.

    >>> combined(b"abcdefgh", combined(b"12345678", b"abcdefgh"))
    b'12345678'
    """
    return (int.from_bytes(one, "big") ^ int.from_bytes(other, "big")).to_bytes(SIZE, "big")

"""The client's own reading of HTTP: however an answer is cut into packets, and whatever is wrong with it."""

import itertools
import socket

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from causal_bandits.service.client import wire

HEAD = b"HTTP/1.1 201 Created\r\nContent-Type: application/json\r\n"
PLAIN = HEAD + b"content-length: 8\r\n\r\n" + b'{"id":1}'
CHUNKED = HEAD + b'Transfer-Encoding: chunked\r\n\r\n3;x=y\r\n{"i\r\n5\r\nd":1}\r\n0\r\nTrailer: x\r\n\r\n'
ON_THE_WAY = b"HTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\n"


class Packets(socket.socket):
    """A socket that gives these packets and then the end."""

    def __init__(self, packets: list[bytes]) -> None:
        super().__init__()
        self.packets = packets

    def recv(self, size: int, flags: int = 0) -> bytes:
        return self.packets.pop(0) if self.packets else b""


def read(*packets: bytes) -> tuple[wire.Answer, bool, bytes]:
    """The answer, whether the connection may be kept, and what else came."""
    with Packets([packet for packet in packets if packet]) as line:
        incoming = wire.Incoming(line)
        answer, keep = wire._read(incoming)
        return answer, keep, bytes(incoming.kept)


@given(st.sampled_from([PLAIN, CHUNKED, ON_THE_WAY + PLAIN]), st.lists(st.integers(0, 200), max_size=6))
@settings(max_examples=60, deadline=None)
def test_an_answer_in_any_packets(text: bytes, cuts: list[int]) -> None:
    places = [0, *sorted(cut % len(text) for cut in cuts), len(text)]
    answer, keep, more = read(*(text[start:end] for start, end in itertools.pairwise(places)))
    assert (answer.status, answer.json, keep, more) == (201, {"id": 1}, True, b"")
    assert answer.headers["content-type"] == "application/json"


def test_answers_that_end_the_connection() -> None:
    assert read(HEAD + b"\r\n", b'{"id"', b":1}")[:2] == (
        wire.Answer(201, {"content-type": "application/json"}, b'{"id":1}'),
        False,
    )
    assert read(PLAIN.replace(b"content-length", b"Connection: close\r\ncontent-length"))[1] is False
    assert read(b"HTTP/1.1 304 Not Modified\r\netag: x\r\n\r\n")[0] == wire.Answer(304, {"etag": "x"}, b"")
    assert read(PLAIN + b"HTTP/1.1 200 OK")[2] == b"HTTP/1.1 200 OK"  # nobody asked for it


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        (b"", "closed the connection"),
        (PLAIN[:30], "closed the connection"),
        (PLAIN[:-1], "cut off"),
        (CHUNKED[:-20], "cut off|closed the connection"),
        (PLAIN.replace(b"8\r\n", b"-8\r\n"), "does not speak HTTP"),
        (CHUNKED.replace(b"5\r\n", b"x\r\n"), "does not speak HTTP"),
        (b"220 mail.example.com ESMTP\r\n\r\n", "does not speak HTTP"),
        (HEAD + b"x: y\r\n" * 60_000, "too many headers"),
    ],
)
def test_what_is_no_answer(text: bytes, sentence: str) -> None:
    with pytest.raises(ConnectionError, match=sentence):
        read(text)

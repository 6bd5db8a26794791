"""A server under hostile requests: `python -m benchmarks.hostile_requests [SECONDS [ATTACK ...]]`.

A well-behaved client, in a separate process, asks and tells on a new connection each time. For each attack the table
shows its 99th percentile during the attack, and in the quiet phases before and after it in the same run; and the memory
of the server before the attack and at its peak. Everything runs on this machine, is bounded, and ends by itself.
"""

import contextlib
import http.client
import json
import os
import random
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

from causal_bandits import Study

from .service import PROBLEM, grown

DECIDE, READ = "decide-token-0123456789", "read-token-0123456789"
OUTCOME = b'{"mediators": {"clicked": 1, "cart": "some"}, "reward": 0}'
COOKIE = 'causal-bandits-session="' + "\\" * 20_000
DESCRIPTORS = 200
ODD = 8000
PAUSE = 0.01
BAR = 3.0
"""How much slower the other client may be."""
SWITCH_SECONDS = 1.0
"""After an attack, before it counts as quiet again."""


class Server:
    """`causal-bandits serve` with tokens, and with few file descriptors if told so."""

    def __init__(self, folder: str, descriptors: int | None = None) -> None:
        tokens = Path(folder) / "tokens"
        tokens.write_text(f"decide {DECIDE}\nread {READ}\n")
        command = [sys.executable, "-m", "causal_bandits.cli", "serve", "--port", "0"]
        command += ["--storage", f"sqlite:///{folder}/hostile.db", "--token-file", str(tokens)]
        if descriptors is not None:
            command = ["bash", "-c", f'ulimit -n {descriptors}; exec "$@"', "bash", *command]
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        assert self.process.stdout is not None
        host, port = self.process.stdout.readline().split()[2].removeprefix("http://").split(":")
        self.where = (host, int(port))

    def memory(self) -> float:
        """Resident megabytes."""
        for line in Path(f"/proc/{self.process.pid}/status").read_text().splitlines():
            if line.startswith("VmRSS"):
                return int(line.split()[1]) / 1024
        return 0.0

    def stop(self) -> str:
        """SIGTERM; what it logged."""
        self.process.terminate()
        _, said = self.process.communicate(timeout=60)
        return said


def play(host: str, port: str) -> None:
    """The well-behaved client, until it is killed: prints when each round began and how long it took."""
    headers = {"Authorization": f"Bearer {DECIDE}", "Content-Type": "application/json"}
    while True:
        began = time.monotonic()
        try:
            line = http.client.HTTPConnection(host, int(port), timeout=60)
            line.request("POST", "/api/v1/studies/s/decisions", b"{}", headers)
            number = json.loads(line.getresponse().read())[0]["id"]
            line.request("PATCH", f"/api/v1/studies/s/decisions/{number}", OUTCOME, headers)
            answer = line.getresponse()
            answer.read()
            line.close()
            good = answer.status == 200
        except (OSError, ValueError, LookupError, http.client.HTTPException):
            good = False
        print(began, time.monotonic() - began, int(good), flush=True)
        time.sleep(PAUSE)


class Round(NamedTuple):
    """One ask and tell of the well-behaved client."""

    began: float
    seconds: float
    good: bool


class Others:
    """The well-behaved client's process, and what it has measured."""

    def __init__(self, server: Server) -> None:
        command = [sys.executable, "-m", "benchmarks.hostile_requests", "play", *map(str, server.where)]
        self._process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        self.rounds: list[Round] = []
        threading.Thread(target=self._read, daemon=True).start()

    def _read(self) -> None:
        for line in self._process.stdout or ():
            began, seconds, good = line.split()
            self.rounds.append(Round(float(began), float(seconds), good == "1"))

    def between(self, *spans: tuple[float, float]) -> list[Round]:
        """The rounds that began in one of these spans."""
        return [each for each in self.rounds if any(start <= each.began < end for start, end in spans)]

    def stop(self) -> None:
        """End it."""
        self._process.kill()
        self._process.wait()


Attack = Callable[[Server, float], str]


def connected(server: Server) -> socket.socket:
    """A new connection."""
    return socket.create_connection(server.where, 10)


def raw(line: str, *headers: str, token: str | None = None, body: bytes = b"", length: int | None = None) -> bytes:
    """A request as it is sent."""
    lines = [f"{line} HTTP/1.1", "Host: localhost", "Content-Type: application/json", *headers]
    lines += [] if token is None else [f"Authorization: Bearer {token}"]
    size = len(body) if length is None else length
    return "\r\n".join([*lines, f"Content-Length: {size}", "", ""]).encode() + body


def load_large(server: Server) -> None:
    """Let the server load the large study, which is no part of any attack."""
    line = http.client.HTTPConnection(*server.where, timeout=60)
    line.request("GET", "/api/v1/studies/large/export.csv", headers={"Authorization": f"Bearer {READ}"})
    line.getresponse().read()
    line.close()


def odd_requests(count: int) -> Iterator[bytes]:
    """Requests that nobody sends on purpose."""
    draw = random.Random(1)
    paths = (
        "/",
        "/api/v1/studies/s",
        "/api/v1/studies/s/decisions",
        "/sign-in",
        "/static/site.css",
        "/metrics",
        "/%00",
    )
    methods = ("GET", "POST", "PUT", "PATCH", "DELETE", "TRACE", "CONNECT", "OPTIONS", "get", "ODD" * 50, "G\x00T", "")
    odd_paths = (
        "*",
        "//",
        "/../../etc/passwd",
        "/" + "a" * 5000,
        "http://[",
        "/\xff",
        "/%zz",
        "/studies/%2e%2e",
        "?",
        "",
    )
    values = ("", " ", "\x00", "a" * 9000, "\xff\xfe", "chunked", "-1", "9" * 30, "null", "http://evil.example", COOKIE)
    names = (
        *(
            "Host",
            "Content-Length",
            "Transfer-Encoding",
            "Origin",
            "Cookie",
            "Authorization",
            "Expect",
            "Upgrade",
            ":a",
        ),
        *("Connection", "X-Forwarded-For", "X-Forwarded-Proto", "Idempotency-Key", "Accept", "If-None-Match"),
    )
    for number in range(count):
        kind = number % 8
        if kind == 0:
            yield draw.randbytes(draw.randrange(1, 2000))
        elif kind == 1:
            yield draw.choice(
                (b"\x16\x03\x01\x02\x00\x01", b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", b"GET /\r\n", b"\r\n" * 50)
            )
        elif kind == 2:
            method, path = draw.choice(methods), draw.choice((*paths, *odd_paths))
            yield f"{method} {path} HTTP/{draw.choice(('1.1', '1.0', '9.9', 'x'))}\r\nHost: localhost\r\n\r\n".encode(
                "latin-1"
            )
        elif kind == 3:
            line = f"{draw.choice(methods[:5])} {draw.choice(paths)}"
            yield raw(line, *(f"{draw.choice(names)}: {draw.choice(values)}" for _ in range(draw.randrange(1, 6))))
        elif kind == 4:
            chunks = draw.choice(
                (b"zz\r\n{}\r\n", b"5\r\n{}\r\n0\r\n\r\n", b"-1\r\n", b"2;" + b"x" * 5000 + b"\r\n{}\r\n")
            )
            yield b"POST /sign-in HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n" + chunks
        elif kind == 5:
            form = draw.choice((b"token=", b"target=//[&token=x", b"%" * 500, b"&" * 5000, draw.randbytes(300)))
            kind_of = "Content-Type: application/x-www-form-urlencoded"
            yield raw("POST /sign-in", kind_of, body=form).replace(b"Content-Type: application/json\r\n", b"")
        elif kind == 6:
            path = draw.choice(("/api/v1/studies/s/decisions", "/api/v1/studies/s/outcomes"))
            bodies = (b"{", b"[]", b"null", b"\xff", b"[" * 9000, b'{"count": 1e999}', b'{"count": %s}' % (b"9" * 5000))
            yield raw(f"POST {path}", token=DECIDE, body=draw.choice(bodies))
        else:
            yield raw(f"GET {draw.choice(paths)}", "Accept: text/html", token=draw.choice((None, "x", READ)))[
                : draw.randrange(1, 200)
            ]


def odd(server: Server, seconds: float) -> str:
    """8,000 odd requests, spread over the phase."""
    statuses: Counter[str] = Counter()
    started = time.monotonic()
    for number, request in enumerate(odd_requests(ODD)):
        with contextlib.suppress(OSError), connected(server) as line:
            line.settimeout(0.05)
            line.sendall(request)
            line.shutdown(socket.SHUT_WR)
            found = b""
            with contextlib.suppress(OSError):
                found = line.recv(4096)
            statuses[found[9:10].decode() + "xx" if found.startswith(b"HTTP/1.1 ") else "closed"] += 1
        ahead = started + seconds * number / ODD - time.monotonic()
        if ahead > 0:
            time.sleep(ahead)
    return f"{ODD:,} requests: " + ", ".join(f"{count:,} {status}" for status, count in sorted(statuses.items()))


def flood(piece: Callable[[int], bytes], most: int) -> Attack:
    """Send something endless on one connection after the other, up to a number of bytes each."""

    def attack(server: Server, seconds: float) -> str:
        until, sent, connections = time.monotonic() + seconds, 0, 0
        while time.monotonic() < until:
            connections += 1
            begun = sent
            with contextlib.suppress(OSError), connected(server) as line:
                line.sendall(b"GET / HTTP/1.1\r\nHost: localhost\r\nx: ")
                number = 0
                while time.monotonic() < until and sent - begun < most:
                    data = piece(number)
                    line.sendall(data)
                    sent += len(data)
                    number += 1
            time.sleep(0.02)
        return f"{sent / 1e6:,.0f} MB on {connections:,} connections"

    return attack


def endless_headers(number: int) -> bytes:
    """The next thousand."""
    return b"".join(b"x%d: y\r\n" % each for each in range(number * 1000, number * 1000 + 1000))


def held(begun: Callable[[int], bytes], count: int) -> Attack:
    """Begin something on many connections, and leave them."""

    def attack(server: Server, seconds: float) -> str:
        until = time.monotonic() + seconds
        with contextlib.ExitStack() as lines:
            opened = 0
            for number in range(count):
                with contextlib.suppress(OSError):
                    line = lines.enter_context(connected(server))
                    line.sendall(begun(number))
                    opened += 1
            time.sleep(max(0.0, until - time.monotonic()))
        return f"{opened:,} connections held"

    return attack


def halves(number: int) -> bytes:
    """Half a head, or a head whose body does not come."""
    whole = raw("POST /api/v1/studies/s/decisions", token=DECIDE, body=b"{", length=50)
    return whole if number % 2 else whole[: 20 + number % 60]


def unread(server: Server, seconds: float) -> str:
    """Exports that are asked for and never read."""
    until = time.monotonic() + seconds
    with contextlib.ExitStack() as lines:
        for _ in range(40):
            line = lines.enter_context(socket.socket())
            line.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
            line.connect(server.where)
            line.sendall(raw("GET /api/v1/studies/large/export.csv", token=READ))
        time.sleep(max(0.0, until - time.monotonic()))
    return "40 exports of 100,000 decisions"


def batch(content: bytes) -> Attack:
    """One batch after the other."""

    def attack(server: Server, seconds: float) -> str:
        statuses: Counter[str] = Counter()
        until = time.monotonic() + seconds
        while time.monotonic() < until:
            status = "closed"
            with contextlib.suppress(OSError), connected(server) as line:
                with contextlib.suppress(OSError):
                    line.sendall(raw("POST /api/v1/studies/s/outcomes", token=DECIDE, body=content))
                status = line.recv(4096)[9:12].decode() or "closed"
            statuses[status] += 1
            time.sleep(0.1)
        return f"{len(content) / 1e6:.0f} MB each: " + ", ".join(
            f"{count} x {each}" for each, count in statuses.items()
        )

    return attack


ATTACKS: dict[str, tuple[Attack, int | None]] = {
    "odd requests": (odd, None),
    "endless headers": (flood(endless_headers, 100_000_000), None),
    "an endless header value": (flood(lambda _: b"y" * 8192, 100_000_000), None),
    "half requests": (held(halves, 200), None),
    "silent connections, 200 descriptors": (held(lambda _: b"", 400), DESCRIPTORS),
    "unread exports": (unread, None),
    "batch [1,1,...]": (batch(b"[" + b"1," * 2_000_000 + b"1]"), None),
    "batch [[],[],...], 16 MB": (batch(b"[" + b"[]," * 5_000_000 + b"[]]"), None),
    "batch [[],[],...], 64 MB": (batch(b"[" + b"[]," * 21_000_000 + b"[]]"), None),
}


class Found(NamedTuple):
    """What an attack did."""

    attack: str
    sent: str
    rounds: int
    failed: int
    quiet: float
    during: float
    before: float
    peak: float


def p99(rounds: list[Round]) -> float:
    """Milliseconds."""
    times = sorted(each.seconds for each in rounds)
    return 1e3 * times[min(len(times) - 1, int(0.99 * len(times)))] if times else float("nan")


def measured(name: str, server: Server, others: Others, attack: Attack, seconds: float) -> Found:
    """A quiet phase, the attack, a quiet phase."""
    first = time.monotonic()
    time.sleep(seconds / 2)
    before = peak = server.memory()
    sent: list[str] = []
    start = time.monotonic()
    thread = threading.Thread(target=lambda: sent.append(attack(server, seconds)))
    thread.start()
    while thread.is_alive():
        peak = max(peak, server.memory())
        time.sleep(0.05)
    end = time.monotonic()
    time.sleep(SWITCH_SECONDS + seconds / 2)
    quiet, during = (
        others.between((first, start), (end + SWITCH_SECONDS, time.monotonic())),
        others.between((start, end)),
    )
    failed = sum(not each.good for each in during)
    return Found(name, sent[0], len(during), failed, p99(quiet), p99(during), before, peak)


def hostile_requests(seconds: float, names: list[str]) -> Iterator[Found]:
    """These attacks, those on a server with few descriptors last."""
    with tempfile.TemporaryDirectory() as folder:
        storage = f"sqlite:///{folder}/hostile.db"
        grown(storage)
        Study.create("s", PROBLEM, storage=storage, policy="ts", seed=1).close()
        for descriptors in (None, DESCRIPTORS):
            if not any(ATTACKS[name][1] == descriptors for name in names):
                continue
            server = Server(folder, descriptors)
            others = Others(server)
            try:
                while len(others.rounds) < 100:
                    time.sleep(0.1)
                load_large(server)
                for name in names:
                    attack, needed = ATTACKS[name]
                    if needed == descriptors:
                        yield measured(name, server, others, attack, seconds)
                        assert server.process.poll() is None, "the server ended"
            finally:
                others.stop()
                said = server.stop()
            if said:
                print(f"the server logged: {said[-2000:]}", file=sys.stderr)


def main() -> None:
    """Print a table in Markdown."""
    seconds = float(sys.argv[1]) if len(sys.argv) > 1 else 12.0
    print(f"{os.cpu_count()} cores, load {os.getloadavg()[0]:.1f}; phases of {seconds:g} s\n")
    print("| attack | sent | other client's p99, quiet | during | ratio | its rounds, failed | server memory |")
    print("|---|---|---|---|---|---|---|", flush=True)
    worst = 0.0
    for found in hostile_requests(seconds, sys.argv[2:] or [*ATTACKS]):
        ratio = found.during / found.quiet
        worst = max(worst, ratio)
        print(
            f"| {found.attack} | {found.sent} | {found.quiet:.0f} ms | {found.during:.0f} ms | {ratio:.1f} | "
            f"{found.rounds}, {found.failed} | {found.before:.0f} to {found.peak:.0f} MB |",
            flush=True,
        )
    print(f"\nThe worst ratio is {worst:.1f}; the bar is {BAR:g}.")


if __name__ == "__main__":
    if sys.argv[1:2] == ["play"]:
        play(sys.argv[2], sys.argv[3])
    else:
        main()

"""The server behind nginx, configured as docs/how-to/service.md says: a prefix, any study name, live events."""

import contextlib
import http.client
import re
import shutil
import socket
import subprocess
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlsplit

import pytest

import causal_bandits as cb
from causal_bandits.core.markup import in_path
from causal_bandits.product.service import RemoteStudy

from .processes import Process

DOCS = Path(__file__).parents[2] / "docs/how-to/service.md"
NAME = "a/b %2F ü?"
PROBLEM = cb.Problem("y", {"m": 2}, {"lever": 2})


def free_port() -> int:
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return int(found.getsockname()[1])


@contextlib.contextmanager
def nginx(address: str, folder: Path) -> Iterator[str]:
    """nginx with the location of the docs, until the end of the block; gives its address."""
    program = shutil.which("nginx")
    if program is None:
        pytest.skip("nginx is not installed; install it to try the server behind a real proxy")
    location = re.findall(r"```nginx\n(.*?)```", DOCS.read_text(), re.DOTALL)[0]
    assert "http://127.0.0.1:8080" in location
    port = free_port()
    paths = " ".join(f"{kind}_temp_path t;" for kind in ("client_body", "proxy", "fastcgi", "uwsgi", "scgi"))
    server = f"server {{ listen 127.0.0.1:{port}; {location.replace('http://127.0.0.1:8080', address)} }}"
    (folder / "nginx.conf").write_text(
        f"daemon off; pid nginx.pid; error_log error.log;\nevents {{}}\nhttp {{ access_log off; {paths}\n{server} }}\n"
    )
    process = subprocess.Popen([program, "-p", str(folder), "-c", "nginx.conf", "-e", "error.log"])
    try:
        deadline = time.monotonic() + 30
        while True:
            assert process.poll() is None, (folder / "error.log").read_text()
            assert time.monotonic() < deadline
            with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), 1):
                break
            time.sleep(0.02)
        yield f"http://127.0.0.1:{port}/bandits"
    finally:
        process.terminate()
        process.wait(30)


@pytest.mark.slow
def test_all_of_it_through_nginx(tmp_path: Path) -> None:
    started = Process("--storage", f"sqlite:///{tmp_path}/s.db", "--root-path", "/bandits", "--allow-host", "127.0.0.1")
    try:
        inside = urlsplit(started.address)
        with nginx(f"http://{inside.netloc}", tmp_path) as address, cb.Client(address) as client:
            study = client.create(NAME, PROBLEM, seed=1)
            decision = study.ask(key="visitor")
            assert study.ask(key="visitor").id == decision.id
            study.tell(decision.id, {"m": 1}, reward=1)
            assert [info.name for info in client.list()] == [NAME]
            _pages_stay_under_the_prefix(address)
            _events_come_at_once(address, study)
    finally:
        started.stop()


def _pages_stay_under_the_prefix(address: str) -> None:
    where = urlsplit(address)
    connection = http.client.HTTPConnection(where.netloc, timeout=30)
    todo, done = ["/bandits/"], set()
    while todo:
        path = todo.pop()
        done.add(path)
        connection.request("GET", path)
        answer = connection.getresponse()
        text = answer.read().decode(errors="replace")
        assert answer.status == 200, (path, answer.status)
        if answer.headers["content-type"].startswith("text/html"):
            links = re.findall(r"""(?:href|src|data-events)="([^"#?]+)["#?]""", text)
            assert all(link.startswith("/bandits/") for link in links), links
            todo += [link for link in links if link not in done and link not in todo and not link.endswith("/events")]
    connection.close()
    assert len(done) > 8, "every page, the style and the script"


def _events_come_at_once(address: str, study: RemoteStudy) -> None:
    """The stream is open when a decision is asked for, and says so before anything else happens."""
    where = urlsplit(address)
    connection = http.client.HTTPConnection(where.netloc, timeout=30)
    connection.request("GET", f"{where.path}/api/v1/studies/{in_path(NAME)}/events")
    stream = connection.getresponse()
    assert stream.status == 200
    threading.Timer(0.3, study.ask).start()
    lines: list[bytes] = []
    while b"event: asked\n" not in lines:
        lines.append(stream.readline())
        assert lines[-1], "the stream ended"
    connection.close()

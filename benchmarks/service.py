"""Studies over HTTP beside the library itself, in one run: `python -m benchmarks.service`.

Each round of the library is followed by one over HTTP, so both meet the same disk and the same other load.
"""

import json
import os
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from causal_bandits import Client, Problem, Study
from causal_bandits.product.service import RemoteStudy
from causal_bandits.product.studies.deciding import choose
from causal_bandits.product.studies.session import Draft

PROBLEM = Problem(
    "purchase",
    {"clicked": 2, "cart": ["empty", "some", "full"]},
    {"banner": ["none", "red", "blue"], "discount": ["none", "10%"]},
)
OUTCOME = {"clicked": 1, "cart": "some"}
ROUNDS, CLIENTS, EACH, MANY = 1000, 8, 1000, 100_000


class Server:
    """`causal-bandits serve` on a storage, with the seconds that its start took."""

    def __init__(self, storage: str, workers: int = 1) -> None:
        command = [sys.executable, "-m", "causal_bandits.cli", "serve", "--port", "0", "--storage", storage]
        command += ["--workers", str(workers)]
        started = time.perf_counter()
        environment = {**os.environ, "PYTHONDONTWRITEBYTECODE": ""}
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment)
        assert self.process.stdout is not None
        self.address = self.process.stdout.readline().split()[2]
        self.seconds = time.perf_counter() - started

    def stop(self) -> int:
        """SIGTERM; its exit code."""
        self.process.terminate()
        return self.process.wait()


def timed(work: Callable[[], Any]) -> float:
    """Seconds."""
    started = time.perf_counter()
    work()
    return time.perf_counter() - started


def one_round(study: Study | RemoteStudy) -> None:
    """Ask and tell."""
    study.tell(study.ask().id, OUTCOME, reward=0)


def by_turns(address: str, folder: str, name: str, policy: str | None) -> tuple[list[float], list[float], RemoteStudy]:
    """Seconds of rounds of the library on a separate file, and of one client that keeps its connection."""
    local = Study.create(name, PROBLEM, storage=f"sqlite:///{folder}/library.db", policy=policy, seed=1)
    remote = Client(address).create(name, PROBLEM, policy=policy, seed=1)
    for _ in range(50):
        one_round(local)
        one_round(remote)
    mine, theirs = [], []
    for _ in range(ROUNDS):
        mine.append(timed(lambda: one_round(local)))
        theirs.append(timed(lambda: one_round(remote)))
    return mine, theirs, remote


def beside_the_library(address: str, folder: str) -> dict[str, float]:
    """Plain Thompson sampling, which decides quickest, and the policy that a study has by default."""
    mine, theirs, remote = by_turns(address, folder, "s", "ts")
    asks = sorted(timed(remote.ask) for _ in range(ROUNDS))
    own, over_http, _ = by_turns(address, folder, "default", None)
    return {
        "service_library_ask_tell_ms": statistics.median(mine) * 1e3,
        "service_ask_tell_ms": statistics.median(theirs) * 1e3,
        "service_vs_library_ratio": statistics.median(mine) / statistics.median(theirs),
        "service_vs_library_mean_ratio": sum(mine) / sum(theirs),
        "service_default_policy_library_ask_tell_ms": statistics.median(own) * 1e3,
        "service_default_policy_ask_tell_ms": statistics.median(over_http) * 1e3,
        "service_default_policy_vs_library_ratio": statistics.median(own) / statistics.median(over_http),
        "service_default_policy_vs_library_mean_ratio": sum(own) / sum(over_http),
        "service_ask_ms": statistics.median(asks) * 1e3,
        "service_ask_p99_vs_median_ratio": asks[int(0.99 * len(asks))] / statistics.median(asks),
    }


def many_clients(address: str) -> dict[str, float]:
    """Eight clients at once; every decision is made once and told once."""
    Client(address).create("many", PROBLEM, policy="ts", seed=1)
    made: list[int] = []

    def play() -> None:
        study = Client(address).load("many")
        for _ in range(EACH):
            decision = study.ask()
            study.tell(decision.id, OUTCOME, reward=0)
            made.append(decision.id)

    threads = [threading.Thread(target=play) for _ in range(CLIENTS)]
    started = time.perf_counter()
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    seconds = time.perf_counter() - started
    frame = Client(address).load("many").to_frame()
    whole = sorted(made) == [*range(1, CLIENTS * EACH + 1)] and set(frame["status"]) == {"told"}
    return {
        "service_8_clients_rounds_per_s": CLIENTS * EACH / seconds,
        "service_8_clients_lost_or_doubled": 0.0 if whole and len(frame) == CLIENTS * EACH else 1.0,
    }


def grown(storage: str) -> None:
    """A study with many decisions, all told, written in large steps."""
    study = Study.create("large", PROBLEM, storage=storage, policy="ts", seed=1)

    def work(draft: Draft) -> None:
        first = len(draft.state.decisions) + 1
        draft.add("asked", {"first": first, "arms": choose(draft.state, 1000, None)})
        for number in range(first, first + 1000):
            draft.add("told", {"id": number, "seen": {**OUTCOME, "purchase": number % 2}})

    for _ in range(MANY // 1000):
        study._session.write(work)
    study.close()


def large_page(address: str) -> dict[str, float]:
    """The page of a study with 100,000 decisions, once it is open."""
    import http.client

    host = address.removeprefix("http://")
    connection = http.client.HTTPConnection(host)

    def page() -> int:
        connection.request("GET", "/studies/large")
        return len(connection.getresponse().read())

    first = timed(page)
    seconds = [timed(page) for _ in range(20)]
    study, changed = Client(address).load("large"), []
    for _ in range(10):
        one_round(study)
        changed.append(timed(page))
    return {
        "service_page_1e5_first_ms": first * 1e3,
        "service_page_1e5_after_a_change_ms": statistics.median(changed) * 1e3,
        "service_page_1e5_ms": statistics.median(seconds) * 1e3,
        "service_page_1e5_kb": page() / 1e3,
    }


def service() -> dict[str, float]:
    """All of it."""
    with tempfile.TemporaryDirectory() as folder:
        storage = f"sqlite:///{folder}/served.db"
        grown(storage)
        Server(storage).stop()  # bytecode is written once
        server = Server(storage)
        try:
            found = {"service_start_s": server.seconds, **beside_the_library(server.address, folder)}
            found |= large_page(server.address)
            found |= many_clients(server.address)
        finally:
            code = server.stop()
        assert code == 0, code
    return found


if __name__ == "__main__":
    results = service()
    print(json.dumps(results, indent=1))
    if len(sys.argv) > 1:
        Path(sys.argv[1]).write_text(json.dumps(results, indent=1) + "\n")

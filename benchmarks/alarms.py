"""Asks while alarms are checked and posted to a receiver that hangs, and asks without: `python -m benchmarks.alarms`.

Two servers take turns, so both meet the same disk and the same other load. One checks its studies every second, sixty
times as often as by default, and every message waits for a receiver that never answers. The other checks each once.
"""

import json
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence

import numpy as np

from causal_bandits import Client, Study
from causal_bandits.product.service import RemoteStudy

from .service import OUTCOME, PROBLEM

STUDIES, DECISIONS, ROUNDS = 3, 5000, 6000


def serve(storage: str, *options: str) -> tuple[subprocess.Popen[str], str]:
    """A server and its address."""
    command = [sys.executable, "-m", "causal_bandits.cli", "serve", "--port", "0", "--storage", storage, *options]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    assert process.stdout is not None
    return process, process.stdout.readline().split()[2]


def studies(storage: str) -> None:
    """Studies with many decisions, of which a mediator is never reported."""
    for number in range(STUDIES):
        study = Study.create(f"s{number}", PROBLEM, storage=storage, seed=number)
        made = study.ask(DECISIONS)
        study.tell_many([{"id": each.id, "clicked": 1, "purchase": each.id % 2} for each in made])
        study.close()


def seconds(study: RemoteStudy) -> float:
    """One ask, after which its outcome is reported."""
    started = time.perf_counter()
    decision = study.ask()
    took = time.perf_counter() - started
    study.tell(decision.id, OUTCOME, reward=0)
    return took


def quantiles(found: Sequence[float]) -> list[float]:
    """Median and p99 in milliseconds."""
    return [1000 * float(each) for each in np.quantile(found, [0.5, 0.99])]


def measure() -> dict[str, float]:
    """The ratio of both servers' p99, and how far that may be by chance (bootstrap of blocks of 100 asks)."""
    with tempfile.TemporaryDirectory() as folder, socket.create_server(("127.0.0.1", 0), backlog=100) as hangs:
        webhook = f"http://127.0.0.1:{hangs.getsockname()[1]}/"
        storages = [f"sqlite:///{folder}/{name}.db" for name in ("watched", "quiet")]
        for storage in storages:
            studies(storage)
        watched = serve(
            storages[0],
            "--webhook",
            webhook,
            "--allow-private-webhooks",
            "--check-seconds",
            "1",
        )
        quiet = serve(storages[1], "--check-seconds", "365d")
        try:
            clients = [Client(address) for _, address in (watched, quiet)]
            time.sleep(15)  # the first checks of all studies
            took: list[list[float]] = [[], []]
            for number in range(ROUNDS):
                for place, client in enumerate(clients):
                    took[place].append(seconds(client.load(f"s{number % STUDIES}")))
        finally:
            for process, _ in (watched, quiet):
                process.terminate()
                process.wait()
    blocks = np.array(took).reshape(2, -1, 100)
    rng = np.random.default_rng(0)
    drawn = [blocks[:, rng.integers(0, blocks.shape[1], blocks.shape[1])].reshape(2, -1) for _ in range(400)]
    ratios = [np.quantile(each[0], 0.99) / np.quantile(each[1], 0.99) for each in drawn]
    (median, p99), (quiet_median, quiet_p99) = (quantiles(each) for each in took)
    return {
        "ask_p99_with_alarms_ratio": p99 / quiet_p99,
        "ask_p99_with_alarms_ratio_se": float(np.std(ratios)),
        "ask_p99_with_alarms_ms": p99,
        "ask_p99_without_alarms_ms": quiet_p99,
        "ask_median_with_alarms_ratio": median / quiet_median,
    }


if __name__ == "__main__":
    print(json.dumps(measure(), indent=1))

"""Kills, interrupts and pauses: what was acknowledged must be there once, and a replay must give the same statistics.

`python -m benchmarks.chaos` takes two to four minutes, and prints a table.
`benchmarks.reliability` and `benchmarks.high_throughput` have longer runs.
"""

import contextlib
import os
import signal
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from rich.console import Console
from rich.table import Table
from tests.service.processes import Process
from tests.studies.postgres import Server

from benchmarks.high_throughput import aggregator_of, compared, work_until_killed
from benchmarks.interrupted_studies import interrupt_studies
from benchmarks.reliability import PROBLEM, answer, forkserver, kill_writers, sound
from causal_bandits import Client, Study
from causal_bandits.errors import CausalBanditsError, StorageError

KILLS, INTERRUPTS, DISTURBANCES, HTTP_DISTURBANCES = 60, 400, 24, 12
WORKERS, THREADS, CLIENTS = 3, 2, 6
LONGEST_PAUSE = 1.5
HIGH_THROUGHPUT: dict[str, Any] = {"mode": "high-throughput", "publish_rows": 50, "publish_seconds": 0.1}


class Result(NamedTuple):
    """One line of the table."""

    what: str
    disturbances: str
    acknowledged: int
    lost: int
    doubled: int
    same_after_replay: bool
    seconds: float


def same_after_replay(storage: str) -> bool:
    """Whether the statistics of a study are those of its events, counted again from the first."""
    with Study.load("s", storage=storage) as study:
        if study.mode == "high-throughput":
            study.publish()
        before = [*study.estimates()], study.describe()["rows"]
        study._session.store.write(study._session.row.id, lambda transaction: transaction.drop_snapshots())
    with Study.load("s", storage=storage) as again:
        return ([*again.estimates()], again.describe()["rows"]) == before


def killed_writers(folder: Path) -> Result:
    """SIGKILL of processes that ask and tell on one SQLite file."""
    start, storage = time.monotonic(), f"sqlite:///{folder}/kills.db"
    found = kill_writers(storage, KILLS, folder / "kills", seed=0, writers=4)
    same = same_after_replay(storage) and sound(storage)
    what = f"{KILLS} SIGKILL"
    return Result("SQLite, 4 processes", what, found.acknowledged, found.lost, found.doubled, same, _since(start))


def interrupted(folder: Path) -> Result:
    """Ctrl-C and time limits between any two lines of an ask and tell loop."""
    start, storage = time.monotonic(), f"sqlite:///{folder}/interrupts.db"
    found = interrupt_studies(storage, INTERRUPTS, seed=0)
    same = same_after_replay(storage) and not found.bricked
    what = f"{INTERRUPTS} interrupts"
    return Result("SQLite, 1 process", what, found.acknowledged, found.lost, found.doubled, same, _since(start))


@contextlib.contextmanager
def paused(processes: Sequence[int]) -> Iterator[None]:
    """Processes that are stopped for the block."""
    for process in processes:
        with contextlib.suppress(ProcessLookupError):
            os.kill(process, signal.SIGSTOP)
    try:
        yield
    finally:
        for process in processes:
            with contextlib.suppress(ProcessLookupError):
                os.kill(process, signal.SIGCONT)


def children_of(process: int) -> list[int]:
    """A process and everything that it started (Linux)."""
    found = [process]
    for each in found:
        with contextlib.suppress(OSError):
            found += map(int, Path(f"/proc/{each}/task/{each}/children").read_text().split())
    return found


def disturbed_workers(server: Server, folder: Path) -> Result:
    """Kills and pauses of workers, of the aggregator and of PostgreSQL, while workers ask and tell."""
    start, storage, journal = time.monotonic(), server.new_database(), folder / "workers"
    study = Study.create("s", PROBLEM, storage=storage, policy="ts", seed=1, **HIGH_THROUGHPUT)
    rng, context = np.random.default_rng(1), forkserver()
    journal.touch()

    def begin(place: int) -> Any:
        process = context.Process(target=work_until_killed, args=(storage, str(journal), f"w{place}", THREADS))
        process.start()
        return process

    running = [begin(place) for place in range(WORKERS)]
    said = Counter[str]()
    for number in range(DISTURBANCES):
        _grown(journal)
        how = ("kill worker", "kill aggregator", "pause worker", "pause aggregator", "pause database", "kill database")[
            number % 6
        ]
        leader = aggregator_of(storage) if "aggregator" in how else None
        places = {process.pid: place for place, process in enumerate(running)}
        place = places.get(leader, int(rng.integers(WORKERS)))
        if how == "kill database":
            server.kill()
            server.start()
        elif how == "pause database":
            with paused(children_of(server.process)):
                time.sleep(rng.random() * LONGEST_PAUSE)
        elif how.startswith("pause"):
            with paused([running[place].pid or 0]):
                time.sleep(rng.random() * LONGEST_PAUSE)
        else:
            running[place].kill()
            running[place].join()
            running[place] = begin(place)
        said[how] += 1
    _grown(journal)
    for process in running:
        process.kill()
        process.join()
    study.close()
    found = compared(storage, journal, DISTURBANCES, 0, [])
    same = same_after_replay(storage) and not found.underivable
    what = ", ".join(f"{count} {how}" for how, count in said.items())
    return Result(
        "PostgreSQL, 3 workers of one study", what, found.acknowledged, found.lost, found.doubled, same, _since(start)
    )


def _grown(journal: Path, seconds: float = 60.0) -> None:
    """Wait until workers continue."""
    before, end = journal.stat().st_size, time.monotonic() + seconds
    while journal.stat().st_size < before + 200 and time.monotonic() < end:
        time.sleep(0.005)


class Caller:
    """A client that repeats every call until it is acknowledged."""

    def __init__(self, address: str, name: str) -> None:
        self._client, self._name = Client(address, timeout=20), name
        self.asked: dict[str, int] = {}
        self.told: set[int] = set()
        self.stop = threading.Event()
        self.thread = threading.Thread(target=self._run)

    def _run(self) -> None:
        while not self.stop.is_set():
            key = f"{self._name}-{len(self.asked)}"
            self.asked[key] = self._acknowledged(partial(_ask, key))
            self._acknowledged(partial(_tell, self.asked[key]))
            self.told.add(self.asked[key])

    def _acknowledged(self, work: Callable[[Any], Any]) -> Any:
        while True:
            try:
                return work(self._client.load("s"))
            except CausalBanditsError as error:
                if not isinstance(error, StorageError):
                    raise
                time.sleep(0.05)


def _ask(key: str, study: Any) -> int:
    return int(study.ask(key=key).id)


def _tell(number: int, study: Any) -> None:
    study.tell(number, answer(number))


def disturbed_server(server: Server) -> Result:
    """Kills and pauses of an HTTP server with two processes, of one of them and of PostgreSQL."""
    start, storage = time.monotonic(), server.new_database()
    Study.create("s", PROBLEM, storage=storage, policy="ts", seed=1, **HIGH_THROUGHPUT).close()
    process = Process("--storage", storage, "--workers", "2")
    port = process.address.rpartition(":")[2]
    callers = [Caller(process.address, f"c{place}") for place in range(CLIENTS)]
    for caller in callers:
        caller.thread.start()
    rng, said = np.random.default_rng(2), Counter[str]()
    for number in range(HTTP_DISTURBANCES):
        done = sum(len(caller.told) for caller in callers)
        end = time.monotonic() + 60
        while sum(len(caller.told) for caller in callers) < done + 2 * CLIENTS and time.monotonic() < end:
            time.sleep(0.01)
        how = ("kill server", "kill one process", "pause server", "pause database")[number % 4]
        if how == "kill server":
            process.kill()
            process = Process("--storage", storage, "--workers", "2", "--port", port)
        elif how == "kill one process":
            os.kill(int(rng.choice(_serving(process.pid))), signal.SIGKILL)
        else:
            with paused(children_of(process.pid if how == "pause server" else server.process)):
                time.sleep(rng.random() * LONGEST_PAUSE)
        said[how] += 1
    for caller in callers:
        caller.stop.set()
    for caller in callers:
        caller.thread.join(60)
    process.stop()
    asked = {key: number for caller in callers for key, number in caller.asked.items()}
    told = set().union(*(caller.told for caller in callers))
    with Study.load("s", storage=storage) as study:
        study.publish()
        frame = study.to_frame().to_dicts()
        rows = {row["id"]: row for row in frame}
        lost = sum(study.ask(key=key).id != number for key, number in asked.items())
        lost += sum(
            number not in rows or {name: rows[number][name] for name in "aby"} != answer(number) for number in told
        )
        doubled = len(frame) - len(asked)
    what = ", ".join(f"{count} {how}" for how, count in said.items())
    name = f"HTTP, 2 processes, {CLIENTS} clients"
    return Result(name, what, len(asked) + len(told), lost, doubled, same_after_replay(storage), _since(start))


def _serving(process: int) -> list[int]:
    """The processes of a server that answer."""
    found = []
    for each in children_of(process)[1:]:
        with contextlib.suppress(OSError):
            if b"spawn_main" in Path(f"/proc/{each}/cmdline").read_bytes():
                found.append(each)
    return found


def _since(start: float) -> float:
    return time.monotonic() - start


def run() -> list[Result]:
    """All of it."""
    with tempfile.TemporaryDirectory() as name, Server() as server:
        folder = Path(name)
        return [
            killed_writers(folder),
            interrupted(folder),
            disturbed_workers(server, folder),
            disturbed_server(server),
        ]


def main() -> None:
    """Print the table."""
    table = Table("what", "disturbances", "acknowledged", "lost", "doubled", "same after replay", "seconds")
    for found in run():
        table.add_row(*(f"{value:,.0f}" if isinstance(value, float) else str(value) for value in found))
    Console(width=160).print(table)


if __name__ == "__main__":
    main()

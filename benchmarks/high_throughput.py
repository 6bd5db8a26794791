"""High-throughput mode on PostgreSQL: its rate beside transactional studies, and kills of workers and aggregators.

`python -m benchmarks.high_throughput` measures rates, with `http` the same through `causal-bandits serve --workers 4`;
with `kills` it kills a hundred times.
"""

import contextlib
import json
import os
import signal
import sys
import tempfile
import threading
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from causal_bandits import Client, Problem, Study
from causal_bandits.errors import StorageError
from causal_bandits.product.studies.decision_log import asks_replayed

from .reliability import PROBLEM as SMALL
from .reliability import answer, forkserver
from .service import Server as HttpServer

SHOP = Problem(
    "purchase",
    {"clicked": 2, "cart": ["empty", "some", "full"]},
    {"banner": ["none", "red", "blue"], "discount": ["none", "10%"]},
)
OUTCOME = {"clicked": 1, "cart": "some", "purchase": 0}
WORKERS, THREADS, SECONDS, ROUNDS = 4, 16, 6.0, 3
KILLS = 100


# Rates


def _serve(place: str, name: str, threads: int, seconds: float, ready: Any, begin: Any, done: Any) -> None:
    remote = place.startswith("http")
    study: Any = Client(place).load(name) if remote else Study.load(name, storage=place)
    study.tell(study.ask().id, OUTCOME)
    counts = [0] * threads

    def play(place: int) -> None:
        while time.monotonic() < until:
            study.tell(study.ask().id, OUTCOME)
            counts[place] += 1

    ready.release()
    begin.wait()
    started = time.monotonic()
    until = started + seconds
    running = [threading.Thread(target=play, args=(place,)) for place in range(threads)]
    for thread in running:
        thread.start()
    for thread in running:
        thread.join()
    done.put((sum(counts), time.monotonic() - started))
    study.close()


def rate(place: str, name: str, *, workers: int, threads: int, seconds: float) -> float:
    """Rounds of ask and tell per second, with this many processes and threads each; a storage or a server."""
    context = forkserver()
    ready, begin, done = context.Semaphore(0), context.Event(), context.SimpleQueue()
    arguments = (place, name, threads, seconds, ready, begin, done)
    running = [context.Process(target=_serve, args=arguments) for _ in range(workers)]
    for process in running:
        process.start()
    for _ in running:
        ready.acquire()
    begin.set()
    found = [done.get() for _ in running]
    for process in running:
        process.join()
    return float(sum(count / took for count, took in found))


def rates(
    storage: str,
    *,
    workers: int = WORKERS,
    threads: int = THREADS,
    seconds: float = SECONDS,
    rounds: int = ROUNDS,
    policy: str = "ts",
    address: str | None = None,
) -> dict[str, float]:
    """Strict and studies in high-throughput mode, alternating, so that both meet the same disk and the same other load.

    With the address of a server on the storage, the rounds are played through it.

    Transactional studies are measured with one thread in each worker, too: threads that wait for one lock are no help.
    """
    plays = (("transactional", 1), ("transactional", threads), ("high-throughput", threads))
    found: dict[tuple[str, int], list[float]] = {play: [] for play in plays}
    for number in range(rounds):
        for mode, each in plays:
            name = f"{mode} {each} {number}"
            Study.create(name, SHOP, storage=storage, policy=policy, seed=1, mode=mode).close()
            found[mode, each].append(rate(address or storage, name, workers=workers, threads=each, seconds=seconds))
            _check_counted(storage, name, found[mode, each][-1] * seconds)
    alone, together, fast = (np.array(found[play]) for play in plays)
    ratios = fast / np.maximum(alone, together)
    error = float(ratios.std(ddof=1) / np.sqrt(rounds)) if rounds > 1 else float("nan")
    return {
        "transactional_rounds_per_s": float(np.maximum(alone, together).mean()),
        "high_throughput_rounds_per_s": float(fast.mean()),
        "high_throughput_vs_transactional_ratio": float(ratios.mean()),
        "high_throughput_vs_transactional_ratio_se": error,
    }


def _check_counted(storage: str, name: str, rounds: float) -> None:
    """All that was acknowledged is finally counted."""
    with Study.load(name, storage=storage) as study:
        study.publish()
        counted = study.describe()["decisions"]
        assert counted["all"] == counted["told"] >= 0.9 * rounds, counted


# Kills


def _loaded(storage: str) -> Study:
    """The study, as soon as its storage answers."""
    while True:
        try:
            return Study.load("s", storage=storage)
        except StorageError:
            time.sleep(0.1)


def work_until_killed(storage: str, journal: str, name: str, threads: int) -> None:
    """Ask with keys and tell; each line of the journal is written after the storage has acknowledged it."""
    study = _loaded(storage)
    file = os.open(journal, os.O_WRONLY | os.O_APPEND | os.O_CREAT)

    def play(place: int) -> None:
        mine = f"{name}-{place}"
        begun = [line.split() for line in Path(journal).read_text().splitlines()]
        number = sum(1 for what, key, *_ in begun if what == "asking" and key.startswith(f"{mine}-"))
        doubt = max(number - 1, 0)  # the last key may have been asked with, and may have been answered
        for each in range(doubt, 1_000_000):
            key = f"{mine}-{each}"
            with contextlib.suppress(StorageError):
                os.write(file, f"asking {key}\n".encode())
                decision = study.ask(key=key)
                os.write(file, f"asked {key} {decision.id} {SMALL.index(decision.arm)}\n".encode())
                study.tell(decision.id, answer(decision.id))
                os.write(file, f"told {key} {decision.id} 0\n".encode())

    running = [threading.Thread(target=play, args=(place,)) for place in range(threads)]
    for thread in running:
        thread.start()


def aggregator_of(storage: str) -> int | None:
    """The process that holds the leader lock of a study; one study per database."""
    import psycopg

    with psycopg.connect(storage, autocommit=True) as connection:
        query = """SELECT application_name FROM pg_stat_activity JOIN pg_locks USING (pid)
            WHERE locktype = 'advisory' AND application_name LIKE 'causal-bandits aggregator %%' LIMIT 1"""
        found = connection.execute(query.encode()).fetchone()
    return None if found is None else int(found[0].rpartition(" ")[2])


class Kills(NamedTuple):
    """What a run of kills showed."""

    kills: int
    of_aggregators: int
    acknowledged: int
    lost: int
    doubled: int
    underivable: int
    """Decisions that do not follow from seed, key and version."""
    takeover_seconds: list[float]
    """From the kill of an aggregator to the next event."""


def kill_workers(storage: str, kills: int, journal: Path, seed: int, *, workers: int = 3, threads: int = 2) -> Kills:
    """Kill workers with signal 9 at random moments, every other time the aggregator; then compare with the journal."""
    options = {"mode": "high-throughput", "publish_rows": 50, "publish_seconds": 0.1}
    study = Study.create("s", SMALL, storage=storage, policy="ts", seed=1, **options)  # type: ignore[arg-type]
    rng, context = np.random.default_rng(seed), forkserver()
    journal.touch()

    def start(place: int) -> Any:
        process = context.Process(target=work_until_killed, args=(storage, str(journal), f"w{place}", threads))
        process.start()
        return process

    running = [start(place) for place in range(workers)]
    takeovers: list[float] = []
    aggregators = 0
    for number in range(kills):
        grown = journal.stat().st_size
        while journal.stat().st_size < grown + 200:  # everything still works
            time.sleep(0.005)
        time.sleep(rng.random() * 0.1)
        leader = aggregator_of(storage) if number % 2 == 0 else None
        places = {process.pid: place for place, process in enumerate(running)}
        place = places.get(leader, int(rng.integers(workers)))
        os.kill(running[place].pid or 0, signal.SIGKILL)
        running[place].join()
        if running[place].pid == leader:
            aggregators += 1
            takeovers.append(_until_next_event(study))
        running[place] = start(place)
    for process in running:
        process.kill()
        process.join()
    study.close()
    return compared(storage, journal, kills, aggregators, takeovers)


def _until_next_event(study: Study) -> float:
    before, started = study.newest.sequence, time.monotonic()
    while study.newest.sequence == before and time.monotonic() < started + 60:
        time.sleep(0.005)
    return time.monotonic() - started


def compared(storage: str, journal: Path, kills: int, aggregators: int, takeovers: Sequence[float]) -> Kills:
    """What workers were promised, beside what the study has."""
    with Study.load("s", storage=storage) as study:
        study.publish()
        lines = [line.split() for line in journal.read_text().splitlines()]
        asked = {
            (key, int(number)): int(arm) for what, key, *rest in lines if what == "asked" for number, arm in [rest]
        }
        told = {int(number) for what, _, number, *_ in (line for line in lines if len(line) > 2) if what == "told"}
        frame = study.to_frame().to_dicts()
        rows = {row["id"]: row for row in frame}
        asks = [ask for _, ask in asks_replayed(study._session)]
        keys = [ask.key for ask in asks]
        numbers = {ask.key: ask.first for ask in asks}
        arms = {ask.first: ask.arms[0] for ask in asks}
        lost = sum(numbers.get(key) != number or arms[number] != arm for (key, number), arm in asked.items())
        lost += sum(rows[number]["status"] != "told" for number in told if number in rows)
        lost += sum(number not in rows for number in told)
        lost += sum(
            {name: row[name] for name in "aby"} != answer(row["id"]) for row in frame if row["status"] == "told"
        )
        doubled = len(keys) - len(set(keys)) + len(asked) - len({key for key, _ in asked})
        doubled += study.describe()["rows"] - sum(row["status"] == "told" for row in frame)
        again = [study.ask(key=key).id != number for key, number in list(asked)[::50]]  # the same to whoever asks now
        wrong = sum(ask.chosen(then) != ask.arms for then, ask in asks_replayed(study._session))
    acknowledged = len(asked) + len(told)
    return Kills(kills, aggregators, acknowledged, lost, doubled + sum(again), wrong, list(takeovers))


def high_throughput() -> dict[str, float]:
    """Rates on our own server."""
    from tests.studies.postgres import Server

    with Server() as server:
        return rates(server.new_database())


def over_http() -> dict[str, float]:
    """Rates through a server with several workers; as many processes call it."""
    from tests.studies.postgres import Server

    with Server() as server:
        storage = server.new_database()
        http = HttpServer(storage, workers=WORKERS)
        try:
            found = rates(storage, address=http.address)
        finally:
            http.stop()
    return {f"http_{name}": value for name, value in found.items()}


def killed() -> dict[str, Any]:
    """A hundred kills on our own server."""
    from tests.studies.postgres import Server

    with Server() as server, tempfile.TemporaryDirectory() as folder:
        found = kill_workers(server.new_database(), KILLS, Path(folder) / "journal", seed=1)
    return {**found._asdict(), "takeover_seconds": _spread(found.takeover_seconds)}


def main() -> None:
    """Measure, and print."""
    what = {"kills": killed, "http": over_http}
    print(json.dumps(what.get((sys.argv[1:] or [""])[0], high_throughput)(), indent=1))


def _spread(seconds: Sequence[float]) -> dict[str, float]:
    return {"median": float(np.median(seconds)), "most": max(seconds)} if seconds else {}


if __name__ == "__main__":
    main()

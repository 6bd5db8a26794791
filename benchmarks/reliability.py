"""Studies under stress: many processes, threads and tasks at once, writers and servers killed at random, forks.

`python -m benchmarks.reliability` is the long run and prints a table; the tests do short ones of the same functions.
"""

import asyncio
import contextlib
import itertools
import multiprocessing
import os
import shutil
import signal
import sqlite3
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from multiprocessing.context import ForkServerContext
from pathlib import Path
from typing import NamedTuple

import numpy as np
from rich.console import Console

from causal_bandits import Problem, Study
from causal_bandits.errors import StorageError

PROBLEM = Problem("y", {"a": 2, "b": 3}, {"i": 3, "j": 2})


def forkserver() -> ForkServerContext:
    """Processes that start quickly: the package is imported once."""
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["benchmarks.reliability"])
    return context


def answer(number: int) -> dict[str, int]:
    """The outcome of a decision, whoever asked for it."""
    rng = np.random.default_rng(number)
    return {"a": int(rng.integers(2)), "b": int(rng.integers(3)), "y": int(rng.integers(2))}


def create(storage: str, name: str = "s") -> Study:
    """The study that all processes use."""
    return Study.create(name, PROBLEM, storage=storage, seed=1)


def _play(storage: str, rounds: int) -> None:
    _rounds(Study.load("s", storage=storage), rounds)


def _rounds(study: Study, rounds: int) -> None:
    for _ in range(rounds):
        decision = study.ask()
        study.tell(decision.id, answer(decision.id))


def hammer(storage: str, processes: int, rounds: int) -> int:
    """Ask and tell from many processes at once; gives the number of decisions. Raises if one of them met an error."""
    create(storage).close()
    context = forkserver()
    workers = [context.Process(target=_play, args=(storage, rounds)) for _ in range(processes)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    if any(worker.exitcode for worker in workers):
        raise RuntimeError(f"exit codes {[worker.exitcode for worker in workers]}")
    return processes * rounds


def check_complete(storage: str, decisions: int) -> None:
    """Nothing lost, nothing doubled: every decision is there once, and told once."""
    study = Study.load("s", storage=storage)
    frame = study.to_frame()
    assert study.describe() == _replayed(study).describe()  # the state equals a serial replay of the events
    assert frame["id"].to_list() == list(range(1, decisions + 1))
    assert Counter(frame["status"]) == {"told": decisions}
    told = {row["id"]: {name: row[name] for name in "aby"} for row in frame.to_dicts()}
    assert told == {number: answer(number) for number in told}


def _replayed(study: Study) -> Study:
    """The same study from its events alone."""
    study._session.store.write(study._session.row.id, lambda transaction: transaction.drop_snapshots())
    return Study.load(study.name, storage=study._session.store.url.render_as_string(hide_password=False))


def _write_until_killed(storage: str, journal: str) -> None:
    study = Study.load("s", storage=storage)
    file = os.open(journal, os.O_WRONLY | os.O_APPEND | os.O_CREAT)
    while True:
        with contextlib.suppress(StorageError):  # the server is down; what was not acknowledged is not in the journal
            decision = study.ask()
            os.write(file, f"asked {decision.id} {PROBLEM.index(decision.arm)}\n".encode())
            study.tell(decision.id, answer(decision.id))
            os.write(file, f"told {decision.id} 0\n".encode())


class Killed(NamedTuple):
    """What a run of kills showed."""

    acknowledged: int
    lost: int
    doubled: int
    unacknowledged: int


def kill_writers(storage: str, kills: int, journal: Path, seed: int, writers: int = 2) -> Killed:
    """Kill writers with signal 9 at random moments, again and again; then compare what they were promised."""
    create(storage).close()
    rng = np.random.default_rng(seed)
    context = forkserver()
    done = 0
    while done < kills:
        running = [context.Process(target=_write_until_killed, args=(storage, str(journal))) for _ in range(writers)]
        for process in running:
            process.start()
        grown = journal.stat().st_size if journal.exists() else 0
        while not journal.exists() or journal.stat().st_size < grown + 200:  # some twenty answers
            time.sleep(0.001)
        for process in running:
            time.sleep(rng.random() * 0.2)
            os.kill(process.pid or 0, signal.SIGKILL)
        for process in running:
            process.join()
        done += writers
    return _compare(storage, journal)


def _compare(storage: str, journal: Path) -> Killed:
    lines = [line.split() for line in journal.read_text().splitlines()]
    frame = Study.load("s", storage=storage).to_frame()
    status = dict(zip(frame["id"], frame["status"], strict=True))
    arms = {row["id"]: PROBLEM.index({"i": row["i"], "j": row["j"]}) for row in frame.to_dicts()}
    asked = {int(number): int(arm) for what, number, arm in lines if what == "asked"}
    told = [int(number) for what, number, _ in lines if what == "told"]
    lost = sum(arms.get(number) != arm for number, arm in asked.items())
    lost += sum(status.get(number) != "told" for number in told)
    promised = Counter((what, number) for what, number, _ in lines)
    doubled = sum(count - 1 for count in promised.values()) + len(frame) - len(status)
    extra = len(frame) - len(asked) + Counter(frame["status"])["told"] - len(told)
    return Killed(len(lines), lost, doubled, extra)


@contextlib.contextmanager
def copies_cut_short(storage: str, folder: Path) -> Iterator[Callable[[int], str]]:
    """Copies of an SQLite storage whose log has lost its last bytes, as after a torn write; gives their URLs."""
    source = Path(storage.removeprefix("sqlite:///"))

    def cut(missing: int) -> str:
        target = folder / f"cut{missing}.db"
        shutil.copy(source, target)
        log = Path(f"{target}-wal")
        shutil.copy(f"{source}-wal", log)
        os.truncate(log, log.stat().st_size - missing)
        return f"sqlite:///{target}"

    yield cut


def sound(storage: str) -> bool:
    """Whether SQLite itself finds the file whole."""
    with contextlib.closing(sqlite3.connect(storage.removeprefix("sqlite:///"))) as connection:
        return bool(connection.execute("PRAGMA integrity_check").fetchone()[0] == "ok")


def many_threads(storage: str, threads: int, rounds: int) -> int:
    """Threads that share one study object; gives the number of decisions."""
    study = create(storage)
    with ThreadPoolExecutor(threads) as pool:
        for done in [pool.submit(_rounds, study, rounds) for _ in range(threads)]:
            done.result()
    return threads * rounds


def many_tasks(storage: str, tasks: int, rounds: int) -> int:
    """Tasks of one event loop that share one study object; gives the number of decisions."""
    study = create(storage)

    async def work() -> None:
        await asyncio.gather(*(asyncio.to_thread(_rounds, study, rounds) for _ in range(tasks)))

    asyncio.run(work())
    return tasks * rounds


def forks_among_threads(storage: str, forks: int) -> int:
    """Fork while threads use the study; each child plays, too. Gives the number of children that did not finish."""
    study = create(storage)
    stop = threading.Event()

    def keep_playing() -> None:
        while not stop.is_set():
            _rounds(study, 1)

    threads = [threading.Thread(target=keep_playing) for _ in range(3)]
    for thread in threads:
        thread.start()
    context = multiprocessing.get_context("fork")
    failed = 0
    for _ in range(forks):
        child = context.Process(target=_rounds, args=(study, 5))
        child.start()
        child.join(60)
        failed += child.exitcode != 0
        child.kill()
    stop.set()
    for thread in threads:
        thread.join()
    return failed


def kill_server(kills: int, journal: Path, writers: int = 4) -> Killed:
    """Kill a PostgreSQL server, with all its processes, while writers use it; start it again, and continue."""
    from tests.studies.postgres import Server  # the bundled server, as in the tests

    with Server() as server:
        create(server.url).close()
        context = forkserver()
        running = [context.Process(target=_write_until_killed, args=(server.url, str(journal))) for _ in range(writers)]
        for process in running:
            process.start()
        for _ in range(kills):
            grown = journal.stat().st_size if journal.exists() else 0
            while not journal.exists() or journal.stat().st_size < grown + 2000:
                time.sleep(0.01)
            server.kill()
            server.start()
        for process in running:
            process.kill()
            process.join()
        return _compare(server.url, journal)


def _line(what: str, start: float, result: object) -> None:
    Console().print(f"{what}: {result} ({time.monotonic() - start:.0f} s)", highlight=False)


def main() -> None:
    """The long run."""
    from tests.studies.postgres import Server

    from benchmarks.interrupted_studies import interrupt_studies

    with tempfile.TemporaryDirectory() as name, Server() as server:
        folder, numbers = Path(name), itertools.count()

        def sqlite() -> str:
            return f"sqlite:///{folder}/{next(numbers)}.db"

        def postgres() -> str:
            return server.new_database()

        for kind, new, kills in (("SQLite", sqlite, 400), ("PostgreSQL", postgres, 150)):
            for what, work in (
                ("8 processes x 1,000 ask + tell", partial(hammer, processes=8, rounds=1000)),
                ("20 threads x 100", partial(many_threads, threads=20, rounds=100)),
                ("50 tasks of one event loop x 20", partial(many_tasks, tasks=50, rounds=20)),
            ):
                start, storage = time.monotonic(), new()
                check_complete(storage, work(storage))
                _line(f"{kind}, {what}", start, "nothing lost or doubled, state equals the serial replay")
            start = time.monotonic()
            _line(f"{kind}, 20 forks among 3 busy threads", start, f"{forks_among_threads(new(), 20)} children hung")
            start, storage = time.monotonic(), new()
            found = kill_writers(storage, kills, folder / f"journal {kind}", seed=0, writers=8)
            _line(f"{kind}, {kills} kills of 8 writers", start, found)
            if kind == "SQLite":
                _line("the file is sound", start, sound(storage))
            start = time.monotonic()
            many, longest = (2000, 0.004) if kind == "SQLite" else (500, 0.02)
            _line(f"{kind}, {many} interrupts", start, interrupt_studies(new(), many, seed=0, longest=longest))
        start = time.monotonic()
        _line("PostgreSQL server killed 12 times", start, kill_server(12, folder / "journal server"))


if __name__ == "__main__":
    main()

"""Studies under stress: many processes at once, processes killed at random, a log cut short.

`python -m benchmarks.reliability` is the long run (8 processes x 1,000 rounds, 500 kills); the tests do a short one.
"""

import contextlib
import multiprocessing
import os
import shutil
import signal
import sqlite3
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator
from multiprocessing.context import ForkServerContext
from pathlib import Path
from typing import NamedTuple

import numpy as np
from rich.console import Console

from causal_bandits import Problem, Study

PROBLEM = Problem("y", {"a": 2, "b": 3}, {"i": 3, "j": 2})


def forkserver() -> ForkServerContext:
    """Processes that start quickly: the package is imported once."""
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["benchmarks.reliability"])
    return context


def answer(number: int) -> dict[str, int]:
    """What comes of a decision, whoever asked for it."""
    rng = np.random.default_rng(number)
    return {"a": int(rng.integers(2)), "b": int(rng.integers(3)), "y": int(rng.integers(2))}


def create(storage: str, name: str = "s") -> Study:
    """The study that all processes use."""
    return Study.create(name, PROBLEM, storage=storage, seed=1)


def _play(storage: str, rounds: int) -> None:
    study = Study.load("s", storage=storage)
    for _ in range(rounds):
        decision = study.ask()
        study.tell(decision.id, answer(decision.id))


def hammer(storage: str, processes: int, rounds: int) -> float:
    """Ask and tell from many processes at once; gives the seconds. Raises if one of them met an error."""
    create(storage).close()
    context = forkserver()
    workers = [context.Process(target=_play, args=(storage, rounds)) for _ in range(processes)]
    start = time.monotonic()
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    if any(worker.exitcode for worker in workers):
        raise RuntimeError(f"exit codes {[worker.exitcode for worker in workers]}")
    return time.monotonic() - start


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
        while not journal.exists() or journal.stat().st_size == grown:
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


def main() -> None:
    """The long run."""
    console = Console()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        storage = f"sqlite:///{folder}/hammer.db"
        seconds = hammer(storage, 8, 1000)
        check_complete(storage, 8000)
        console.print(f"8 processes x 1,000 ask + tell on one SQLite file: {seconds:.1f} s, nothing lost or doubled")
        from tests.studies.postgres import server  # the bundled server, as in the tests

        with server() as url:
            seconds = hammer(url, 8, 1000)
            check_complete(url, 8000)
            console.print(f"the same on PostgreSQL: {seconds:.1f} s, nothing lost or doubled")
        storage = f"sqlite:///{folder}/killed.db"
        start = time.monotonic()
        found = kill_writers(storage, 500, folder / "journal", seed=0)
        console.print(f"500 kills in {time.monotonic() - start:.0f} s: {found}, file sound: {sound(storage)}")


if __name__ == "__main__":
    main()

"""Engines: the same bytes from one process, from several, from a Dask cluster, and after workers were killed."""

import contextlib
import importlib
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from causal_bandits.errors import EngineError
from causal_bandits.research.experiments import EXPERIMENTS, Scale, reproduce
from causal_bandits.research.experiments.base import Chunk
from causal_bandits.research.experiments.engines import make_engine, work_on
from tests.experiments.small import SMALL_2A
from tests.marked import needs_proc


@pytest.fixture(autouse=True)
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(EXPERIMENTS, "fig2a", SMALL_2A)


def summary_bytes(out: Path, jobs: int | None = 1, engine: str = "local", scheduler: str | None = None) -> bytes:
    reproduce("fig2a", scale="smoke", seed=5, jobs=jobs, out=out, engine=engine, scheduler=scheduler)
    return (out / "fig2a/summary.json").read_bytes()


@pytest.fixture(scope="module")
def alone(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    """What one process writes."""
    out = tmp_path_factory.mktemp("alone")
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(EXPERIMENTS, "fig2a", SMALL_2A)
        return summary_bytes(out / "results")


def free_port() -> int:
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return int(found.getsockname()[1])


class Cluster:
    """A Dask scheduler and two workers, each a process of its own on loopback."""

    def __init__(self) -> None:
        self.address = f"tcp://127.0.0.1:{free_port()}"
        self.host, port = self.address.removeprefix("tcp://").split(":")
        self.scheduler = self._start("scheduler", "--host", self.host, "--port", port)
        self.workers: list[subprocess.Popen[bytes]] = []

    @staticmethod
    def _start(*words: str) -> subprocess.Popen[bytes]:
        command = [sys.executable, "-m", "dask", *words, "--no-dashboard"]
        return subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)

    def complete(self) -> None:
        """Start workers until two are alive, and wait until the scheduler knows just these."""
        options = ("--nthreads", "1", "--no-nanny", "--host", self.host)
        self.workers = [worker for worker in self.workers if worker.poll() is None]
        while len(self.workers) < 2:
            self.workers.append(self._start("worker", self.address, *options))
        client_class: Any = importlib.import_module("distributed").Client
        deadline = time.monotonic() + 60
        while True:
            assert time.monotonic() < deadline, "the cluster does not start"
            with contextlib.suppress(OSError), client_class(self.address, timeout=5, set_as_default=False) as client:
                client.wait_for_workers(2, timeout=30)
                if len(client.ncores()) == 2:  # one that was killed is forgotten
                    return

    def stop(self) -> None:
        for process in [*self.workers, self.scheduler]:
            process.kill()
            process.wait()


@pytest.fixture(scope="module")
def started() -> Iterator[Cluster]:
    found = Cluster()
    try:
        yield found
    finally:
        found.stop()


@pytest.fixture
def cluster(started: Cluster) -> Cluster:
    """The scheduler of all these tests, with two workers that are alive."""
    started.complete()
    return started


def test_two_processes_write_the_same_bytes(tmp_path: Path, alone: bytes) -> None:
    assert summary_bytes(tmp_path / "two", jobs=2) == alone


@pytest.mark.slow
def test_a_dask_cluster_writes_the_same_bytes(tmp_path: Path, alone: bytes, cluster: Cluster) -> None:
    assert summary_bytes(tmp_path / "dask", engine="dask", scheduler=cluster.address) == alone


@pytest.mark.slow
def test_without_an_address_dask_starts_workers_here(tmp_path: Path, alone: bytes) -> None:
    assert summary_bytes(tmp_path / "dask", jobs=1, engine="dask") == alone


def slow_rows(number: int, folder: Path) -> pl.DataFrame:
    """Says who works on it, takes a while, and gives a row."""
    with (folder / f"{number}-{os.getpid()}").open("w"):
        time.sleep(0.4)
    return pl.DataFrame({"number": [number]})


def kill_when_working(pids: list[int], folder: Path) -> threading.Thread:
    """Kill one of the workers while it is at work."""

    def watch() -> None:
        while True:
            at_work = {int(path.name.split("-")[1]) for path in folder.iterdir()}
            for pid in pids:
                if pid in at_work:
                    os.kill(pid, signal.SIGKILL)
                    return
            time.sleep(0.02)

    thread = threading.Thread(target=watch, daemon=True)
    thread.start()
    return thread


@pytest.mark.slow
def test_a_killed_dask_worker_costs_only_its_chunk(tmp_path: Path, cluster: Cluster) -> None:
    chunks = [Chunk(str(number), partial(slow_rows, number, tmp_path)) for number in range(8)]
    watch = kill_when_working([cluster.workers[0].pid], tmp_path)
    with make_engine("dask", scheduler=cluster.address) as engine:
        found = {chunk.name: done.rows["number"][0] for chunk, done in engine.run(chunks)}
    watch.join(timeout=5)
    assert cluster.workers[0].poll() == -signal.SIGKILL
    assert found == {str(number): number for number in range(8)}
    assert len(list(tmp_path.iterdir())) > 8  # the chunk of the killed worker was begun twice


@pytest.mark.slow
def test_a_run_with_a_killed_dask_worker_writes_the_same_bytes(tmp_path: Path, alone: bytes, cluster: Cluster) -> None:
    begun = threading.Event()

    def kill() -> None:
        begun.wait()
        chunks = tmp_path / "dask/fig2a/chunks"
        while not (chunks.exists() and any(chunks.iterdir())):
            time.sleep(0.01)
        cluster.workers[1].kill()

    thread = threading.Thread(target=kill, daemon=True)
    thread.start()
    begun.set()
    assert summary_bytes(tmp_path / "dask", engine="dask", scheduler=cluster.address) == alone
    thread.join(timeout=10)


def die_once(number: int, folder: Path) -> pl.DataFrame:
    """The first worker to take number 3 is killed."""
    mark = folder / "died"
    if number == 3 and not mark.exists():
        mark.touch()
        os.kill(os.getpid(), signal.SIGKILL)
    return pl.DataFrame({"number": [number]})


def die(_number: int) -> pl.DataFrame:
    os.kill(os.getpid(), signal.SIGKILL)
    raise AssertionError


@pytest.mark.slow
def test_a_killed_local_worker_costs_only_its_chunk(tmp_path: Path) -> None:
    chunks = [Chunk(str(number), partial(die_once, number, tmp_path)) for number in range(6)]
    with make_engine("local", jobs=2) as engine:
        found = sorted(done.rows["number"][0] for _, done in engine.run(chunks))
    assert found == list(range(6))


@pytest.mark.slow
def test_workers_that_die_again_and_again_end_the_run() -> None:
    with make_engine("local", jobs=2) as engine, pytest.raises(EngineError, match="workers died 3 times"):
        list(engine.run([Chunk("0", partial(die, 0))]))


def fail(_number: int) -> pl.DataFrame:
    raise ValueError("a mistake in a policy")


def test_a_mistake_in_a_chunk_is_not_tried_again() -> None:
    with make_engine("local", jobs=2) as engine, pytest.raises(ValueError, match="a mistake in a policy"):
        list(engine.run([Chunk("0", partial(fail, 0)), Chunk("1", partial(fail, 1))]))


def test_a_scheduler_that_does_not_answer(tmp_path: Path) -> None:
    start = time.monotonic()
    address = f"tcp://127.0.0.1:{free_port()}"
    with pytest.raises(EngineError, match=r"no Dask scheduler with workers answers at .* start one with 'dask sched"):
        summary_bytes(tmp_path / "new", engine="dask", scheduler=address)
    assert time.monotonic() - start < 30
    with pytest.raises(EngineError, match="no Dask scheduler"):
        summary_bytes(tmp_path / "new", engine="dask", scheduler="nonsense")


def test_a_worker_of_another_release_is_refused() -> None:
    chunk = SMALL_2A.chunks(Scale(10, 1), 0)[0]
    with pytest.raises(EngineError, match=r"a worker has causal-bandits .*, not 9\.9\.9; install the same release"):
        work_on(chunk, "9.9.9")


def listening(pids: set[int]) -> list[str]:
    """The addresses at which these processes listen, over TCP or as a socket in the file system, by /proc."""
    sockets = set()
    for pid in pids:
        for entry in Path(f"/proc/{pid}/fd").iterdir():
            with contextlib.suppress(OSError):
                sockets.add(str(entry.readlink()).removeprefix("socket:[").removesuffix("]"))
    found = []
    for table in ("tcp", "tcp6"):
        rows = [line.split() for line in Path(f"/proc/net/{table}").read_text().splitlines()[1:]]
        found += [row[1] for row in rows if row[3] == "0A" and row[9] in sockets]
    rows = [line.split() for line in Path("/proc/net/unix").read_text().splitlines()[1:]]
    return found + [" ".join(row) for row in rows if int(row[3], 16) & 0x10000 and row[6] in sockets]


@pytest.mark.slow
@needs_proc
def test_dask_on_this_machine_listens_nowhere(tmp_path: Path) -> None:
    """Scheduler, worker and client speak in memory and there is no dashboard: no stranger can send them work."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        assert len(listening({os.getpid()})) == 1, "what listens is seen"
        server.close()
        before, others = listening({os.getpid()}), children_of(os.getpid())
        with make_engine("dask", jobs=2) as engine:
            chunks = [Chunk(str(number), partial(slow_rows, number, tmp_path)) for number in range(4)]
            seen = [listening({os.getpid(), *children_of(os.getpid()) - others}) for _ in engine.run(chunks)]
        assert seen == [before] * 4
    assert len({path.name.split("-")[1] for path in tmp_path.iterdir()}) == 2, "two processes worked"


def children_of(pid: int) -> set[int]:
    found = [path.read_text() for path in Path(f"/proc/{pid}/task").glob("*/children")]
    return {int(child) for line in found for child in line.split()}


@pytest.mark.slow
def test_a_killed_worker_of_dask_here_costs_only_its_chunk(tmp_path: Path) -> None:
    chunks = [Chunk(str(number), partial(die_once, number, tmp_path)) for number in range(6)]
    with make_engine("dask", jobs=2) as engine:
        found = sorted(done.rows["number"][0] for _, done in engine.run(chunks))
    assert found == list(range(6))


@pytest.mark.slow
def test_a_mistake_in_a_chunk_of_dask_here_is_raised() -> None:
    with make_engine("dask", jobs=2) as engine, pytest.raises(ValueError, match="a mistake in a policy"):
        list(engine.run([Chunk("0", partial(fail, 0))]))

"""Studies: durable ask and tell against Optuna and against bare inserts; growth, loading, size."""

import sqlite3
import statistics
import tempfile
import time
import tracemalloc
from collections.abc import Callable
from functools import cache
from pathlib import Path

import numpy as np
import sqlalchemy as sa

from causal_bandits import Problem, Study
from causal_bandits.product.studies.deciding import choose
from causal_bandits.product.studies.session import Draft

from .timing import interleaved

PROBLEM = Problem("y", {"a": 2, "b": 3, "c": 2}, {"i": 3, "j": 3, "k": 3})
ROUNDS = 200


def _answer(rng: np.random.Generator) -> dict[str, int]:
    return {"a": int(rng.integers(2)), "b": int(rng.integers(3)), "c": int(rng.integers(2)), "y": int(rng.integers(2))}


@cache
def _folder() -> tempfile.TemporaryDirectory[str]:
    """Removed when the process ends."""
    return tempfile.TemporaryDirectory(prefix="cb-bench-")


def _fresh(name: str) -> str:
    return f"sqlite:///{_folder().name}/{name}-{time.monotonic_ns()}.db"


def study_run() -> Callable[[], int]:
    """Ask and tell, each in a durable transaction; 27 arms, 8 sets tested."""
    study = Study.create("s", PROBLEM, storage=_fresh("ours"), seed=1)
    rng = np.random.default_rng(2)

    def work() -> int:
        for _ in range(ROUNDS):
            study.tell(study.ask().id, _answer(rng))
        return ROUNDS

    return work


def bare_run() -> Callable[[], int]:
    """The same two rows in the same two durable transactions, and nothing else."""
    engine = sa.create_engine(_fresh("bare"))

    @sa.event.listens_for(engine, "connect")
    def prepare(connection: sqlite3.Connection, _record: object) -> None:
        connection.execute("PRAGMA journal_mode=WAL")
        connection.execute("PRAGMA synchronous=FULL")

    metadata = sa.MetaData()
    columns = [sa.Column(name, sa.Text) for name in ("kind", "body")]
    table = sa.Table("events", metadata, sa.Column("seq", sa.Integer, primary_key=True), *columns)
    metadata.create_all(engine)

    def work() -> int:
        for _ in range(ROUNDS):
            for kind in ("asked", "told"):
                with engine.begin() as connection:
                    connection.execute(table.insert(), {"kind": kind, "body": "x" * 60})
        return ROUNDS

    return work


def optuna_run() -> Callable[[], int]:
    """Optuna's ask and tell with a random sampler on its SQLite storage."""
    import optuna

    optuna.logging.set_verbosity(optuna.logging.ERROR)
    study = optuna.create_study(storage=_fresh("optuna"), sampler=optuna.samplers.RandomSampler(seed=1))

    def work() -> int:
        for _ in range(ROUNDS // 10):
            trial = study.ask()
            for name in "ijk":
                trial.suggest_categorical(name, [0, 1, 2])
            study.tell(trial, 1.0)
        return ROUNDS // 10

    return work


def grow(study: Study, rounds: int) -> None:
    """As many single asks and tells, a thousand to a transaction: the same events, sooner."""
    rng = np.random.default_rng(3)

    def work(draft: Draft) -> None:
        for _ in range(1000):
            first = len(draft.state.decisions) + 1
            draft.add("asked", {"first": first, "arms": choose(draft.state, 1, None)})
            draft.add("told", {"id": first, "seen": _answer(rng)})

    for _ in range(rounds // 1000):
        study._session.write(work)


def _ask_seconds(study: Study) -> float:
    seconds = []
    for _ in range(300):
        start = time.perf_counter()
        decision = study.ask()
        seconds.append(time.perf_counter() - start)
        study.tell(decision.id, {"a": 0, "b": 0, "c": 0, "y": 1})
    return statistics.median(seconds)


def large_study() -> dict[str, float]:
    """1e5 decisions: asking, loading, size in the file and in memory."""
    storage = _fresh("large")
    study = Study.create("s", PROBLEM, storage=storage, seed=1)
    for _ in range(100):
        study.tell(study.ask().id, _answer(np.random.default_rng(0)))
    early = _ask_seconds(study)
    grow(study, 100_000)
    late = _ask_seconds(study)
    study.close()
    with sqlite3.connect(storage.removeprefix("sqlite:///")) as connection:
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    size = Path(storage.removeprefix("sqlite:///")).stat().st_size
    seconds = []
    for _ in range(3):
        start = time.perf_counter()
        loaded = Study.load("s", storage=storage)
        loaded.recommend()
        seconds.append(time.perf_counter() - start)
    tracemalloc.start()
    loaded = Study.load("s", storage=storage)
    loaded.recommend()
    kept = tracemalloc.get_traced_memory()[0]
    tracemalloc.stop()
    decisions = len(loaded.to_frame())
    return {
        "study_ask_growth_1e2_1e5_ratio": early / late,
        "study_ask_late_ms": late * 1e3,
        "study_load_1e5_s": statistics.median(seconds),
        "study_file_bytes_per_decision": size / decisions,
        "study_memory_bytes_per_decision": kept / decisions,
    }


def studies() -> dict[str, float]:
    """All numbers."""
    seconds = interleaved({"ours": study_run, "bare": bare_run, "optuna": optuna_run}, turns=5)
    return {
        "study_ask_tell_ms": seconds["ours"] * 1e3,
        "study_vs_optuna_ratio": seconds["optuna"] / seconds["ours"],
        "study_vs_bare_sqlalchemy_ratio": seconds["bare"] / seconds["ours"],
        **large_study(),
    }

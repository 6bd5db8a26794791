"""Idle studies in high-throughput mode: queries per second and connections, of all processes together.

`python -m benchmarks.idle_studies` opens 50 studies in each of 4 processes, asks once in each, waits until all rows are
counted, and then reads PostgreSQL's own counters (pg_stat_database, pg_stat_activity) for half a minute.
"""

import json
import time
from typing import Any

import psycopg

from causal_bandits import Study

from .high_throughput import SHOP
from .reliability import forkserver

STUDIES, WORKERS, SECONDS = 50, 4, 30.0


def _work(storage: str, studies: int, ready: Any, end: Any) -> None:
    opened = [Study.load(f"study {number}", storage=storage) for number in range(studies)]
    for study in opened:
        study.ask()
    ready.release()
    end.wait()
    for study in opened:
        study.close()


def idle(storage: str, *, studies: int = STUDIES, workers: int = WORKERS, seconds: float = SECONDS) -> dict[str, float]:
    """Transactions per second and connections while nothing is asked; each query is a transaction."""
    for number in range(studies):
        options: dict[str, Any] = {"policy": "ts", "seed": number, "mode": "high-throughput"}
        Study.create(f"study {number}", SHOP, storage=storage, **options).close()
    context = forkserver()
    ready, end = context.Semaphore(0), context.Event()
    running = [context.Process(target=_work, args=(storage, studies, ready, end)) for _ in range(workers)]
    for process in running:
        process.start()
    for _ in running:
        ready.acquire()
    with psycopg.connect(storage, autocommit=True) as connection:

        def one(query: str) -> int:
            found = connection.execute(query.encode()).fetchone()
            assert found is not None
            return int(found[0])

        while one("SELECT count(*) FROM cb_log_ends WHERE counted < position"):
            time.sleep(0.5)
        time.sleep(15.0)  # statistics of idle connections come late
        count = "SELECT xact_commit + xact_rollback FROM pg_stat_database WHERE datname = current_database()"
        before, start = one(count), time.monotonic()
        time.sleep(seconds)
        queries, took = one(count) - before, time.monotonic() - start
        connections = one(
            "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()"
        )
    end.set()
    for process in running:
        process.join()
    return {
        "idle_studies_queries_per_s": queries / took,
        "idle_studies_connections": float(connections),
        "idle_studies": float(studies),
        "idle_studies_workers": float(workers),
    }


if __name__ == "__main__":
    from tests.studies.postgres import Server

    with Server() as server:
        print(json.dumps(idle(server.new_database()), indent=1))

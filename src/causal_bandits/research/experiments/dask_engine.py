"""Dask: a cluster that runs somewhere, or one inside this process that hands its tasks to local worker processes.

The one in this process opens no port: scheduler, worker and client communicate in memory, and there is no dashboard. So
no other user of the machine can send it work.
"""

import contextlib
import logging
from concurrent.futures import Executor
from typing import Any

from distributed import Client, Scheduler, SpecCluster, Worker

from ...core.processes import open_pool, stop_pool, unnoticed_by_children
from ...errors import EngineError

connect: Any = Client  # neither has types
open_cluster: Any = SpecCluster
HERE = "inproc://"
RETRIES = 3
"""How often a task may lose its worker."""


class _ClosedScheduler(Scheduler):
    """Without the HTTP server that a scheduler starts even when no dashboard is wanted."""

    def start_http_server(self, *_: Any, **__: Any) -> None:
        """Open no port."""


class _ClosedWorker(Worker):
    """Without the HTTP server of a worker."""

    def start_http_server(self, *_: Any, **__: Any) -> None:
        """Open no port."""


def cluster_here(stack: contextlib.ExitStack, jobs: int) -> Executor:
    """Dask in this process with `jobs` worker processes; closing the stack ends them first."""
    pool = open_pool(jobs)
    options = {"protocol": HERE, "dashboard": False, "dashboard_address": None}
    scheduler = {"cls": _ClosedScheduler, "options": options}
    worker = {
        "cls": _ClosedWorker,
        "options": {"protocol": HERE, "nthreads": jobs, "executor": pool, "memory_limit": 0},
    }
    with unnoticed_by_children():  # it is the cluster's thread that starts the workers
        cluster = open_cluster(scheduler=scheduler, workers={0: worker}, silence_logs=logging.CRITICAL)
    stack.callback(cluster.close, timeout=2)
    client = connect(cluster, timeout=10, set_as_default=False)
    stack.callback(client.close, timeout=2)
    stack.callback(stop_pool, pool)
    client.wait_for_workers(1, timeout=10)
    return _executor(stack, client)


def cluster_at(stack: contextlib.ExitStack, scheduler: str) -> Executor:
    """A Dask cluster by the address of its scheduler."""
    try:
        client = stack.enter_context(connect(scheduler, timeout=5, set_as_default=False))
        client.wait_for_workers(1, timeout=10)
    except (OSError, ValueError, TimeoutError) as error:
        stack.close()
        raise EngineError(
            f"no Dask scheduler with workers answers at {scheduler!r} ({type(error).__name__}); start one with "
            "'dask scheduler' and, for each core, 'dask worker ADDRESS --nthreads 1', or leave out --scheduler"
        ) from None
    return _executor(stack, client)


def _executor(stack: contextlib.ExitStack, client: Any) -> Executor:
    executor: Executor = client.get_executor(pure=False, retries=RETRIES)
    stack.callback(executor.shutdown, wait=False)  # what is not done is canceled
    return executor

"""Several processes behind one socket: each answers by itself, and one that ends unasked is replaced."""

import multiprocessing
import signal
import socket
import threading
from collections.abc import Callable
from multiprocessing.process import BaseProcess

from ..errors import EngineError
from ..processes import STOPPING, begin_worker

LOOK_SECONDS = 0.2
FEWEST_SECONDS = 5.0
"""A worker that ends sooner than this after its start is a failure, and several in a row are an error."""
MOST_FAILURES = 5

Work = Callable[[socket.socket], None]


def run_workers(count: int, work: Work, listening: socket.socket) -> None:
    """Run `work` in so many processes until a signal says to stop; then every one finishes what it began."""
    stop = threading.Event()
    for number in STOPPING:
        signal.signal(number, lambda _number, _frame: stop.set())
    context = multiprocessing.get_context("spawn")

    def started() -> BaseProcess:
        made = context.Process(target=_run, args=(work, listening))
        made.start()
        return made

    workers = [started() for _ in range(count)]
    failures = 0.0
    try:
        while not stop.wait(LOOK_SECONDS):
            ended = [place for place, worker in enumerate(workers) if not worker.is_alive()]
            failures = failures + len(ended) if ended else max(failures - LOOK_SECONDS / FEWEST_SECONDS, 0.0)
            if failures > MOST_FAILURES * count:
                raise EngineError("workers of the server end as soon as they start; their messages are above")
            for place in ended:
                workers[place] = started()
    finally:
        for worker in workers:
            worker.terminate()
        for worker in workers:
            worker.join()


def _run(work: Work, listening: socket.socket) -> None:
    begin_worker()
    work(listening)

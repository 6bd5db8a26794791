"""Work that never ends, to be stopped."""

import os
import sys
import time
from functools import partial
from pathlib import Path

import polars as pl

from causal_bandits.research.experiments.base import Chunk
from causal_bandits.research.experiments.engines import make_engine
from tests.marked import others_here


def asleep(number: int, folder: Path) -> pl.DataFrame:
    """A chunk that takes longer than anybody waits."""
    (folder / str(number)).touch()
    time.sleep(600)
    return pl.DataFrame({"number": [number]})


def wait_in(engine: str, folder: Path) -> None:
    """Run chunks that never end; at Ctrl-C say how many processes there are besides this one."""
    chunks = [Chunk(str(number), partial(asleep, number, folder)) for number in range(4)]
    try:
        with make_engine(engine, jobs=2) as workers:
            list(workers.run(chunks))
    except KeyboardInterrupt:
        trackers = [pid for pid in others_here() if b"resource_tracker" in Path(f"/proc/{pid}/cmdline").read_bytes()]
        sys.stdout.write(f"interrupted with {len(others_here()) - len(trackers)} left\n")


class Sleepy:
    """A policy that never answers."""

    def __init__(self, problem: object, seed: object, folder: str) -> None:
        (Path(folder) / str(os.getpid())).touch()

    def ask(self) -> None:
        time.sleep(600)

    def tell(self, arm: object, observation: object) -> None:
        """Never reached."""

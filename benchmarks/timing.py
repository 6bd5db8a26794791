"""Timing contestants fairly: warmed up, in turns, the median of several turns."""

import statistics
import time
from collections.abc import Callable, Mapping

Contestant = Callable[[], Callable[[], int]]
"""Prepares, untimed, and gives the work to time; the work tells how many rounds it did."""


def interleaved(contestants: Mapping[str, Contestant], *, turns: int = 7) -> dict[str, float]:
    """Median seconds per round of each. All are run once before the clock starts, then take turns."""
    for prepare in contestants.values():
        prepare()()
    seconds: dict[str, list[float]] = {name: [] for name in contestants}
    for _ in range(turns):
        for name, prepare in contestants.items():
            work = prepare()
            start = time.perf_counter()
            rounds = work()
            seconds[name].append((time.perf_counter() - start) / rounds)
    return {name: statistics.median(taken) for name, taken in seconds.items()}

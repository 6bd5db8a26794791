"""Running an experiment over processes and keeping its chunks: what two cores bring, and what storing costs."""

import tempfile
import time
from dataclasses import replace
from pathlib import Path

from causal_bandits.research.experiments import Scale
from causal_bandits.research.experiments.de_kroon import ASD_JCI, CLASSES, FIG2A
from causal_bandits.research.experiments.engines import Engine, make_engine
from causal_bandits.research.experiments.store import run_experiment

EXPERIMENT = replace(
    FIG2A,
    methods=tuple(method for method in FIG2A.methods if method is not ASD_JCI),
    panels=(replace(CLASSES, worlds=12),),
)
SIZE = Scale(5000, 10)


def _seconds(engine: Engine) -> tuple[float, float]:
    """Wall-clock time of a run with its chunks stored, and the work on the chunks alone."""
    with tempfile.TemporaryDirectory() as folder:
        start = time.perf_counter()
        result = run_experiment(EXPERIMENT, SIZE, 0, Path(folder), engine)
        return time.perf_counter() - start, result.seconds


def spreading() -> dict[str, float]:
    """The same chunks in this process and in two; workers are started and warm before the clock is."""
    warm = EXPERIMENT.chunks(Scale(50, 1), 1)[:8]
    with make_engine(jobs=1) as one, make_engine(jobs=2) as two:
        for engine in (one, two):
            list(engine.run(warm))
        turns = [(_seconds(one), _seconds(two)[0]) for _ in range(2)]
    alone, work = min(first for first, _ in turns)
    together = min(second for _, second in turns)
    return {"two_processes_vs_one_ratio": alone / together, "storing_overhead_percent": 100 * (alone - work) / work}

"""ASD-JCI123kt over 4 system and 3 context variables: enumeration against our own answer set program."""

import time
from collections.abc import Callable

import numpy as np

import causal_bandits as cb
from causal_bandits.core.discovery.asd.asp import Asp
from causal_bandits.core.discovery.asd.enumeration import Enumeration
from causal_bandits.core.discovery.asd.graph_space import Background, Query, Space
from causal_bandits.core.discovery.asd.separation import separation_table

from .timing import interleaved
from .worlds import world

SPACE = Space(4, (1, 2, 4))
FEATURES = [Query("separated", 3, 4, given) for given in range(8)]
"""The 8 features of the paper: the first lever separated from Y given each S (so are the others)."""


def _told() -> cb.CausalThompsonSampling:
    policy = cb.CausalThompsonSampling(world().problem, discovery=cb.ASD(), seed=3)
    cb.simulation.play(policy, world(), 1000, np.random.default_rng(4))
    return policy


def _repeated(work: Callable[[], object], times: int) -> Callable[[], Callable[[], int]]:
    def run() -> int:
        for _ in range(times):
            work()
        return times

    return lambda: run


def discovering() -> dict[str, float]:
    """The same features by both engines in turns, a whole discovery from counts, and the table."""
    policy = _told()
    weights = cb.ASD().weights(policy.layout, policy.ready().tables)
    listed = Enumeration(separation_table(SPACE), Background(), SPACE.targets)
    searched = Asp(SPACE, Background())
    tables = policy.ready().tables
    seconds = interleaved(
        {
            "enumeration": _repeated(lambda: listed.answer(weights, FEATURES, best=0), 100),
            "asp": _repeated(lambda: searched.answer(weights, FEATURES), 1),
            "discovery": _repeated(lambda: cb.ASD().discover(policy.layout, tables, 1000), 50),
        },
        turns=5,
    )
    start = time.perf_counter()
    table = separation_table.__wrapped__(SPACE)  # not the one in memory
    built = time.perf_counter() - start
    arrays = (*table.graphs, *table.statements, table.rows, table.columns, table.truth)
    return {
        "asd_features_ms": 1e3 * seconds["enumeration"],
        "asd_vs_asp_ratio": seconds["asp"] / seconds["enumeration"],
        "asd_asp_features_ms": 1e3 * seconds["asp"],
        "asd_discovery_ms": 1e3 * seconds["discovery"],
        "asd_table_s": built,
        "asd_table_mb": sum(array.nbytes for array in arrays) / 1e6,
    }

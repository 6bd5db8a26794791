"""Worlds in which a plan can be followed by hand, and what is played in them."""

import numpy as np

from causal_bandits import DiscreteSCM, MixedGraph
from causal_bandits.research.comparators import CountingPolicy
from causal_bandits.research.simulation import play
from causal_bandits.research.worlds import Mechanism, perfect
from tests.reference import comparators as slow


def rounds(policy: CountingPolicy, world: DiscreteSCM, count: int, seed: int = 1) -> list[int]:
    return [int(arm) for arm in play(policy, world, count, np.random.default_rng(seed)).arms]


def rows_of(policy: CountingPolicy) -> list[slow.Row]:
    rows = policy.history.rows
    return [(int(a), tuple(c), int(r)) for a, c, r in zip(rows.arms, rows.codes.tolist(), rows.rewards, strict=True)]


DETERMINED = MixedGraph(["A", "B", "C", "Y"], directed=[("A", "B"), ("B", "C"), ("B", "Y"), ("A", "Y")])


def copies(graph: MixedGraph, *, singles: bool = False) -> DiscreteSCM:
    """Every variable follows the sum of its parents, nearly always; roots are fair coins.

    With `singles` the arms are do() and do(X = x).
    """

    def chances(*values: int) -> list[float]:
        one = 0.05 + 0.9 * sum(values) / len(values)
        return [1 - one, one]

    mechanisms = {}
    for name in graph.nodes:
        parents = graph.parents(name)
        mechanisms[name] = Mechanism(parents, chances if parents else [0.5, 0.5])
    levers = {f"I_{name}": perfect(name) for name in graph.nodes if name != "Y"}
    arms = [{}, *({lever: level} for lever in levers for level in (0, 1))] if singles else None
    return DiscreteSCM(dict.fromkeys(graph.nodes, 2), mechanisms, levers, arms=arms)

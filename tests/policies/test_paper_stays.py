"""The paper's preset plays what it always played: arms recorded before anything beyond the paper was made fast."""

import hashlib

import numpy as np
import pytest

from causal_bandits import CausalThompsonSampling, MixedGraph
from causal_bandits.simulation import play
from causal_bandits.worlds import paper_world

CHAIN = MixedGraph(["A", "B", "Y"], [("A", "B"), ("B", "Y")])
FOUR = MixedGraph(["A", "B", "C", "Y"], [("A", "B"), ("B", "C"), ("C", "Y"), ("A", "Y")])
FIVE = MixedGraph(["A", "B", "C", "D", "Y"], [("A", "B"), ("B", "C"), ("C", "Y"), ("A", "D"), ("D", "Y")])


@pytest.mark.parametrize(
    ("graph", "world_seed", "seed", "digest"),
    [
        (CHAIN, 1, 0, "2fb8180df904cea3"),
        (CHAIN, 1, 1, "6a53b3a171059803"),
        (FOUR, 2, 0, "feb2852f08eb911e"),
        (FOUR, 2, 1, "53ddf7e604fc00b7"),
        (FIVE, 3, 0, "43511199be9e0e6f"),
        (FIVE, 3, 1, "57af2bc06b8cec31"),
    ],
)
def test_the_arms_are_identical(graph: MixedGraph, world_seed: int, seed: int, digest: str) -> None:
    """3000 rounds with the defaults, to the last arm; one other choice changes all that follow."""
    world = paper_world(graph, seed=world_seed)
    run = play(CausalThompsonSampling(world.problem, seed=seed), world, 3000, np.random.default_rng(seed + 10))
    assert hashlib.sha256(run.arms.tobytes()).hexdigest()[:16] == digest

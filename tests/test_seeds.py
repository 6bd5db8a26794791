"""What a seed may be, and that all who take one say so."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from causal_bandits import MixedGraph, StructurelessWorld, ThompsonSampling, simulate
from causal_bandits.core.seeds import generator
from causal_bandits.errors import OptionError
from causal_bandits.research.simulation import play
from causal_bandits.research.worlds import example_world, paper_world

WORLD = example_world()
PAIR = MixedGraph(["A", "Y"], directed=[("A", "Y")])
TAKERS: list[Callable[[Any], Any]] = [
    generator,
    lambda seed: ThompsonSampling(WORLD.problem, seed=seed),
    lambda seed: paper_world(PAIR, seed=seed),
    lambda seed: StructurelessWorld(WORLD, seed=seed),
    lambda seed: simulate(ThompsonSampling, WORLD, 3, seed=seed),
]


@pytest.mark.parametrize("seed", ["a", -1, 1.5, float("nan"), True])
@pytest.mark.parametrize("taker", TAKERS)
def test_bad_seeds(taker: Callable[[Any], Any], seed: Any) -> None:
    with pytest.raises(OptionError, match="seed="):
        taker(seed)


def test_good_seeds() -> None:
    assert generator(3).random() == generator(np.random.SeedSequence(3)).random()
    mine = np.random.default_rng(1)
    assert generator(mine) is mine
    assert isinstance(generator(None), np.random.Generator)


@pytest.mark.parametrize("rng", [None, 3, "a"])
def test_a_world_needs_a_generator(rng: Any) -> None:
    with pytest.raises(OptionError, match=r"rng=.*; expected a numpy Generator"):
        WORLD.pull({}, rng)
    with pytest.raises(OptionError, match=r"rng=.*; expected a numpy Generator"):
        play(ThompsonSampling(WORLD.problem), WORLD, 3, rng)

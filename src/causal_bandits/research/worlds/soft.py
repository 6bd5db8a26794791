"""Soft levers in a small random world: every table at random, and two levers that change tables."""

import numpy as np

from ...core.problem import Level
from ...core.seeds import Seed, generator
from .discrete_scm import DiscreteSCM
from .mechanisms import Effect, Mechanism


def soft_world(*, seed: Seed = None) -> DiscreteSCM:
    """A -> B, A -> C, {A, B, C} -> Y, all binary; two levers of three levels give A and B other tables: 9 arms.

    All probabilities are uniform(0, 1). {A, B, C} separates; P(S | arm) must be learned, since no lever sets anything.

    Args:
        seed: Seed or Generator of the probabilities.

    >>> soft_world(seed=0).problem.arms[4]
    do(A=1, B=1)
    """
    rng = generator(seed)
    parents: dict[str, list[str]] = {"A": [], "B": ["A"], "C": ["A"], "Y": ["A", "B", "C"]}
    mechanisms = {name: _random(of, rng) for name, of in parents.items()}
    levers: dict[str, dict[Level, Effect]] = {
        f"I_{name}": {0: {}, 1: {name: _random(parents[name], rng)}, 2: {name: _random(parents[name], rng)}}
        for name in ("A", "B")
    }
    return DiscreteSCM(dict.fromkeys(parents, 2), mechanisms, levers)


def _random(parents: list[str], rng: np.random.Generator) -> Mechanism:
    ones = rng.random((2,) * len(parents))
    return Mechanism(parents, np.stack([1 - ones, ones], axis=-1))

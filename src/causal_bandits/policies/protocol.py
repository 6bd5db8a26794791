"""The protocol of a rule: a state, and what is done with it. Asking, telling and rollouts need nothing else.

A state is a NamedTuple that holds arrays; `choose` and `learn` are compiled functions of it, registered by its type.
"""

from typing import Any

import numpy as np

from ..compiled import Floats, Ints
from ..dispatch import Operation, entry


@Operation
def choose(state: Any, rng: np.random.Generator) -> int:
    """The next arm."""
    raise NotImplementedError


@Operation
def learn(state: Any, arm: int, seen: Any, reward: float) -> None:
    """Count one row: what was seen of the observed variables, and the reward."""
    raise NotImplementedError


@Operation
def indices(state: Any, rng: np.random.Generator) -> Floats:
    """What `choose` compares, from the same random numbers; NaN for arms that it does not compare."""
    raise NotImplementedError


@Operation
def look(state: Any, rng: np.random.Generator) -> Any:
    """What many draws from the same posterior have in common, worked out once."""
    raise NotImplementedError


@Operation
def winner(state: Any, seen: Any, rng: np.random.Generator) -> int:
    """The best arm in one draw from the posterior; `seen` is what `look` gave."""
    raise NotImplementedError


@entry
def choose_many(state: Any, rng: np.random.Generator, count: int) -> Ints:
    """Several arms from the same state, as for a batch of users that arrive together."""
    arms = np.empty(count, dtype=np.int64)
    for place in range(count):
        arms[place] = choose(state, rng)
    return arms


@entry
def learn_many(state: Any, arms: Ints, seen: Any, rewards: Any) -> None:
    """Count many rows, one after the other."""
    for row in range(len(arms)):
        learn(state, arms[row], seen[row], rewards[row])


@entry
def compared(state: Any, rng: np.random.Generator) -> Floats:
    """`indices`, for Python."""
    return indices(state, rng)


@entry
def count_wins(state: Any, rng: np.random.Generator, draws: int, arms: int) -> Ints:
    """How often each arm is the best in draws from the posterior."""
    seen = look(state, rng)
    wins = np.zeros(arms, dtype=np.int64)
    for _ in range(draws):
        wins[winner(state, seen, rng)] += 1
    return wins

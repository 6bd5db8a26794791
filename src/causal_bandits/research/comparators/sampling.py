"""Arms drawn with fixed probabilities, as an allocation over arms says."""

from typing import Any, NamedTuple

import numpy as np

from ...core.compiled import Floats, by_reference, compiled
from ...core.policies.protocol import choose, indices
from .counts import Counts, any_of, counted


@compiled
def sample(weights: Floats, rng: np.random.Generator) -> int:
    """An arm with these probabilities."""
    chance = rng.random() * weights.sum()
    for arm in range(len(weights)):
        chance -= weights[arm]
        if chance < 0 and weights[arm] > 0:
            return arm
    return int(np.argmax(weights))


@counted
@by_reference
class SamplingState(NamedTuple):
    """Counts, and the probability of each arm."""

    counts: Counts
    weights: Floats


@choose.of(SamplingState)
@compiled
def choose_by_weights(state: Any, rng: np.random.Generator) -> int:
    """Planned pulls first, then a draw by the weights."""
    return any_of(state.counts.quota, rng) if state.counts.planned[0] > 0 else sample(state.weights, rng)


@indices.of(SamplingState)
@compiled
def nothing_compared(state: Any, rng: np.random.Generator) -> Floats:
    """Arms are drawn, not compared."""
    return np.full(len(state.counts.allowed), np.nan)

"""The probability of each arm at a decision, from the state as it stood then."""

import numpy as np

from ..compiled import Floats
from .session import Session

DRAWS = 2000
STREAM = 1
"""Random numbers for looking back are others than those of the decisions."""


def propensities(session: Session, number: int, draws: int = DRAWS) -> Floats:
    """For each arm of the problem then: how often the policy chooses it, over many draws with fixed random numbers.

    A draw is the policy's own choice, so that whatever rule it has, this is its probability up to the error of the
    draws: sqrt(p (1 - p) / draws).
    """
    with session.reading() as state:
        seq = int(state.decisions.column("seq")[number - 1])
    then = session.at(seq)
    among = then.mask(session.event(seq).body.get("among"))
    rng = np.random.default_rng(np.random.SeedSequence(then.settings.seed, spawn_key=(number, STREAM)))
    return then.policy.frequencies(draws, rng, among=among)

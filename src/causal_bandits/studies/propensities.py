"""The probability of each arm at a decision, from the state as it stood then."""

import numpy as np

from ..compiled import Floats
from ..seeds import stream
from .state import StudyState

DRAWS = 2000
STREAM = 1
"""Random numbers for looking back are others than those of the decisions."""


def propensities(then: StudyState, number: int, among: list[int] | None, batch: int = 1, draws: int = DRAWS) -> Floats:
    """For each arm, the probability with which the policy chooses it.

    `then` is the state just before the decision. Where the policy knows its probabilities (`exact_shares`) these are
    exact. Otherwise they are counted from many choices with fixed random numbers, up to an error of
    sqrt(p (1 - p) / draws). Shares that the study deals out itself, as that of the control, are exact.
    """
    rng = np.random.default_rng(stream(then.settings.seed, number, STREAM))
    return then.frequencies(draws, rng, among, batch)

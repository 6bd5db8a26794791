"""The probability of each arm at a decision, from the state as it stood then."""

import numpy as np

from ..compiled import Floats
from ..seeds import stream
from .state import StudyState

DRAWS = 2000
STREAM = 1
"""Random numbers for looking back are others than those of the decisions."""


def propensities(then: StudyState, number: int, among: list[int] | None, draws: int = DRAWS) -> Floats:
    """For each arm, how often the policy chooses it, over many draws with fixed random numbers.

    `then` is the state just before the decision. A draw is the policy's own choice, so that whatever rule it has, this
    is its probability up to the error of the draws: sqrt(p (1 - p) / draws). Shares that the study deals out itself, as
    that of the control, are exact.
    """
    rng = np.random.default_rng(stream(then.settings.seed, number, STREAM))
    return then.frequencies(draws, rng, among)

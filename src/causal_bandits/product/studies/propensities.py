"""The probability of each arm at a decision, from the state as it stood then."""

import numpy as np

from ...core.compiled import Floats
from ...core.seeds import stream
from .deciding import frequencies
from .state import StudyState

DRAWS = 2000
STREAM = 1
"""Random numbers for looking back are others than those of the decisions."""


def propensities(then: StudyState, number: int, among: list[int] | None, batch: int = 1, draws: int = DRAWS) -> Floats:
    """For each arm, the probability that the policy chooses it.

    `then` is the state just before the decision, which was one of a `batch`. The default policy knows its probabilities
    exactly. For others they are counted over many draws with fixed random numbers: a draw is the policy's own choice,
    so this is its probability up to the error of the draws, sqrt(p (1 - p) / draws). Shares that the study deals out
    itself, as that of the control, are exact.
    """
    rng = np.random.default_rng(stream(then.settings.seed, number, STREAM))
    return frequencies(then, draws, rng, among, batch)

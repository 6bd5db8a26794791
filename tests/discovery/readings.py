"""The readings of Bayes factors, and the probability that a set separates a lever."""

import math

from causal_bandits.core.discovery import SeparatingSet
from causal_bandits.core.discovery.bayes import Others

READINGS: list[Others] = ["both", "either", "marginal", "conditional"]


def probability(s: SeparatingSet, lever: str) -> float:
    """By the weaker of the two factors, at even prior odds."""
    nats = s.evidence.log_bayes_factor[lever]
    return 1 / (1 + math.exp(-min(nats, s.evidence.given_others.get(lever, nats))))

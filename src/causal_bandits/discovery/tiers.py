"""What a learner is told before it plays: comparisons are fair within a tier, and every table prints it."""

from enum import IntEnum

TARGETS = "intervention targets"
"""The hint of a policy that must know what every lever acts on."""


class Tier(IntEnum):
    """From the least told to the most; `label` is how tables print it.

    >>> Tier.PARENTS.label
    'parents and P(Pa | a) told'
    """

    REWARDS = 0
    OBSERVED = 1
    SEPARATING_SET = 2
    PARENTS = 3
    GRAPH = 4

    @property
    def label(self) -> str:
        """The tier in words."""
        return _LABELS[self]


_LABELS = {
    Tier.REWARDS: "rewards only",
    Tier.OBSERVED: "graph unknown, all variables observed",
    Tier.SEPARATING_SET: "a separating set told",
    Tier.PARENTS: "parents and P(Pa | a) told",
    Tier.GRAPH: "graph with latents told",
}

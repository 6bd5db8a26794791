"""What a policy is given before it plays. Compare policies within a tier; every table shows it."""

from enum import IntEnum

TARGETS = "intervention targets"
"""The hint of a policy that must know what every lever acts on."""


class Tier(IntEnum):
    """From the least knowledge to the most; tables print `label`.

    >>> Tier.PARENTS.label
    'parents and P(Pa | a) given'
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
    Tier.SEPARATING_SET: "a separating set given",
    Tier.PARENTS: "parents and P(Pa | a) given",
    Tier.GRAPH: "graph with latents given",
}

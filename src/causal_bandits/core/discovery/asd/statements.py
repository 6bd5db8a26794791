"""Independence statements: every pair and conditioning set, weighed by its p-value.

Nodes are numbered: observed variables, the reward, then the levers (contexts). A set is a bit mask.
"""

import itertools
from typing import NamedTuple

import numpy as np

from ...compiled import Floats, Ints
from ...independence import p_values
from ...independence.pairs import JointCounts, g_squared_of_pairs

CAP = 1000.0
"""Nats for a p-value of 0."""


class Statements(NamedTuple):
    """`first[i]` independent of `second[i]` given the mask `given[i]`; no statement joins two contexts."""

    first: Ints
    second: Ints
    given: Ints

    def find(self, first: int, second: int, given: int) -> int:
        """The position of a statement."""
        x, y = min(first, second), max(first, second)
        (at,) = np.flatnonzero((self.first == x) & (self.second == y) & (self.given == given))
        return int(at)


def all_statements(system: int, contexts: int) -> Statements:
    """Every statement over `system` nodes and `contexts` contexts.

    >>> all_statements(4, 3).first.shape  # (C(7, 2) - C(3, 2)) 2^5
    (576,)
    """
    nodes = system + contexts
    rows = []
    for x, y in itertools.combinations(range(nodes), 2):
        if x >= system:
            continue
        rest = [node for node in range(nodes) if node not in (x, y)]
        masks = (
            sum(1 << node for node in chosen) for size in range(nodes) for chosen in itertools.combinations(rest, size)
        )
        rows += [(x, y, mask) for mask in masks]
    table = np.array(rows, dtype=np.int64)
    return Statements(table[:, 0].copy(), table[:, 1].copy(), table[:, 2].copy())


def weigh(statements: Statements, joint: JointCounts, alpha: float) -> Floats:
    """lambda = log p - log alpha: positive is evidence for independence, negative against it, and 0 is no evidence."""
    statistic, dof = g_squared_of_pairs(joint, statements.first, statements.second, statements.given)
    p = p_values(statistic, dof)
    with np.errstate(divide="ignore"):
        log_p = np.maximum(np.log(p), -CAP)
    return np.where(dof > 0, log_p - np.log(alpha), 0.0)

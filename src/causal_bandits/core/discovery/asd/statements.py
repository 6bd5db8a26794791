"""Independence statements: every pair and conditioning set, weighed by its p-value.

Nodes are numbered: observed variables, the reward, then the levers (contexts). A set is a bit mask.
"""

import itertools
from typing import NamedTuple

import numpy as np

from ....errors import OptionError
from ...compiled import Floats, Ints, compiled
from ...data import CountTables, TableLayout
from ...independence import p_values
from ...independence.g_squared import g_squared_statistic

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


# G2 tests between any two variables given any others, from the joint counts of all of them


class JointCounts(NamedTuple):
    """The joint values that occurred, with how often: observed variables, reward, levers."""

    values: Ints
    """(joint values, variables)."""
    counts: Ints
    sizes: Ints
    """(variables,): levels of each."""

    @classmethod
    def of(cls, layout: TableLayout, tables: CountTables) -> "JointCounts":
        """From the table of all observed variables."""
        problem = layout.problem
        observed = len(problem.observed)
        if layout.max_size < observed:
            raise OptionError(
                f"joint counts need the table of all {observed} observed variables; max_size is {layout.max_size}"
            )
        table = tables.table(len(layout.members) - 1)
        arms, cells, rewards = np.nonzero(table)
        strides = tables.strides[-1]
        sizes = [variable.size for variable in problem.observed]
        seen = (cells[:, None] // np.maximum(strides, 1)) % np.array(sizes, dtype=np.int64)
        levers = [variable.size for variable in problem.interventions]
        values = np.concatenate([seen, rewards[:, None], problem.arm_codes[arms]], axis=1)
        counts = table[arms, cells, rewards].astype(np.int64)
        return cls(np.ascontiguousarray(values), counts, np.array([*sizes, 2, *levers], dtype=np.int64))


@compiled
def g_squared_of_pairs(joint: JointCounts, first: Ints, second: Ints, given: Ints) -> tuple[Floats, Ints]:
    """Statistic and degrees of freedom of `first[i]` against `second[i]` given the variables in the mask `given[i]`."""
    variables = len(joint.sizes)
    statistic = np.empty(len(first))
    dof = np.empty(len(first), dtype=np.int64)
    strides = np.empty(variables, dtype=np.int64)
    for test in range(len(first)):
        strata = 1
        for variable in range(variables):
            strides[variable] = 0
            if given[test] >> variable & 1:
                strides[variable] = strata
                strata *= joint.sizes[variable]
        x, y = first[test], second[test]
        table = np.zeros((strata, joint.sizes[x], joint.sizes[y]), dtype=np.int64)
        for row in range(len(joint.counts)):
            stratum = 0
            for variable in range(variables):
                stratum += joint.values[row, variable] * strides[variable]
            table[stratum, joint.values[row, x], joint.values[row, y]] += joint.counts[row]
        statistic[test], dof[test] = g_squared_statistic(table)
    return statistic, dof


def weigh(statements: Statements, joint: JointCounts, alpha: float) -> Floats:
    """lambda = log p - log alpha: positive is evidence for independence, negative against it, and 0 is no evidence."""
    statistic, dof = g_squared_of_pairs(joint, statements.first, statements.second, statements.given)
    p = p_values(statistic, dof)
    with np.errstate(divide="ignore"):
        log_p = np.maximum(np.log(p), -CAP)
    return np.where(dof > 0, log_p - np.log(alpha), 0.0)

"""G2 tests between any two variables given any others, from the joint counts of all of them."""

from typing import NamedTuple

import numpy as np

from ...errors import OptionError
from ..compiled import Floats, Ints, compiled
from ..data import CountTables, TableLayout
from .g_squared import g_squared_statistic


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

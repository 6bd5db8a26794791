"""The information sharing estimator (sec. 3.1 and 3.3).

`table` is N(I = arm, S = s, Y = y) of shape (arms, cells of S, 2). `groups` numbers each arm's setting of I_NS,
the intervention variables that S does not separate: arms with equal numbers may share rewards.
"""

from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

from ..compiled import Floats, Ints
from ..data import History, TableLayout
from ..validation import validated

Counts = NDArray[np.integer]


def sample_mean(table: Counts) -> Floats:
    """The mean reward of each arm from its own rows; NaN for an arm without rows."""
    rewards = table.sum(axis=1)
    with np.errstate(invalid="ignore"):
        means: Floats = rewards[:, 1] / rewards.sum(axis=1)
    return means


def pool(table: Counts, groups: Ints) -> Ints:
    """N(S = s, Y = y) summed over the arms of each group: (groups, cells, 2)."""
    pooled = np.zeros((int(groups.max()) + 1, *table.shape[1:]), dtype=np.int64)
    np.add.at(pooled, groups, table)
    return pooled


def sharing_estimate(table: Counts, groups: Ints) -> Floats:
    """Eq. 2 (one group) and eq. 6 (several): sum over s of mu(s) p(s | arm); NaN for an arm without rows."""
    pooled = pool(table, groups)
    own = table.sum(axis=2)
    with np.errstate(invalid="ignore"):
        share = own / own.sum(axis=1, keepdims=True)  # p(s | arm), from the arm's own rows
        reward = pooled[:, :, 1] / pooled.sum(axis=2)  # mu(s), from the rows of all arms in the group
    # If nobody saw s, mu(s) is undefined and p(s | arm) is 0: the product counts as 0 (appendix A).
    estimate: Floats = np.where(own > 0, share * reward[groups], 0.0).sum(axis=1)
    return np.where(own.sum(axis=1) > 0, estimate, np.nan)


@validated
def information_sharing(history: History, variables: Iterable[str], separated: Iterable[str] | None = None) -> Floats:
    """The mean reward of each arm through S, which separates all intervention variables or only the named ones.

    >>> from causal_bandits import Problem
    >>> problem = Problem("Y", {"A": 2}, {"I": 2})
    >>> history = History(problem)
    >>> rows = [(0, 0, 0), (0, 1, 1), (1, 1, 1), (1, 1, 0)]
    >>> _ = history.extend(history.encode_many([dict(I=i, A=a, Y=y) for i, a, y in rows]))
    >>> information_sharing(history, ["A"]).round(3).tolist()  # own means: 0.5, 0.5
    [0.333, 0.667]
    """
    problem = history.problem
    chosen = frozenset((variables,) if isinstance(variables, str) else variables)
    layout, tables = TableLayout.of(problem, len(chosen)), history.tables(len(chosen))
    names = problem.intervention_names
    shared = set(names) if separated is None else {problem.intervention(name).name for name in separated}
    groups = problem.arm_groups([name for name in names if name not in shared])
    return sharing_estimate(tables.table(layout.find(chosen)), groups)

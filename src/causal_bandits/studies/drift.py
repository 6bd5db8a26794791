"""Drift: do the sets in use still hold on recent rows?"""

from dataclasses import replace

import numpy as np

from ..compiled import Ints
from ..data import DesignLayout, Rows, SubsetLayout
from ..discovery import SeparatingSet, SeparatingSets
from ..independence.drift import Drift, drift_of_counts, drift_of_regression, drift_of_values
from ..problem import Problem
from .state import StudyState

MOST_SETS = 32
"""More accepted sets than this are not all watched: the first of them, and those that arms are judged through.

Where sets are averaged over by how probable they are, only those that count most for some arm are watched: a set that
does not separate changes when traffic moves between arms.
"""


def watched_sets(state: StudyState, *, rejected: bool = False) -> SeparatingSets:
    """The sets that were looked at, each in use with its drift."""
    sets = state.policy.separating_sets(rejected=rejected)
    used = {estimate.through for estimate in state.policy.estimates()}
    accepted = [found for found in sets if found.accepted]
    watched = {
        found.variables
        for place, found in enumerate(accepted)
        if found.variables in used or (place < MOST_SETS and found.evidence.probability is None)
    }
    rows = state.policy.history.rows
    return SeparatingSets(
        replace(found, drift=drift_of(state.policy.layout, rows, found)) if found.variables in watched else found
        for found in sets
    )


def drift_of(layout: SubsetLayout, rows: Rows, found: SeparatingSet) -> Drift:
    """Drift of P(Y | S) in each group of arms that shares through S, over the rows that have a value for S."""
    problem = layout.problem
    members = layout.members[layout.find(found.variables)]
    whole = np.all(rows.codes[:, list(members)] >= 0, axis=1)
    groups = _groups(problem, found)[rows.arms[whole]]
    # Any set could have been in use with any choice of levers that it separates: all of them are paid for.
    watched = len(layout.members) * (2 ** len(problem.interventions) - 1)
    if isinstance(layout, DesignLayout):
        columns = layout.columns[layout.find(found.variables)]
        design = np.ascontiguousarray(layout.design(rows)[whole][:, columns])
        drift = drift_of_regression(design, rows.rewards[whole].astype(np.float64), groups, watched=watched)
    else:
        streams = groups.copy()
        for place in members:
            streams = streams * problem.observed[place].size + rows.codes[whole, place]
        test = drift_of_counts if problem.reward.kind == "binary" else drift_of_values
        drift = test(streams, rows.rewards[whole], watched=watched)
    counted = np.flatnonzero(whole)
    return drift._replace(row=int(counted[drift.row - 1]) + 1) if drift.row else drift


def _groups(problem: Problem, found: SeparatingSet) -> Ints:
    return problem.arm_groups([name for name in problem.intervention_names if name not in found.separated])

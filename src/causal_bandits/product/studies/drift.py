"""Drift: does each arm stay as it is, and do the sets in use still hold?

The reward and every observed variable is a stream of values in each arm (`independence.drift`). Half of the false
alarms are for the reward and half for the observed variables, divided among the arms by `error_shares`. So an alarm
if nothing changes has a probability of at most 1% over the whole study, for all streams together.

Rows are taken in the order in which they count. With a reward window that is the order of decisions. Without one it is
the order in which rewards were reported; the bound then assumes that how late a reward comes does not depend on it.
An observed variable is looked at up to the first row that still waits for its value.
"""

from dataclasses import replace

import numpy as np

from ...core.compiled import Floats
from ...core.data import DesignLayout, Rows, SubsetLayout
from ...core.discovery import SeparatingSet, SeparatingSets
from ...core.independence.drift import Drift, find_drift
from ...core.problem import Problem
from .guardrails import error_shares
from .state import StudyState

MOST_SETS = 32
"""More accepted sets than this are not all watched: the first of them, and those that arms are judged through.

Where sets are averaged over by how probable they are, only those that count most for some arm are watched: a set that
does not separate changes when traffic moves between arms.
"""


def drift_by_variable(state: StudyState) -> dict[str, Drift]:
    """Drift of the reward and of each observed variable within arms."""
    rows, first = state.policy.history.rows, len(state.settings.problem["arms"])
    found = {}
    for place, (name, values) in enumerate(streams_of(state.problem, rows).items()):
        part = 1.0 if not state.problem.observed else 0.5 if place == 0 else 0.5 / len(state.problem.observed)
        shares = part * error_shares(first, len(state.problem.arms))
        end = _complete_rows(state, name) if place else len(values)
        found[name] = find_drift(rows.arms[:end], values[:end], shares, seed=(state.settings.seed, place))
    return found


def streams_of(problem: Problem, rows: Rows) -> dict[str, Floats]:
    """The values of the reward and of each observed variable: numbers as they are, levels in their order, or NaN."""
    numbers = iter(rows.raw.T)
    levels = np.where(rows.codes >= 0, rows.codes, np.nan).T
    found = {problem.target: rows.rewards.astype(np.float64)}
    for variable, codes in zip(problem.observed, levels, strict=True):
        found[variable.name] = next(numbers) if variable.is_number else codes
    return found


def _complete_rows(state: StudyState, name: str) -> int:
    """The number of rows before the first that still waits for a variable: values that come later do not move ranks."""
    row = state.decisions.column("row")
    waiting = [int(row[number - 1]) for number, part in state.incomplete.items() if name not in part]
    return min(waiting, default=state.policy.rows)


def watched_sets(state: StudyState, *, rejected: bool = False) -> SeparatingSets:
    """The sets that were looked at, each in use with its drift."""
    sets = state.policy.separating_sets(rejected=rejected)
    used = {source.through for source in state.policy.posterior().sources}
    accepted = [found for found in sets if found.accepted]
    watched = {
        found.variables
        for place, found in enumerate(accepted)
        if found.variables in used or (place < MOST_SETS and found.evidence.probability is None)
    }
    rows = state.policy.history.rows
    return SeparatingSets(
        replace(found, drift=drift_of(state.policy.layout, rows, found, state.settings.seed))
        if found.variables in watched
        else found
        for found in sets
    )


def drift_of(layout: SubsetLayout, rows: Rows, found: SeparatingSet, seed: int) -> Drift | None:
    """Drift of P(Y | S) in each group of arms that shares through S, over the rows that have a value for S.

    None if observed variables are numbers: rewards then have no cells within which they could be ranked.
    """
    if isinstance(layout, DesignLayout):
        return None
    problem, number = layout.problem, layout.find(found.variables)
    members = layout.members[number]
    groups = problem.arm_groups([name for name in problem.intervention_names if name not in found.separated])
    streams, count = groups[rows.arms], int(groups.max()) + 1
    for place in members:
        size = problem.observed[place].size
        streams, count = streams * size + rows.codes[:, place], count * size
    whole = np.all(rows.codes[:, list(members)] >= 0, axis=1)
    rewards = np.where(whole, rows.rewards.astype(np.float64), np.nan)
    # Any set could have been in use with any choice of levers that it separates: all of them are paid for.
    share = 1 / (count * len(layout.members) * (2 ** len(problem.interventions) - 1))
    streams = np.where(whole, streams, 0)
    return find_drift(streams, rewards, np.full(count, share), seed=(seed, len(problem.observed) + 1 + number))

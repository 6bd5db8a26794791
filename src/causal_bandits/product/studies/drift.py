"""Drift: does each arm stay as it is, and do the sets in use still hold?

The reward and every observed variable is a stream of values in each arm (`independence.drift`). Half of the false
alarms are for the reward and half for the observed variables, divided among the arms by `error_shares`. So an alarm
if nothing changes has a probability of at most 1% over the whole study, for all streams together.

Rows are tested in the order of decisions, not in that of their outcomes: where purchases are reported at once and
non-purchases days later, the newest outcomes are always mostly purchases, although nothing has changed. A decision
enters when every decision before it is resolved: it has its outcome, was excluded, abandoned or expired, its reward
window has closed, or it has waited for `LONGEST_WAIT`. An outcome that takes longer than that is not tested, however
late you look. So what is tested at any time is the beginning of one fixed sequence. If reward and delay of an arm's
decisions have the same joint distribution throughout, the values that enter are exchangeable, and the bound holds
whatever the delay has to do with the reward. Rows imported before the first outcome come first; later imports are not
tested. An observed variable is tested up to the first row that still waits for its value.
"""

from dataclasses import replace

import numpy as np

from ...core.compiled import Floats, Ints
from ...core.data import DesignLayout, Rows
from ...core.discovery import SeparatingSet, SeparatingSets
from ...core.independence.drift import Drift, find_drift
from ...core.problem import Problem
from .decisions import OPEN
from .guardrails import error_shares
from .state import StudyState

MOST_SETS = 32
"""More accepted sets than this are not all watched: the first of them, and those that arms are estimated through.

Where sets are averaged over by how probable they are, only those that count most for some arm are watched: a set that
does not separate changes when traffic moves between arms.
"""


LONGEST_WAIT = 7 * 86_400.0
"""Seconds for which later decisions wait for an outcome; fixed, since one learned from delays would move the order."""


def resolved_rows(state: StudyState) -> Ints:
    """The rows that are tested, by number and in the order of their decisions (see above)."""
    decisions = state.decisions
    row, since, done = (decisions.column(name) for name in ("row", "since", "done"))
    imported = np.arange(min(row[row >= 0].min(initial=state.policy.rows), state.policy.rows))
    if state.window is None:
        newest = max(since.max(initial=0.0), np.nanmax(done, initial=0.0))
        given_up = since < newest - LONGEST_WAIT
        in_time = ~(done - since > LONGEST_WAIT)
    else:
        given_up, in_time = np.arange(len(row)) < state.closed, np.ones(len(row), dtype=np.bool_)
    unresolved = np.flatnonzero((row == OPEN) & decisions.included & ~given_up)
    end = int(unresolved[0]) if len(unresolved) else len(row)
    tested = row[:end][(row[:end] >= 0) & in_time[:end]]
    return np.concatenate([imported, tested.astype(np.int64)])


def drift_by_variable(state: StudyState) -> dict[str, Drift]:
    """Drift of the reward and of each observed variable within arms."""
    rows, order, first = state.policy.history.rows, resolved_rows(state), len(state.settings.problem["arms"])
    found = {}
    for index, (name, values) in enumerate(streams_of(state.problem, rows).items()):
        part = 1.0 if not state.problem.observed else 0.5 if index == 0 else 0.5 / len(state.problem.observed)
        shares = part * error_shares(first, len(state.problem.arms))
        tested = _before_waiting(state, name, order) if index else order
        found[name] = _find(tested, rows.arms, values, shares, (state.settings.seed, index))
    return found


def _find(order: Ints, streams: Ints, values: Floats, shares: Floats, seed: tuple[int, ...]) -> Drift:
    """`find_drift` of rows in an order; the row that shows it is counted among all rows."""
    drift = find_drift(streams[order], values[order], shares, seed=seed)
    return drift if not drift.row else drift._replace(row=int(order[drift.row - 1]) + 1)


def streams_of(problem: Problem, rows: Rows) -> dict[str, Floats]:
    """The values of the reward and of each observed variable: numbers as they are, levels in their order, or NaN."""
    numbers = iter(rows.raw.T)
    levels = np.where(rows.codes >= 0, rows.codes, np.nan).T
    found = {problem.target: rows.rewards.astype(np.float64)}
    for variable, codes in zip(problem.observed, levels, strict=True):
        found[variable.name] = next(numbers) if variable.is_number else codes
    return found


def _before_waiting(state: StudyState, name: str, order: Ints) -> Ints:
    """The rows before the first that still waits for a variable: values that come later do not move ranks."""
    row = state.decisions.column("row")
    waiting = [int(row[number - 1]) for number, part in state.incomplete.items() if name not in part]
    found = np.flatnonzero(np.isin(order, waiting))
    return order[: found[0]] if len(found) else order


def watched_sets(state: StudyState, *, rejected: bool = False) -> SeparatingSets:
    """The sets that were looked at, each in use with its drift."""
    sets = state.policy.separating_sets(rejected=rejected)
    used = {source.through for source in state.policy.posterior().sources}
    accepted = [found for found in sets if found.accepted]
    watched = {
        found.variables
        for index, found in enumerate(accepted)
        if found.variables in used or (index < MOST_SETS and found.evidence.probability is None)
    }
    order = resolved_rows(state)
    return SeparatingSets(
        replace(found, drift=drift_of(state, found, order)) if found.variables in watched else found for found in sets
    )


def drift_of(state: StudyState, found: SeparatingSet, order: Ints) -> Drift | None:
    """Drift of P(Y | S) in each group of arms that shares through S, over the rows that have a value for S.

    None if observed variables are numbers: rewards then have no cells within which they could be ranked.
    """
    layout, rows = state.policy.layout, state.policy.history.rows
    if isinstance(layout, DesignLayout):
        return None
    problem, number = layout.problem, layout.find(found.variables)
    members = layout.members[number]
    groups = problem.arm_groups([name for name in problem.intervention_names if name not in found.separated])
    streams, count = groups[rows.arms], int(groups.max()) + 1
    for member in members:
        size = problem.observed[member].size
        streams, count = streams * size + rows.codes[:, member], count * size
    whole = np.all(rows.codes[:, list(members)] >= 0, axis=1)
    rewards = np.where(whole, rows.rewards.astype(np.float64), np.nan)
    # Any set could have been in use with any choice of levers that it separates: all of them are paid for.
    share = 1 / (count * len(layout.members) * (2 ** len(problem.interventions) - 1))
    streams = np.where(whole, streams, 0)
    seed = (state.settings.seed, len(problem.observed) + 1 + number)
    return _find(order, streams, rewards, np.full(count, share), seed)

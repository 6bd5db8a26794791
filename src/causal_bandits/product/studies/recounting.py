"""Changes of what was counted: decisions that are excluded or included again, and outcomes that are corrected.

Everything counts as if the rows had always been so: the rows stay in their order, and all of them are counted again.
A row that is excluded keeps its place among all rows, so that it is back where it was when it is included.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from ...core.compiled import Ints
from ...core.data import Rows
from .changes import Correction
from .decisions import KEPT_OUT
from .state import StudyState


def keep_out(state: StudyState, number: int, part: dict[str, Any], time: float) -> None:
    """The row of an excluded decision, which would count now."""
    kept = state.excluded_rows.rows
    kept[number] = (state.policy.rows + len(kept), part)
    state.decisions.close(number, KEPT_OUT, time)


def exclude(state: StudyState, numbers: Sequence[int], which: int) -> None:
    """Let decisions count no longer."""
    row, history, kept = state.decisions.column("row"), state.history, state.excluded_rows
    state.decisions.column("excluded")[np.array(numbers) - 1] = which
    counted = [number for number in numbers if row[number - 1] >= 0]
    if counted:
        places, batches = kept.places(len(history)), kept.all_batches(history)
        rows = row[np.array(counted) - 1].astype(np.int64)
        for number, at in zip(counted, rows.tolist(), strict=True):
            part = state.incomplete.pop(number, None)
            kept.rows[number] = (int(places[at]), history.observation(at) if part is None else part)
        history.remove(rows)
        row[np.array(counted) - 1] = KEPT_OUT
        _rearranged(state, places, batches)
    for number in numbers:
        state.late.forget(state.policy, number)
    state.guards.recount(state.problem, state.is_excluded)


def include(state: StudyState, numbers: Sequence[int]) -> None:
    """Let excluded decisions count again."""
    row, history, kept = state.decisions.column("row"), state.history, state.excluded_rows
    state.decisions.column("excluded")[np.array(numbers) - 1] = 0
    back = sorted((number for number in numbers if number in kept.rows), key=lambda number: kept.rows[number][0])
    if back:
        places, batches = kept.places(len(history)), kept.all_batches(history)
        taken = [kept.rows.pop(number) for number in back]
        rows = [state.encoded(number, part) for number, (_, part) in zip(back, taken, strict=True)]
        own = np.array([place for place, _ in taken])
        history.insert(np.searchsorted(places, own), Rows._make(map(np.concatenate, zip(*rows, strict=True))))
        _rearranged(state, places, batches)
        row[np.array(back) - 1] = np.searchsorted(kept.places(len(history)), own)
        for number, (_, part) in zip(back, taken, strict=True):
            state.keep_incomplete(number, part)
    for number in numbers:
        if number in state.parts:
            state.expect(number)
    state.guards.recount(state.problem, state.is_excluded)


def _rearranged(state: StudyState, before: Ints, batches: Iterable[tuple[int, int]]) -> None:
    """The history has other rows: find those of decisions again; `before` has the places of its rows until now."""
    kept, row = state.excluded_rows, state.decisions.column("row")
    places = kept.places(len(state.history))
    counted = row >= 0
    row[counted] = np.searchsorted(places, before[row[counted]])
    kept.batches = [*batches]
    left = [(int(np.searchsorted(places, first)), int(np.searchsorted(places, end))) for first, end in kept.batches]
    state.history.batches = [(first, end) for first, end in left if end - first > 1]
    kept.batches_known = len(state.history.batches)
    state.recount()


def correct(state: StudyState, number: int, values: Mapping[str, Any], reason: str, time: float) -> None:
    """Let other values of a decision have been recorded; all of them must be on record."""
    metrics = {name: value for name, value in values.items() if name in state.metrics.kinds}
    seen = {name: value for name, value in values.items() if name not in metrics}
    known, measured = state.known(number), state.metrics.of(number)
    before = {name: {**known, **measured}[name] for name in values}
    state.corrections.setdefault(number, []).append(Correction(time, reason, before, dict(values)))
    state.metrics.put(number, metrics)
    part = {**known, **seen}
    if not seen:
        pass
    elif number in state.excluded_rows.rows:
        state.excluded_rows.rows[number] = (state.excluded_rows.rows[number][0], part)
    elif number in state.parts:
        state.parts[number] = part
        state.late.forget(state.policy, number)
        if not state.is_excluded(number):
            state.expect(number)
    else:
        at = int(state.decisions.column("row")[number - 1])
        if number in state.incomplete:
            state.incomplete[number] = part
        state.history.replace(at, state.encoded(number, part))
        state.recount()
    state.guards.correct(state.problem, number, values, state.is_excluded)

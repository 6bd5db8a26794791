"""Applying events: how each event changes the state of a study, one after the other.

Everything counts as if the rows had always been so: the rows stay in their order, and all of them are counted again.
A row that is excluded keeps its position among all rows, so that it is back where it was when it is included.

An event `counted` has what was appended in high-throughput mode up to the position `until`: events with their kinds
and times, in their order. One of the kind `aside` stands for a row that could not be counted: its position, its
decision, the arms that it chose if it is an ask, and the reason. The decisions of such an ask are abandoned.
"""

from collections.abc import Callable, Iterable, Mapping
from typing import Any

import numpy as np

from ...core.compiled import Ints
from ...core.data import Rows
from .arm_patterns import asked_among, with_arms
from .decisions import ABANDONED, AFTER_FINISH, EXPIRED, KEPT_OUT, LATEST, Correction, Event, Exclusion, Finished
from .outcomes import has_outcome
from .state import StudyState


def replay(state: StudyState, events: Iterable[Event]) -> None:
    """Count events; they come in order, and each must fit what is known. Rows that come whole are learned together.

    Nothing looks at the rows before discovery is due or another kind of event comes; and of the refits that were due
    only the last one is made, where the policy allows it.
    """
    whole: dict[int, tuple[float, dict[str, Any]]] = {}
    for event in events:
        if event.seq != state.seq + 1:
            raise ValueError(f"event {event.seq} after event {state.seq}")
        _take(state, event, whole)
        if state.settings.mode is not None:
            state.policy.ready()  # in high-throughput mode every version decides, so its discovery is done with it
        state.seq = event.seq
    _learn(state, whole)
    state.policy.catch_up()


def apply(state: StudyState, event: Event) -> None:
    """Count one event."""
    replay(state, (event,))


def _take(state: StudyState, event: Event, whole: dict[int, tuple[float, dict[str, Any]]]) -> None:
    """Count an event, or keep the row of a decision in `whole`, to be learned with others."""
    if not 0 <= event.time < LATEST:
        raise ValueError(f"time {event.time!r}")
    state.decisions.pass_time(event.time)
    if event.kind == "told" and _is_whole(state, event.body, whole):
        whole[event.body["id"]] = (event.time, event.body["seen"])
        return
    is_due = state.settings.mode is None and state.policy.schedule.is_due(state.policy.progress + len(whole))
    if event.kind != "asked" or is_due:
        _learn(state, whole)
    _APPLY[event.kind](state, event)


def _is_whole(state: StudyState, body: Mapping[str, Any], whole: Mapping[int, Any]) -> bool:
    """Whether this is all of an open decision that counts, of which nothing was reported before."""
    number = body["id"]
    return (
        body.keys() == {"id", "seen"}
        and state.window is None
        and state.policy.history.cuts_are_known
        and type(number) is int
        and number in state.decisions.open
        and number not in state.parts
        and number not in whole
        and not state.is_excluded(number)
        and body["seen"].keys() == {*state.problem.observed_names, state.problem.target}
    )


def _asked(state: StudyState, event: Event) -> None:
    body = event.body
    arms, among = body["arms"], asked_among(state.problem, body)
    if body["first"] != len(state.decisions) + 1 or not arms or not 0 < body.get("version", 1) <= event.seq:
        raise ValueError(f"decision {body['first']} after {len(state.decisions)}")
    _check_arms(state, arms)
    if among is not None:
        _check_arms(state, among)
        if not set(arms) <= set(among):
            raise ValueError(f"arms {arms!r} of the segment {body.get('segment')!r}")
    if state.settings.mode is None:
        state.policy.refit_later()  # what was due then
    state.decisions.add(arms, event.seq, event.time)
    if state.finished is not None:  # decisions of a study that is finished do not count
        state.decisions.column("excluded")[-len(arms) :] = len(state.exclusions)


def _check_arms(state: StudyState, arms: list[int]) -> None:
    count = len(state.problem.arms)
    if not all(type(arm) is int and 0 <= arm < count for arm in arms):
        raise ValueError(f"arms {arms!r} of {count}")


def _check_open(state: StudyState, number: int) -> None:
    if type(number) is not int or number not in state.decisions.open:
        raise ValueError(f"decision {number!r} is not open")


def _told(state: StudyState, event: Event) -> None:
    number, seen = event.body["id"], event.body["seen"]
    metrics = {name: value for name, value in seen.items() if name in state.metrics}
    if metrics:  # of a decision that may have its outcome already
        state.decisions.measure(state.decisions.check(number), metrics)
        _guard(state, number, metrics)
        seen = {name: value for name, value in seen.items() if name not in metrics}
        if not seen and "final" not in event.body:
            return
    if number in state.incomplete or number in state.excluded_rows:
        _guard(state, number, seen)
        _fill(state, number, seen)
        return
    _check_open(state, number)
    _guard(state, number, seen)
    part = {**state.parts.pop(number, {}), **seen}
    if number <= state.closed:
        part.setdefault(state.problem.target, 0)
    if _can_count(state, part) and (state.window is None or event.body.get("final") or number <= state.closed):
        _count(state, number, part, event.time)
        return
    state.parts[number] = part
    if not state.is_excluded(number):
        state.expect(number)


def _guard(state: StudyState, number: int, reported: Mapping[str, Any]) -> None:
    """Count what was reported of a decision for the guardrails."""
    arm = int(state.decisions.column("arm")[number - 1])
    state.guards.count_reported(state.problem, number, arm, reported, counts=not state.is_excluded(number))


def _can_count(state: StudyState, part: Mapping[str, Any]) -> bool:
    return has_outcome(state.problem, state.policy.needed, part)


def _count(state: StudyState, number: int, part: dict[str, Any], time: float) -> None:
    """Count the row of a decision; observed variables that are not known yet count when they come."""
    row, kept = state.policy.rows, state.excluded_rows
    if state.is_excluded(number):
        kept[number] = (row + len(kept), part)
        state.decisions.close(number, KEPT_OUT, time)
        return
    if number in state.pending:
        state.policy.complete([state.pending.pop(number)], [part[state.problem.target]])
    else:
        state.policy.learn(state.encoded(number, part))
    state.decisions.close(number, row, time)
    state.keep_incomplete(number, part)


def _fill(state: StudyState, number: int, seen: dict[str, Any]) -> None:
    """Count observed variables of a decision whose row counts already."""
    if number in state.excluded_rows:
        position, part = state.excluded_rows[number]
        state.excluded_rows[number] = (position, {**part, **seen})
        return
    part = {**state.incomplete.pop(number), **seen}
    if any(value is not None for value in seen.values()):
        state.policy.fill(int(state.decisions.column("row")[number - 1]), state.encoded(number, part))
    state.keep_incomplete(number, part)


def _closed(state: StudyState, event: Event) -> None:
    """Reward windows have closed: what came counts, and what did not come is 0."""
    before, until = state.closed, event.body["until"]
    state.closed = until
    for number in range(before + 1, until + 1):
        part = {state.problem.target: 0, **state.parts.get(number, {})}
        if number in state.parts and _can_count(state, part):
            del state.parts[number]
            _count(state, number, part, event.time)


def _abandoned(state: StudyState, event: Event) -> None:
    for number in event.body["ids"]:
        _check_open(state, number)
        state.parts.pop(number, None)
        state.forget(number)
        state.decisions.close(number, ABANDONED if event.kind == "abandoned" else EXPIRED, event.time)


def _arms(state: StudyState, event: Event) -> None:
    if "added" in event.body:  # another problem: all rows are counted again, discovery runs at the next ask
        state.relearn(with_arms(state.problem, event.body["added"]))
    state.retired |= set(event.body.get("retired", ()))
    state.forbidden |= set(event.body.get("forbidden", ()))
    state.forbidden -= set(event.body.get("allowed", ()))
    gone = state.retired | state.forbidden
    state.policy.restrict([arm for number, arm in enumerate(state.problem.arms) if number not in gone])


def _imported(state: StudyState, event: Event) -> None:
    body = event.body
    levers = {
        name: [state.problem.arms[arm][name] for arm in body["arms"]] for name in state.problem.intervention_names
    }
    rows = state.policy.rows
    state.policy.learn(state.policy.history.encode_many({**levers, **body["seen"]}, missing=True))
    state.guards.count_imported(state.policy, rows)


def _annotated(state: StudyState, event: Event) -> None:
    time, text = float(event.body["at"]), event.body["text"]
    if text is None:
        del state.annotations[time]
    else:
        state.annotations[time] = str(text)


# Changes of what was counted


def _corrected(state: StudyState, event: Event) -> None:
    """Let other values of a decision have been recorded; all of them must be on record."""
    number, values = event.body["id"], event.body["values"]
    metrics = {name: value for name, value in values.items() if name in state.metrics}
    seen = {name: value for name, value in values.items() if name not in metrics}
    known, measured = state.known(number), state.decisions.measured(number)
    before = {name: {**known, **measured}[name] for name in values}
    state.corrections.setdefault(number, []).append(Correction(event.time, event.body["reason"], before, dict(values)))
    state.decisions.measure(number, metrics)
    part = {**known, **seen}
    if not seen:
        pass
    elif number in state.excluded_rows:
        state.excluded_rows[number] = (state.excluded_rows[number][0], part)
    elif number in state.parts:
        state.parts[number] = part
        state.forget(number)
        if not state.is_excluded(number):
            state.expect(number)
    else:
        if number in state.incomplete:
            state.incomplete[number] = part
        state.history.replace(int(state.decisions.column("row")[number - 1]), state.encoded(number, part))
        state.recount()
    state.guards.recount(state.problem, state.is_excluded, number, values)


def _excluded(state: StudyState, event: Event) -> None:
    """Let decisions count no longer."""
    numbers, row, history = np.array(event.body["ids"]), state.decisions.column("row"), state.history
    state.exclusions.append(Exclusion(event.time, event.body["reason"], event.body["filter"]))
    state.decisions.column("excluded")[numbers - 1] = len(state.exclusions)
    counted = numbers[row[numbers - 1] >= 0]
    if len(counted):
        positions, rows = _positions(state), row[counted - 1].astype(np.int64)
        for number, at in zip(counted.tolist(), rows.tolist(), strict=True):
            part = state.incomplete.pop(number, None)
            state.excluded_rows[number] = (int(positions[at]), history.observation(at) if part is None else part)
        history.remove(rows)
        row[counted - 1] = KEPT_OUT
        _rearranged(state, positions)
    for number in numbers.tolist():
        state.forget(number)
    state.guards.recount(state.problem, state.is_excluded)


def _included(state: StudyState, event: Event) -> None:
    """Let excluded decisions count again."""
    numbers, row, kept = event.body["ids"], state.decisions.column("row"), state.excluded_rows
    state.decisions.column("excluded")[np.array(numbers) - 1] = 0
    back = sorted((number for number in numbers if number in kept), key=lambda number: kept[number][0])
    if back:
        positions, taken = _positions(state), [kept.pop(number) for number in back]
        rows = [state.encoded(number, part) for number, (_, part) in zip(back, taken, strict=True)]
        own = np.array([index for index, _ in taken])
        state.history.insert(np.searchsorted(positions, own), Rows._make(map(np.concatenate, zip(*rows, strict=True))))
        row[np.array(back) - 1] = _rearranged(state, positions, own)
        for number, (_, part) in zip(back, taken, strict=True):
            state.keep_incomplete(number, part)
    for number in numbers:
        if number in state.parts:
            state.expect(number)
    state.guards.recount(state.problem, state.is_excluded)


def _positions(state: StudyState) -> Ints:
    """Where each row that counts is among all rows."""
    here = np.ones(len(state.history) + len(state.excluded_rows), dtype=np.bool_)
    here[[index for index, _ in state.excluded_rows.values()]] = False
    return np.flatnonzero(here)


def _rearranged(state: StudyState, before: Ints, back: Ints | None = None) -> Ints | None:
    """The history has other rows: find those of decisions again; `before` has the positions of its rows until now.

    Gives the rows of those that came back. Rows of a batch are imported, and stay.
    """
    row, after = state.decisions.column("row"), _positions(state)
    now = np.searchsorted(after, before)
    row[row >= 0] = now[row[row >= 0]]
    state.history.batches = [(int(now[first]), int(now[end - 1]) + 1) for first, end in state.history.batches]
    state.recount()
    return None if back is None else np.searchsorted(after, back)


def _finished(state: StudyState, event: Event) -> None:
    state.finished = Finished(event.time, len(state.decisions), **event.body)
    state.exclusions.append(Exclusion(event.time, AFTER_FINISH, {}))


# The append log


def _counted(state: StudyState, event: Event) -> None:
    rows, until = event.body["rows"], event.body["until"]
    if state.settings.mode is None or until - state.appended != len(rows):
        raise ValueError(f"{len(rows)} rows to {until!r} after {state.appended}")
    frozen = 0 if state.finished is None else state.finished.decisions
    whole: dict[int, tuple[float, dict[str, Any]]] = {}
    for kind, time, body in rows:
        if (
            body.get("id", body.get("ids", [frozen + 1])[0]) > frozen
        ):  # a worker may not know that the study is finished
            _take(state, Event(event.seq, kind, time, body), whole)
    _learn(state, whole)
    state.appended = until


def _set_aside(state: StudyState, event: Event) -> None:
    arms, first = event.body["arms"], len(state.decisions) + 1
    if arms:
        count = len(state.problem.arms)
        state.decisions.add(
            [arm if type(arm) is int and 0 <= arm < count else 0 for arm in arms], event.seq, event.time
        )
        for number in range(first, first + len(arms)):
            state.decisions.close(number, ABANDONED, event.time)
    state.aside.append((event.body["position"], event.body["decision"], event.body["reason"]))


def _learn(state: StudyState, whole: dict[int, tuple[float, dict[str, Any]]]) -> None:
    """Learn whole rows at once, in their order; empties the mapping."""
    if not whole:
        return
    row, history = state.policy.rows, state.policy.history
    arms = state.decisions.column("arm")[np.array(list(whole)) - 1].tolist()
    state.policy.learn(history.encode_known(arms, [seen for _, seen in whole.values()]), ())
    for index, (number, (time, seen)) in enumerate(whole.items()):
        _guard(state, number, seen)
        state.decisions.close(number, row + index, time)
    whole.clear()


def close_windows(state: StudyState, until: int, now: float) -> None:
    """Count reward windows that have closed by now, before an event says so."""
    apply(state, Event(state.seq + 1, "closed", now, {"until": until}))
    state.seq -= 1


_APPLY: dict[str, Callable[[StudyState, Event], None]] = {
    "created": lambda _state, _event: None,
    "asked": _asked,
    "told": _told,
    "abandoned": _abandoned,
    "expired": _abandoned,
    "arms": _arms,
    "imported": _imported,
    "annotated": _annotated,
    "closed": _closed,
    "counted": _counted,
    "aside": _set_aside,
    "corrected": _corrected,
    "excluded": _excluded,
    "included": _included,
    "finished": _finished,
}

"""Applying events: how each event changes the state of a study, one after the other.

Everything counts as if the rows had always been so: the rows stay in their order, and all of them are counted again.
A row that is excluded keeps its place among all rows, so that it is back where it was when it is included.

An event `counted` has the decisions and outcomes that were appended in high-throughput mode, many rows at once. Its
body has `after` and `until`, positions in the append log, `first`, the number of its first decision, and the rows
between the positions in their order:

    asked   [time, version, key, arms] or [..., {"among", "segment", "reserved"}]: an ask from the state at `version`
    told    [decision, time, values] or [..., further metrics]; in place of values "abandoned" or "expired", or
            [corrected values, reason]

A row that cannot be counted gets a separate event, with `aside`: its position, its decision, the arms that it chose
if it is an ask, and the reason. The decisions of such an ask are abandoned.

An ask is always appended before what is told of it, and learning does not depend on decisions without an outcome, so
all asks are counted before all outcomes.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from ...core.compiled import Ints
from ...core.data import Rows
from .arm_patterns import asked_among, check_segment, with_arms
from .deciding import reserved_for
from .decisions import ABANDONED, AFTER_FINISH, EXPIRED, KEPT_OUT, LATEST, Correction, Event, Exclusion, Finished
from .outcomes import has_outcome
from .state import StudyState


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
        own = np.array([index for index, _ in taken])
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
    metrics = {name: value for name, value in values.items() if name in state.metrics}
    seen = {name: value for name, value in values.items() if name not in metrics}
    known, measured = state.known(number), state.decisions.measured(number)
    before = {name: {**known, **measured}[name] for name in values}
    state.corrections.setdefault(number, []).append(Correction(time, reason, before, dict(values)))
    state.decisions.measure(number, metrics)
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
    state.guards.recount(state.problem, state.is_excluded, number, values)


def replay(state: StudyState, events: Iterable[Event]) -> None:
    """Count events: the same as `apply` of each, but rows that come whole are learned together.

    Nothing looks at the rows before discovery is due, a guardrail is checked or another kind of event comes; and of the
    refits that were due only the last one is made, where the policy allows it.
    """
    whole: dict[int, tuple[float, dict[str, Any]]] = {}
    together = state.settings.mode is None and state.late.window is None
    asks_look = bool(state.guards.rails) or state.control_share is not None
    for event in events:
        body = event.body
        only_told = together and event.kind == "told" and body.keys() == {"id", "seen"}
        if only_told and state.policy.history.cuts_are_known and _is_whole(state, body["id"], body["seen"], whole):
            _follow(state, event)
            whole[body["id"]] = (event.time, body["seen"])
            state.seq = event.seq
            continue
        due = state.policy.schedule.is_due(state.policy.progress + len(whole))
        if event.kind != "asked" or asks_look or due:
            _learn(state, whole)
        _apply(state, event)
    _learn(state, whole)
    state.policy.catch_up()


def _is_whole(state: StudyState, number: Any, seen: Mapping[str, Any], whole: Mapping[int, Any]) -> bool:
    """Whether this is all of an open decision that counts, of which nothing was told before."""
    return (
        type(number) is int
        and number in state.decisions.open
        and number not in state.parts
        and number not in whole
        and not state.is_excluded(number)
        and seen.keys() == {*state.problem.observed_names, state.problem.target}
    )


def _follow(state: StudyState, event: Event) -> None:
    if event.seq != state.seq + 1:
        raise ValueError(f"event {event.seq} after event {state.seq}")
    if not 0 <= event.time < LATEST:
        raise ValueError(f"time {event.time!r}")
    state.decisions.pass_time(event.time)


def apply(state: StudyState, event: Event) -> None:
    """Count one event; they come in order, and each must fit what is known."""
    _apply(state, event)
    state.policy.catch_up()


def _apply(state: StudyState, event: Event) -> None:
    """The same, while refits may be put off."""
    _follow(state, event)
    _APPLY[event.kind](state, event)
    if state.settings.mode is not None:
        state.policy.ready()  # in high-throughput mode every version decides, so its discovery is done with it
    state.seq = event.seq


def _asked(state: StudyState, event: Event) -> None:
    arms, among = event.body["arms"], event.body.get("among")
    if event.body["first"] != len(state.decisions) + 1 or not arms:
        raise ValueError(f"decision {event.body['first']} after {len(state.decisions)}")
    _check_arms(state, arms)
    if among is not None:
        _check_arms(state, among)
    check_segment(state.problem, event.body)
    count_reserved(state, arms, reserved_for(state, asked_among(state.problem, event.body)))
    state.policy.refit_later()  # what was due then
    state.decisions.add(arms, event.seq, event.time)
    _exclude_after_finish(state, len(arms))


def _exclude_after_finish(state: StudyState, made: int) -> None:
    """Decisions of a study that is finished do not count."""
    if state.finished is not None:
        state.decisions.column("excluded")[-made:] = len(state.exclusions)


def _check_arms(state: StudyState, arms: list[int]) -> None:
    count = len(state.problem.arms)
    if not all(type(arm) is int and 0 <= arm < count for arm in arms):
        raise ValueError(f"arms {arms!r} of {count}")


def _check_open(state: StudyState, number: int) -> None:
    if type(number) is not int or number not in state.decisions.open:
        raise ValueError(f"decision {number!r} is not open")


def _told(state: StudyState, event: Event) -> None:
    number = event.body["id"]
    if "metrics" in event.body:
        _measured(state, number, event.body["metrics"])
        if not event.body["seen"] and "final" not in event.body:
            return
    seen = event.body["seen"]
    if number in state.incomplete or number in state.excluded_rows.rows:
        _guard(state, number, seen)
        _fill(state, number, seen)
        return
    _check_open(state, number)
    _guard(state, number, seen)
    part = {**state.parts.pop(number, {}), **seen}
    if number <= state.late.closed:
        part.setdefault(state.problem.target, 0)
    if _can_count(state, part) and state.late.is_due(number, final=event.body.get("final", False)):
        _count(state, number, part, event.time)
        return
    state.parts[number] = part
    if not state.is_excluded(number):
        state.expect(number)


def _guard(state: StudyState, number: int, told: Mapping[str, Any]) -> None:
    """Count what was told of a decision for the guardrails."""
    arm = int(state.decisions.column("arm")[number - 1])
    state.guards.count_told(state.problem, number, arm, told, counts=not state.is_excluded(number))


def _can_count(state: StudyState, part: Mapping[str, Any]) -> bool:
    return has_outcome(state.problem, state.policy.needed, part)


def _measured(state: StudyState, number: int, values: dict[str, float]) -> None:
    """Further metrics of a decision, which may have its outcome already."""
    if not 1 <= number <= len(state.decisions) or not set(values) <= set(state.metrics):
        raise ValueError(f"metrics {values!r} of decision {number!r}")
    state.decisions.measure(number, values)
    _guard(state, number, values)


def _count(state: StudyState, number: int, part: dict[str, Any], time: float) -> None:
    """Count the row of a decision; observed variables that are not known yet count when they come."""
    row, kept = state.policy.rows, state.excluded_rows.rows
    if state.is_excluded(number):
        kept[number] = (row + len(kept), part)
        state.decisions.close(number, KEPT_OUT, time)
        return
    if number in state.late.numbers:
        state.policy.complete([state.late.numbers.pop(number)], [part[state.problem.target]])
    else:
        state.policy.learn(state.encoded(number, part))
    state.decisions.close(number, row, time)
    state.keep_incomplete(number, part)


def _fill(state: StudyState, number: int, seen: dict[str, Any]) -> None:
    """Count observed variables of a decision whose row counts already."""
    if number in state.excluded_rows.rows:
        place, part = state.excluded_rows.rows[number]
        state.excluded_rows.rows[number] = (place, {**part, **seen})
        return
    part = {**state.incomplete.pop(number), **seen}
    if any(value is not None for value in seen.values()):
        state.policy.fill(int(state.decisions.column("row")[number - 1]), state.encoded(number, part))
    state.keep_incomplete(number, part)


def _closed(state: StudyState, event: Event) -> None:
    """Reward windows have closed: what came counts, and what did not come is 0."""
    before, until = state.late.closed, event.body["until"]
    if type(until) is not int or not before < until <= len(state.decisions):
        raise ValueError(f"windows closed up to decision {until!r}")
    state.late.closed = until
    for number in range(before + 1, until + 1):
        part = {state.problem.target: 0, **state.parts.get(number, {})}
        if number in state.parts and _can_count(state, part):
            del state.parts[number]
            _count(state, number, part, event.time)


def _abandoned(state: StudyState, event: Event) -> None:
    for number in event.body["ids"]:
        _check_open(state, number)
        state.parts.pop(number, None)
        state.late.forget(state.policy, number)
        state.decisions.close(number, ABANDONED if event.kind == "abandoned" else EXPIRED, event.time)


def _arms(state: StudyState, event: Event) -> None:
    if "added" in event.body:  # another problem: all rows are counted again, discovery runs at the next ask
        state.relearn(with_arms(state.problem, event.body["added"]))
    for how in ("retired", "forbidden", "allowed"):
        _check_arms(state, event.body.get(how, []))
    state.retired |= set(event.body.get("retired", ()))
    state.forbidden |= set(event.body.get("forbidden", ()))
    state.forbidden -= set(event.body.get("allowed", ()))
    gone = state.retired | state.forbidden
    state.policy.restrict([arm for number, arm in enumerate(state.problem.arms) if number not in gone])


def _imported(state: StudyState, event: Event) -> None:
    body = event.body
    _check_arms(state, body["arms"])
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


def count_reserved(state: StudyState, arms: list[int], control: int | None) -> None:
    """Count decisions in which the control had exactly its share."""
    if control is not None:
        state.reserved = [state.reserved[0] + len(arms), state.reserved[1] + arms.count(control)]


# Changes of what was counted


def _corrected(state: StudyState, event: Event) -> None:
    body = event.body
    if not 1 <= body["id"] <= len(state.decisions) or not body["values"]:
        raise ValueError(f"decision {body['id']!r} is corrected")
    correct(state, body["id"], body["values"], body["reason"], event.time)


def _excluded(state: StudyState, event: Event) -> None:
    ids = event.body["ids"]
    if not ids or any(state.is_excluded(number) for number in ids):
        raise ValueError(f"decisions {ids!r} are excluded")
    state.exclusions.append(Exclusion(event.time, event.body["reason"], event.body["filter"]))
    exclude(state, ids, len(state.exclusions))


def _included(state: StudyState, event: Event) -> None:
    ids = event.body["ids"]
    if not ids or not all(state.is_excluded(number) for number in ids):
        raise ValueError(f"decisions {ids!r} are included")
    include(state, ids)


def _finished(state: StudyState, event: Event) -> None:
    _check_arms(state, event.body["winners"])
    if state.finished is not None or state.decisions.open:
        raise ValueError("a study is finished once, when no decision is open")
    state.finished = Finished(event.time, len(state.decisions), **event.body)
    state.exclusions.append(Exclusion(event.time, AFTER_FINISH, {}))


# The append log


def count_appended(state: StudyState, event: Event) -> None:
    """Count one event's rows; each must fit what is known."""
    body = event.body
    rows = len(body["asked"]) + len(body["told"]) + ("aside" in body)
    fits = state.settings.mode is not None and body["first"] == len(state.decisions) + 1
    if not fits or body["after"] != state.appended or body["until"] - body["after"] != rows:
        raise ValueError(f"rows {body['after']!r} to {body['until']!r} after {state.appended}")
    if body["asked"]:
        _count_asked(state, event)
    _count_outcomes(state, event)
    if "aside" in body:
        _set_aside(state, event)
    state.appended = body["until"]


def _set_aside(state: StudyState, event: Event) -> None:
    position, decision, arms, reason = event.body["aside"]
    count, first = len(state.problem.arms), len(state.decisions) + 1
    if arms:
        known = [arm if type(arm) is int and 0 <= arm < count else 0 for arm in arms]
        state.decisions.add(known, event.seq, event.time)
        for number in range(first, first + len(arms)):
            state.decisions.close(number, ABANDONED, event.time)
    state.aside.append((int(position), int(decision), str(reason)))


def _count_asked(state: StudyState, event: Event) -> None:
    arms: list[int] = []
    times: list[float] = []
    for time, version, key, chosen, *extra in event.body["asked"]:
        about = extra[0] if extra else {}
        among = asked_among(state.problem, about)
        _check_arms(state, chosen)
        if among is not None:
            _check_arms(state, among)
        fits = chosen and isinstance(key, str) and 1 <= version < event.seq and 0 <= time < LATEST
        if not fits or (among is not None and not set(chosen) <= set(among)):
            raise ValueError(f"the ask with key {key!r} from version {version!r}")
        count_reserved(state, chosen, about.get("reserved"))
        arms += chosen
        times += [time] * len(chosen)
    since = np.minimum.accumulate(np.array(times)[::-1])[::-1]  # the clocks of workers may disagree
    state.decisions.pass_time(float(since[0]))
    state.decisions.add(arms, event.seq, since)
    state.decisions.column("asked")[-len(times) :] = times
    _exclude_after_finish(state, len(times))


def _count_outcomes(state: StudyState, event: Event) -> None:
    whole: dict[int, tuple[float, dict[str, Any]]] = {}
    frozen = 0 if state.finished is None else state.finished.decisions
    for number, time, seen, *metrics in event.body["told"]:
        if number <= frozen:  # a worker did not know yet that the study is finished
            continue
        if isinstance(seen, list):
            _learn(state, whole)
            values, reason = seen
            correct(state, number, values, reason, time)
        elif isinstance(seen, str):
            _learn(state, whole)
            if seen not in ("abandoned", "expired"):
                raise ValueError(f"decision {number!r} was closed as {seen!r}")
            _abandoned(state, Event(event.seq, seen, time, {"ids": [number]}))  # type: ignore[arg-type]
        elif not metrics and _is_whole(state, number, seen, whole):
            whole[number] = (time, seen)
        else:
            _learn(state, whole)
            further = {"metrics": metrics[0]} if metrics else {}
            _told(state, Event(event.seq, "told", time, {"id": number, "seen": seen, **further}))
    _learn(state, whole)


def _learn(state: StudyState, whole: dict[int, tuple[float, dict[str, Any]]]) -> None:
    """Learn whole rows at once, in their order; empties the mapping."""
    if not whole:
        return
    row, history = state.policy.rows, state.policy.history
    arms = state.decisions.column("arm")[np.array(list(whole)) - 1].tolist()
    batches = () if state.settings.mode is None else None
    state.policy.learn(history.encode_known(arms, [seen for _, seen in whole.values()]), batches)
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
    "counted": count_appended,
    "corrected": _corrected,
    "excluded": _excluded,
    "included": _included,
    "finished": _finished,
}

"""Tables that a study is given: outcomes of its decisions, and logged rows from before."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np

from ...core.data import MISSING
from ...core.data.cell_types import MISSING_WORDS
from ...core.data.coding import is_missing
from ...core.data.frames import columns_of
from ...core.problem import Arm, Level, Problem, check_problem
from ...core.validation import are_names
from ...errors import ConflictError, ObservationError, brief, listing
from .decision_log import DecisionLog
from .outcomes import Keyed, Outcome, OutcomeRules
from .session import Draft, Session
from .state import StudyState

CHUNK = 20_000
"""Rows in one event; a key compares imports event by event, so it stays as it is."""


def table_outcomes(rules: OutcomeRules, frame: Any, *, final: bool) -> Iterator[Outcome]:
    """The outcome of each row of a table."""
    columns, is_list = columns_of(frame), isinstance(frame, Sequence)
    numeric = (rules.problem.target, *rules.metrics)
    known = (*rules.problem.observed_names, *numeric)
    names = [name for name in columns if name in known]
    named = [name for name in ("id", "key") if name in columns]
    if len(named) != 1 or (not names and not final):
        raise ObservationError(
            f"the table has columns {listing(columns)}; expected id or key, and some of {listing(known)}"
        )

    def said(cells: Mapping[str, Any], before: Mapping[str, Any]) -> dict[str, Any]:
        """What a row says, given what is known of its decision.

        An empty cell says nothing, unless its row has a reward. Then the row is complete, and what was not reported
        before is missing. (A list of dicts needs no such rule: there a name may be left out, and None says that a value
        is missing.)
        """
        complete = is_list or not is_missing(cells.get(rules.problem.target))
        return {
            name: value
            for name, value in cells.items()
            if not is_missing(value) or (complete and name not in numeric and (is_list or name not in before))
        }

    rows = zip(columns[named[0]], *(columns[name] for name in names), strict=True)
    for row, (given, *values) in enumerate(rows):
        cells = dict(zip(names, values, strict=True))
        if is_list:
            cells = {name: value for name, value in cells.items() if name in frame[row]}
        decision = _whole(given) if named == ["id"] else Keyed(given)
        yield Outcome(decision, partial(said, cells), row=row + 1)


def _whole(value: Any) -> Any:
    """Accept ids that a table stores as 3.0."""
    return int(value) if isinstance(value, float) and value.is_integer() and abs(value) < 2**63 else value


def import_rows(
    session: Session,
    log: DecisionLog,
    draft: Draft,
    frame: Any,
    arm: Arm | Mapping[str, Level] | None,
    key: str | None,
) -> int:
    """Import a table as prior data, all of it; returns the number of rows that are new."""
    bodies = imported_bodies(draft.state, frame, arm)
    done = session.event_of(draft, key, "imported")
    if key is not None:
        log.check_key(draft.transaction, key)
    if done is not None:
        stored = draft.transaction.events(done.seq - 1, done.seq - 1 + len(bodies))
        if [event.body for event in stored] != bodies:
            raise ConflictError(
                f"key {key!r} was used to import {done.body['of']} other rows; use a new key for new rows"
            )
        return 0
    for index, body in enumerate(bodies):
        event = draft.add("imported", body)
        if index == 0 and key is not None:
            draft.transaction.put_key(key, event.seq)
    return int(bodies[0]["of"])


def imported_bodies(state: StudyState, frame: Any, arm: Arm | Mapping[str, Level] | None) -> list[dict[str, Any]]:
    """The bodies of the events that import a table, checked and in chunks."""
    rows = state.policy.history.encode_many(frame, arm, missing=True)
    problem = state.problem
    if not len(rows.arms):
        raise ObservationError("the table has no rows; there is nothing to import")
    numbers = [index for index, variable in enumerate(problem.observed) if variable.is_number]
    seen: dict[str, list[Any]] = {}
    for index, variable in enumerate(problem.observed):
        codes = rows.codes[:, index]
        if variable.is_number:
            values = rows.raw[:, numbers.index(index)]
            seen[variable.name] = [None if np.isnan(value) else value for value in values.tolist()]
        else:
            seen[variable.name] = [None if code == MISSING else variable.levels[code] for code in codes.tolist()]
    seen[problem.target] = [problem.reward.told(reward) for reward in rows.rewards.tolist()]
    bodies = []
    for start in range(0, len(rows.arms), CHUNK):
        part = slice(start, start + CHUNK)
        columns = {name: values[part] for name, values in seen.items()}
        bodies.append({"of": len(rows.arms), "arms": rows.arms[part].tolist(), "seen": columns})
    return bodies


def parse_metrics(problem: Problem, pairs: Iterable[str]) -> dict[str, Any]:
    """Values from texts such as clicked=1; an empty value is missing."""
    check_problem(problem)
    if not are_names(pairs):
        raise ObservationError(f"{brief(pairs)} is not a list of strings of the form variable=value")
    metrics: dict[str, Any] = {}
    numbers = {variable.name for variable in problem.observed if variable.is_number} | {problem.target}
    for pair in pairs:
        name, sign, text = pair.partition("=")
        name, text = name.strip(), text.strip()
        if not sign or not name:
            raise ObservationError(f"{brief(pair)} is not of the form variable=value")
        if name in metrics:
            raise ObservationError(f"{name!r} is given twice")
        metrics[name] = None if text in ("", *MISSING_WORDS) and text not in _levels(problem, name) else text
        if name in numbers and metrics[name] is not None:
            metrics[name] = parse_reward(problem, text) if name == problem.target else _number(name, text)
    return metrics


def parse_reward(problem: Problem, text: str) -> float | str:
    """The reward from its text; one of 0 or 1 may be called False or True, and an ordered level has a name."""
    check_problem(problem)
    if not isinstance(text, str):
        raise ObservationError(f"the reward is {brief(text)}; expected the text of a number")
    if problem.reward.kind == "levels":
        return text.strip()
    words = {} if problem.reward_is_real else {"false": 0.0, "true": 1.0}
    word = text.strip().lower()
    return words[word] if word in words else _number(problem.target, text)


def _number(name: str, text: str) -> float:
    """A number from its text."""
    try:
        return float(text)
    except ValueError:
        raise ObservationError(f"{name!r} is {brief(text)}; expected a number") from None


def _levels(problem: Problem, name: str) -> set[str]:
    return {str(level) for variable in problem.observed if variable.name == name for level in variable.levels}

"""Tables that a study is given: outcomes of its decisions, and logged rows from before."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np

from ..data import MISSING
from ..data.cell_types import MISSING_WORDS
from ..data.coding import is_missing
from ..data.frames import columns_of
from ..doors import are_names
from ..errors import CausalBanditsError, ObservationError, OptionError, brief, flag, listing
from ..problem import Arm, Level, Problem
from .session import Draft
from .state import StudyState

CHUNK = 20_000
"""Rows in one event; a key compares imports event by event, so it stays as it is."""


def tell_rows(draft: Draft, frame: Any, *, final: bool) -> int:
    """Tell every row of a table; an error names its row, and then nothing is stored."""
    state, final = draft.state, flag("final", final)
    table = OutcomeTable(state.problem, state.metrics.kinds, frame, final=final)
    told = 0
    close_windows(draft)
    for row, (given, cells) in enumerate(table):
        try:
            number = state.decisions.check(given)
            said = table.said(cells, partial(state.known, number))
            body = state.outcome(number, said, None, final=final) if said or final else None
        except CausalBanditsError as error:
            raise type(error)(f"row {row + 1}: {error}") from None
        if body:
            draft.add("told", body)
            told += 1
    return told


class OutcomeTable:
    """Outcomes in a table: iterating gives the id and the cells of each row."""

    def __init__(self, problem: Problem, metrics: Iterable[str], frame: Any, *, final: bool) -> None:
        self._columns = columns_of(frame)
        self._target, self._metrics = problem.target, tuple(metrics)
        known = (*problem.observed_names, problem.target, *self._metrics)
        self._names = [name for name in self._columns if name in known]
        self._frame = frame
        if "id" not in self._columns or (not self._names and not final):
            wanted = listing(["id", *known])
            raise ObservationError(f"the table has columns {listing(self._columns)}; expected id and some of {wanted}")

    def __iter__(self) -> Iterator[tuple[Any, dict[str, Any]]]:
        columns = [self._columns[name] for name in self._names]
        for row, (given, *values) in enumerate(zip(self._columns["id"], *columns, strict=True)):
            cells = dict(zip(self._names, values, strict=True))
            if isinstance(self._frame, Sequence):
                cells = {name: value for name, value in cells.items() if name in self._frame[row]}
            yield _whole(given), cells

    def said(self, cells: Mapping[str, Any], known: Callable[[], Mapping[str, Any]]) -> dict[str, Any]:
        """What the cells of a row say, given what is known of its decision."""
        found = dict(cells) if isinstance(self._frame, Sequence) else self._without_empty(cells, known)
        for name in (self._target, *self._metrics):
            if is_missing(found.get(name)):
                found.pop(name, None)
        return found

    def _without_empty(self, cells: Mapping[str, Any], known: Callable[[], Mapping[str, Any]]) -> dict[str, Any]:
        """What a row of a table says: an empty cell says nothing, unless its row has a reward.

        Then the row is complete, and what was not reported before is missing. (A list of dicts needs no such rule:
        there a name may be left out, and None says that a value is missing.)
        """
        complete = not is_missing(cells.get(self._target))
        before = known() if complete else {}
        return {
            name: value for name, value in cells.items() if not is_missing(value) or (complete and name not in before)
        }


def close_windows(draft: Draft) -> None:
    """Record which decisions have a reward window that has closed by now."""
    until = draft.state.late.closes(draft.state.decisions, draft.now)
    if until is not None:
        draft.add("closed", {"until": until})


def _whole(value: Any) -> Any:
    """Accept ids that a table stores as 3.0."""
    return int(value) if isinstance(value, float) and value.is_integer() and abs(value) < 2**63 else value


def imported_bodies(state: StudyState, frame: Any, arm: Arm | Mapping[str, Level] | None) -> list[dict[str, Any]]:
    """The bodies of the events that import a table, checked and in chunks."""
    rows = state.policy.history.encode_many(frame, arm, missing=True)
    problem = state.problem
    if not len(rows.arms):
        raise ObservationError("the table has no rows; there is nothing to import")
    numbers = [place for place, variable in enumerate(problem.observed) if variable.is_number]
    seen: dict[str, list[Any]] = {}
    for place, variable in enumerate(problem.observed):
        codes = rows.codes[:, place]
        if variable.is_number:
            values = rows.raw[:, numbers.index(place)]
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


def check_problem(problem: object) -> None:
    """Validate `problem`."""
    if not isinstance(problem, Problem):
        raise OptionError(f"problem is of type {type(problem).__name__}; expected causal_bandits.Problem(...)")


def parse_metrics(problem: Problem, pairs: Iterable[str]) -> dict[str, Any]:
    """Values from texts such as clicked=1; an empty value is missing."""
    check_problem(problem)
    if not are_names(pairs):
        raise ObservationError(f"{brief(pairs)} is not a list of texts of the form variable=value")
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

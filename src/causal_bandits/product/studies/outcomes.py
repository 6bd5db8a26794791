"""Outcomes: what is reported of a decision, its metrics and rewards that come late; the same in every mode.

Windows close by the times of events, never by a clock that is read while replaying: an event says up to which decision
they have closed. `since` of decisions never falls from one to the next, so that is one number.
"""

import contextlib
import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any, Literal, NamedTuple

import numpy as np

from ...core.compiled import Floats
from ...core.data.cell_types import MISSING_WORDS
from ...core.data.coding import is_missing
from ...core.data.frames import columns_of
from ...core.problem import Problem, check_problem
from ...core.validation import are_names, is_number
from ...errors import (
    CausalBanditsError,
    ConflictError,
    DecisionClosedError,
    ObservationError,
    OptionError,
    ProblemError,
    brief,
    listing,
)
from .decisions import OWN, Decisions, Kind, checked_number

KINDS = {bool: "binary", float: "real", "binary": "binary", "bool": "binary", "real": "real", "float": "real"}
LARGEST = 1e100

EXPECTED = "bool (0 or 1), float (a number) or (lowest, highest)"


def read_metrics(problem: Problem, given: object) -> dict[str, Any]:
    """Metrics that a caller declares: name -> "binary", "real" or [lowest, highest]."""
    if not isinstance(given, Mapping):
        raise OptionError(f"metrics={brief(given)}; expected {{name: {EXPECTED}}}")
    taken = {*problem.observed_names, *problem.intervention_names, problem.target, *OWN}
    found: dict[str, Any] = {}
    for name, kind in given.items():
        if not isinstance(name, str) or not name.strip():
            raise ProblemError(f"metric {brief(name)}: expected a name, a non-empty string")
        if name in taken:
            other = "a column of the decision table" if name in OWN else "a variable"
            raise ProblemError(f"metric {name!r} has the same name as {other}; rename the metric")
        if isinstance(kind, str | type) and kind in KINDS:
            found[name] = KINDS[kind]
        elif (
            isinstance(kind, list | tuple)
            and len(kind) == 2
            and all(map(is_number, kind))
            and -LARGEST <= kind[0] < kind[1] <= LARGEST
        ):
            found[name] = [float(kind[0]), float(kind[1])]
        else:
            given_kind = f"has type {kind.__name__}" if isinstance(kind, type) else f"is {brief(kind)}"
            raise OptionError(f"metric {name!r} {given_kind}; expected {EXPECTED}")
    return found


def metric_value(kinds: Mapping[str, Any], name: str, given: Any) -> float | None:
    """The value of a metric from what a caller gives; None if there is none. Checked."""
    if given is None or (isinstance(given, float) and math.isnan(given)):
        return None
    kind = kinds[name]
    try:
        value = float(given) if is_number(given) or isinstance(given, str | bool | np.bool_) else math.nan
    except ValueError:
        value = math.nan
    if kind == "binary" and value not in (0.0, 1.0):
        raise ObservationError(f"{name!r} is {brief(given)}; expected 0 or 1")
    if not abs(value) <= LARGEST:
        raise ObservationError(f"{name!r} is {brief(given)}; expected a finite number")
    if not isinstance(kind, str) and not kind[0] <= value <= kind[1]:
        low, high = kind
        raise ObservationError(f"{name!r} is {brief(given)}; expected its declared range, {low:g} to {high:g}")
    return value


class Outcome(NamedTuple):
    """One reported outcome: `values` gives what the caller says of its decision, from what is on record."""

    decision: object
    values: Callable[[Mapping[str, Any]], Mapping[str, Any] | None]
    reward: object = None
    row: int | None = None
    """Its row in a table; errors begin with it."""


class OutcomeRules(NamedTuple):
    """What outcomes of a study are checked by."""

    problem: Problem
    needed: tuple[str, ...]
    """Variables without which the policy counts no row."""
    metrics: Mapping[str, Any]
    """Guardrail metrics that the study has, as `read_metrics` gives them."""
    value: Callable[[str, object], Any]
    """The value of a variable or a metric from what a caller gives."""
    window: float | None = None
    frozen: int = 0
    """Outcomes of decisions up to this number cannot change any more, since the study is finished."""

    @property
    def names(self) -> set[str]:
        """The names of a complete outcome."""
        return {*self.problem.observed_names, self.problem.target}


class OnRecord(NamedTuple):
    """What is on record of a decision."""

    values: Mapping[str, Any]
    """Of variables and metrics."""
    closed: str | None = None
    """"abandoned" or "expired", if it is."""
    window_closed: bool = False
    is_open: bool = True
    earlier: Mapping[str, Sequence[Any]] = {}
    """Values on record that were corrected since; repeating one changes nothing."""


class Keyed(NamedTuple):
    """A decision by the key that it was asked for with."""

    key: str


def named_outcomes(outcomes: Iterable[Outcome], find: Callable[[str], int]) -> Iterator[Outcome]:
    """Outcomes whose decisions are named by their ids; `find` gives that of a key."""
    for outcome in outcomes:
        with _in_row(outcome):
            key = outcome.decision
            yield outcome._replace(decision=find(key.key)) if isinstance(key, Keyed) else outcome


Report = tuple[Kind, int, dict[str, Any]]
"""An event about one decision: its kind, the decision and its body."""


Reporter = Callable[[OutcomeRules, int, Outcome, OnRecord], tuple[Kind, dict[str, Any]] | None]
"""What an outcome says of its decision: the kind and the body of an event, or None if that is no news."""


def reports(
    rules: OutcomeRules,
    reporter: Reporter,
    outcomes: Iterable[Outcome],
    made: int,
    on_record: Callable[[int], OnRecord],
) -> Iterator[Report]:
    """The events of a call; the caller puts each on record before the next one is made.

    `made` is the number of decisions so far.
    """
    for outcome in outcomes:
        with _in_row(outcome):
            number = checked_number(outcome.decision, made)
            event = reporter(rules, number, outcome, on_record(number))
        if event is not None:
            yield event[0], number, event[1]


def told(
    rules: OutcomeRules, number: int, outcome: Outcome, before: OnRecord, *, final: bool
) -> tuple[Kind, dict[str, Any]] | None:
    """What is new of a decision (`seen`, `final`)."""
    news = _news(rules, number, outcome, before, final=final)
    return ("told", {"id": number, **news}) if news else None


def corrected(
    rules: OutcomeRules, number: int, outcome: Outcome, before: OnRecord, *, reason: str
) -> tuple[Kind, dict[str, Any]] | None:
    """The values on record that an outcome replaces."""
    news = _corrected_values(rules, number, outcome, before)
    return ("corrected", {"id": number, "values": news, "reason": reason}) if news else None


def closed(
    _: OutcomeRules, number: int, __: Outcome, before: OnRecord, *, how: Literal["abandoned", "expired"]
) -> tuple[Kind, dict[str, Any]] | None:
    """That a decision ends without an outcome."""
    if before.closed is not None:
        return None
    if not before.is_open and how == "abandoned":
        raise DecisionClosedError(f"decision {number} already has its outcome and cannot be abandoned")
    return (how, {"ids": [number]}) if before.is_open else None


def recorded(rules: OutcomeRules, before: OnRecord, kind: str, body: Mapping[str, Any]) -> OnRecord:
    """What is on record after an event."""
    earlier = {name: [*each] for name, each in before.earlier.items()}
    for name in body.get("values", {}):
        earlier.setdefault(name, []).append(before.values[name])
    values = {**before.values, **body.get("seen", {}), **body.get("values", {})}
    closed = kind if "ids" in body else before.closed
    is_open = closed is None and not has_outcome(rules.problem, rules.needed, values)
    return OnRecord(values, closed, is_open=is_open, earlier=earlier)


@contextlib.contextmanager
def _in_row(outcome: Outcome) -> Iterator[None]:
    """Name the row of a table in errors about its outcome."""
    try:
        yield
    except CausalBanditsError as error:
        raise (error if outcome.row is None else type(error)(f"row {outcome.row}: {error}")) from None


def _news(rules: OutcomeRules, number: int, outcome: Outcome, before: OnRecord, *, final: bool) -> dict[str, Any]:
    said = outcome.values(before.values)
    if outcome.row is not None and not said and not final:  # a row of a table that says nothing
        return {}
    seen = _checked_values(rules, number, said, outcome.reward, final=final)
    if before.closed is not None:
        raise DecisionClosedError(f"decision {number} is {before.closed}; it takes no more outcomes")
    seen = {
        name: value
        for name, value in seen.items()
        if value not in before.earlier.get(name, ()) and not (value is None and name in rules.metrics)
    }
    _check_window(rules, number, before, seen, final=final)
    values = _added(rules, number, before.values, seen, final=final)
    if number <= rules.frozen:
        if values:
            raise DecisionClosedError(f"decision {number} takes no more outcomes; the study is finished")
        return {}
    if final and rules.window is not None and before.is_open:
        return {"seen": values, "final": True}
    return {"seen": values} if values else {}


def _checked_values(
    rules: OutcomeRules, number: int, given: Mapping[str, Any] | None, reward: object, *, final: bool
) -> dict[str, Any]:
    """The values that a caller gives for a decision, each checked."""
    if given is not None and not isinstance(given, Mapping):
        raise ObservationError(f"mediators={brief(given)} is not a mapping variable -> value")
    said = dict(given or {})
    target = rules.problem.target
    if reward is not None:
        if target in said and said[target] != reward:
            raise ObservationError(
                f"the reward {target!r} is {said[target]!r} among the mediators, but {reward!r} as the reward"
            )
        said[target] = reward
    if not said and not final:
        raise ObservationError(f"no values for decision {number}; pass mediators or a reward, or final=True")
    return {name: rules.value(name, value) for name, value in said.items()}


def _check_window(rules: OutcomeRules, number: int, before: OnRecord, seen: Mapping[str, Any], *, final: bool) -> None:
    """Reject a reward that comes after its window: by then the decision counts as one without."""
    target, known = rules.problem.target, before.values
    if not before.window_closed or seen.get(target, 0) == 0 or known.get(target, 0) != 0:
        return
    if target in known or not final:
        raise DecisionClosedError(
            f"decision {number}: the reward {target!r} of {seen[target]!r} came after its window of "
            f"{rules.window:g} seconds had closed; rewards count within the window only"
        )


def _added(
    rules: OutcomeRules, number: int, known: Mapping[str, Any], seen: Mapping[str, Any], *, final: bool
) -> dict[str, Any]:
    """What is new beside what is known; contradicting it is an error, and `final` marks what is unknown as missing.

    What the policy needs cannot be missing.
    """
    problem = rules.problem
    for name, given in seen.items():
        if name in known and known[name] != given:
            what = "use correct() to change a recorded value"
            if number <= rules.frozen:
                what = "the study is finished, so recorded values stay as they are"
            old, new = _spoken(known[name]), _spoken(given)
            raise ConflictError(f"decision {number}: {name!r} is recorded as {old}, and now reported as {new}; {what}")
    if final:
        if problem.target not in known and problem.target not in seen:
            raise ObservationError(
                f"decision {number} has no reward {problem.target!r} yet; record the reward before final=True, "
                "or with it"
            )
        seen = dict.fromkeys(problem.observed_names) | dict(known) | dict(seen)
    news = {name: given for name, given in seen.items() if name not in known}
    for name in rules.needed:
        if name in news and news[name] is None:
            raise ObservationError(
                f"decision {number}: {name!r} is missing, and the policy of this study counts no row without it; "
                "abandon the decision if the value will never come"
            )
    return news


def _spoken(value: object) -> str:
    return "missing" if value is None else repr(int(value) if value in (0.0, 1.0) else value)


def has_outcome(problem: Problem, needed: Iterable[str], known: Mapping[str, Any]) -> bool:
    """Whether the row of a decision can count: its reward is known, and what the policy needs (see `Policy.needed`)."""
    return problem.target in known and all(name in known for name in needed)


def _corrected_values(rules: OutcomeRules, number: int, outcome: Outcome, before: OnRecord) -> dict[str, Any]:
    """The values of a decision that a correction changes; all that it names must be on record."""
    if number <= rules.frozen:
        raise DecisionClosedError(f"decision {number} cannot be corrected; the study is finished")
    known, given, reward = before.values, outcome.values({}), outcome.reward
    if before.closed is not None or not known:
        closed = "" if before.closed is None else f" is {before.closed} and"
        raise ObservationError(f"decision {number}{closed} has no outcome to correct; tell() records one")
    if not given and reward is None:
        raise ObservationError(f"no values for decision {number}; pass the mediators or the reward to correct")
    values = _checked_values(rules, number, given, reward, final=False)
    for name, value in values.items():
        if name not in known:
            raise ObservationError(f"decision {number} has no {name!r} on record to correct; tell() records one")
        if value is None and name in rules.metrics:
            raise ObservationError(f"decision {number}: {name!r} cannot be corrected to a missing value; give a number")
        if value is None and name in rules.needed:
            raise ObservationError(f"decision {number}: the policy of this study counts no row without {name!r}")
    return {name: value for name, value in values.items() if known[name] != value}


FEWEST_POSITIVE = 10
LEAST_WITHOUT = 0.05
"""Zeros seem not to be reported from this number of positive rewards on, and this share of decisions without any."""


def unreported_zeros(problem: Problem, decisions: Decisions, rewards: Floats, window: float | None) -> str:
    """Whether zeros seem not to be reported, in one sentence; empty if nothing says so.

    Without a window a decision without a reward counts for nothing. If, then, only those who buy are reported, every
    mean is that of buyers. A reward that is any number, or that cannot be 0, says nothing.
    """
    if window is not None or problem.reward.kind not in ("binary", "count", "revenue"):
        return ""
    rows = decisions.column("row")[decisions.included]
    reported = rewards[rows[rows >= 0].astype(np.int64)]
    without = len(rows) - len(reported)
    if (
        len(reported) < FEWEST_POSITIVE
        or without < max(FEWEST_POSITIVE, LEAST_WITHOUT * len(rows))
        or (reported <= 0).any()
    ):
        return ""
    return (
        f"All {len(reported):,} reported rewards are positive and {without:,} decisions have none, so rewards of 0 "
        "seem to be missing; report them, or create the study with reward_window= so that a missing reward counts as 0."
    )


def mediators_known(problem: Problem, part: Mapping[str, Any]) -> bool:
    """Whether every observed variable was reported, even if as missing."""
    return all(name in part for name in problem.observed_names)


# Outcomes in tables and in texts


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

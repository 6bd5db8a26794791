"""Outcomes: what a caller reports of a decision, checked against what is on record of it; the same in every mode."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from ...core.problem import Problem
from ...errors import CausalBanditsError, ConflictError, DecisionClosedError, ObservationError, brief
from .decisions import checked_number
from .metrics import Metrics


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
    metrics: Metrics
    value: Callable[[str, object], Any]
    """The value of a variable from what a caller gives."""
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
    metrics: Mapping[str, float]
    closed: str | None = None
    """"abandoned" or "expired", if it is."""
    window_closed: bool = False
    is_open: bool = True
    earlier: Mapping[str, Sequence[Any]] = {}
    """Values on record that were corrected since; repeating one changes nothing."""


class Keyed(NamedTuple):
    """A decision by the key that it was asked for with."""

    key: str


def new_outcomes(
    rules: OutcomeRules,
    outcomes: Iterable[Outcome],
    made: int,
    on_record: Callable[[int], OnRecord],
    *,
    final: bool,
    find: Callable[[str], int] | None = None,
) -> Iterator[tuple[int, dict[str, Any]]]:
    """What outcomes add to the record: the number of each decision and what is new of it (`seen`, `metrics`, `final`).

    `made` is the number of decisions so far, and `find` gives the decision of a key. The caller puts what is yielded on
    record before it continues.
    """
    for outcome in outcomes:
        try:
            given = outcome.decision
            if isinstance(given, Keyed) and find is not None:
                given = find(given.key)
            number = checked_number(given, made)
            news = _news(rules, number, outcome, on_record(number), final=final)
        except CausalBanditsError as error:
            raise (error if outcome.row is None else type(error)(f"row {outcome.row}: {error}")) from None
        if news:
            yield number, news


def _news(rules: OutcomeRules, number: int, outcome: Outcome, before: OnRecord, *, final: bool) -> dict[str, Any]:
    said, metrics = outcome.values(before.values), {}
    if outcome.row is not None and not said and not final:  # a row of a table that says nothing
        return {}
    only_metrics = False
    if rules.metrics.kinds and isinstance(said, Mapping):
        left = dict(said)
        metrics = rules.metrics.taken_from(number, left, before.metrics, before.earlier)
        only_metrics = len(left) < len(said) and not left and outcome.reward is None and not final
        said = left
    seen = {} if only_metrics else _checked_values(rules, number, said, outcome.reward, final=final)
    if before.closed is not None:
        raise DecisionClosedError(f"decision {number} is {before.closed}; it takes no more outcomes")
    seen = {name: value for name, value in seen.items() if value not in before.earlier.get(name, ())}
    _check_window(rules, number, before, seen, final=final)
    values = _added(rules, number, before.values, seen, final=final)
    more = {"metrics": metrics} if metrics else {}
    if number <= rules.frozen:
        if values or metrics:
            raise DecisionClosedError(f"decision {number} takes no more outcomes; the study is finished")
        return {}
    if final and rules.window is not None and before.is_open:
        return {"seen": values, **more, "final": True}
    return {"seen": values, **more} if values or metrics else {}


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
        raise ObservationError(f"decision {number} got no values; pass mediators or a reward, or final=True")
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
            raise ConflictError(
                f"decision {number}: {name!r} was told to be {_spoken(known[name])}, now {_spoken(given)}; "
                "correct() changes recorded values"
            )
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
    return "missing" if value is None else repr(value)


def has_outcome(problem: Problem, needed: Iterable[str], known: Mapping[str, Any]) -> bool:
    """Whether the row of a decision can count: its reward is known, and what the policy needs (see `Policy.needed`)."""
    return problem.target in known and all(name in known for name in needed)


def corrected_values(
    rules: OutcomeRules, number: int, given: object, reward: object, before: OnRecord
) -> dict[str, Any]:
    """The values of a decision that a correction changes; all that it names must be on record."""
    if number <= rules.frozen:
        raise DecisionClosedError(f"decision {number} cannot be corrected; the study is finished")
    known = {**before.values, **before.metrics}
    if before.closed is not None or not known:
        closed = "" if before.closed is None else f" is {before.closed} and"
        raise ObservationError(f"decision {number}{closed} has no outcome to correct; tell() records one")
    said = dict(given) if isinstance(given, Mapping) else given
    metrics = {name: said.pop(name) for name in rules.metrics.kinds if name in said} if isinstance(said, dict) else {}
    empty = not said and reward is None
    if empty and not metrics:
        raise ObservationError(f"decision {number} got no values; pass the mediators or the reward to correct")
    values = {} if metrics and empty else _checked_values(rules, number, said, reward, final=False)  # type: ignore[arg-type]
    for name, value in metrics.items():
        values[name] = rules.metrics.value(name, value)
        if values[name] is None:
            raise ObservationError(f"decision {number}: {name!r} cannot be corrected to nothing; give a number")
    for name, value in values.items():
        if name not in known:
            raise ObservationError(f"decision {number} has no {name!r} on record to correct; tell() records one")
        if value is None and name in rules.needed:
            raise ObservationError(f"decision {number}: the policy of this study counts no row without {name!r}")
    return {name: value for name, value in values.items() if known[name] != value}

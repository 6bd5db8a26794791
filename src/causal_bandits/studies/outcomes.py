"""What an outcome says and what it adds, in every kind of study."""

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from ..errors import ConflictError, ObservationError, brief
from ..problem import Problem


def said_of(
    problem: Problem,
    value: Callable[[str, object], Any],
    number: int,
    metrics: Mapping[str, Any] | None,
    reward: object | None,
    *,
    final: bool,
) -> dict[str, Any]:
    """The values that a caller gives for a decision, each checked by `value`."""
    if metrics is not None and not isinstance(metrics, Mapping):
        raise ObservationError(f"metrics {brief(metrics)} is not a mapping variable -> value")
    said = dict(metrics or {})
    target = problem.target
    if reward is not None:
        if target in said and said[target] != reward:
            raise ObservationError(
                f"the reward {target!r} is {said[target]!r} among the metrics, but {reward!r} as the reward"
            )
        said[target] = reward
    if not said and not final:
        raise ObservationError(f"decision {number} got no values; pass metrics or a reward, or final=True")
    return {name: value(name, given) for name, given in said.items()}


def has_outcome(problem: Problem, needed: Iterable[str], known: Mapping[str, Any]) -> bool:
    """Whether the row of a decision can count: its reward is known, and what the policy needs (see `Policy.needed`)."""
    return problem.target in known and all(name in known for name in needed)


def added_by(
    problem: Problem,
    needed: Iterable[str],
    number: int,
    known: Mapping[str, Any],
    seen: Mapping[str, Any],
    *,
    final: bool,
) -> dict[str, Any]:
    """What is new beside what is known; contradicting it is an error, and `final` makes what is still open missing.

    What the policy needs cannot be missing.
    """
    for name, given in seen.items():
        if name in known and known[name] != given:
            raise ConflictError(
                f"decision {number}: {name!r} was told to be {_spoken(known[name])}, now {_spoken(given)}; "
                "recorded values cannot be changed"
            )
    if final:
        if problem.target not in known and problem.target not in seen:
            raise ObservationError(
                f"decision {number} has no reward {problem.target!r} yet; record the reward before final=True, "
                "or with it"
            )
        seen = dict.fromkeys(problem.observed_names) | dict(known) | dict(seen)
    news = {name: given for name, given in seen.items() if name not in known}
    for name in needed:
        if name in news and news[name] is None:
            raise ObservationError(
                f"decision {number}: {name!r} is missing, and the policy of this study counts no row without it; "
                "abandon the decision if the value will never come"
            )
    return news


def _spoken(value: object) -> str:
    return "missing" if value is None else repr(value)

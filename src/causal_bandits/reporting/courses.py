"""What a policy knew after more and more rows: the evidence of sets, and which arm is the best."""

from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Any, NotRequired, TypedDict

import numpy as np

from ..core.compiled import Bools, Floats
from ..core.discovery import SeparatingSet
from ..core.policies.base import Policy
from ..core.policies.posterior import best_of

POINTS = 24
"""Points of a course."""
ROWS_PER_POINT, FEWEST_POINTS = 8, 4
"""Every point of `chances_over_time` is a fit, so few rows have few of them."""


class SetCourse(TypedDict):
    """The evidence on a set after more and more rows."""

    variables: list[str]
    p_value: list[float | None]
    nats: list[float | None]
    probability: list[float | None]


class EvidenceCourse(TypedDict):
    """The evidence on all sets over time."""

    rows: list[int]
    sets: list[SetCourse]
    times: NotRequired[list[str]]
    """When there were this many rows, in a study."""


class ChanceCourse(TypedDict):
    """The probability of some arms to be the best of those in play today, of their segment where there are some."""

    rows: list[int]
    arms: list[int]
    """By number."""
    chances: list[list[float | None]]
    """For each of `rows`, of each arm; None before that can be said."""


def evidence_over_time(policy: Policy[Any]) -> EvidenceCourse:
    """The evidence on each set after more and more rows."""
    total = policy.rows
    spread = np.geomspace(min(20, max(total, 1)), max(total, 1), POINTS)
    course: EvidenceCourse = {"rows": [], "sets": []}
    for fresh in _replayed(policy, sorted({int(at) for at in spread if at < total})):
        course = with_newest_evidence(course, fresh)
    return with_newest_evidence(course, policy)


def with_newest_evidence(course: EvidenceCourse, policy: Policy[Any]) -> EvidenceCourse:
    """The course up to now: what a policy knows of sets is its last point."""
    kept = sum(at < policy.rows for at in course["rows"])
    newest = {found.variables: found for found in policy.separating_sets(rejected=True)}
    former = {tuple(each["variables"]): each for each in course["sets"]}
    return {
        "rows": [*course["rows"][:kept], policy.rows],
        "sets": [_lengthened(former.get(name), newest.get(name), name, kept) for name in {**newest, **former}],
    }


def _lengthened(
    course: SetCourse | None, newest: SeparatingSet | None, variables: tuple[str, ...], kept: int
) -> SetCourse:
    """What is known of a set at the first `kept` points and now."""
    if course is None:
        course = {"variables": [], "p_value": [None] * kept, "nats": [None] * kept, "probability": [None] * kept}
    evidence = None if newest is None else newest.evidence
    tested = [] if evidence is None else [test.p_value for test in evidence.tests.values() if test.dof > 0]
    nats = [] if evidence is None else [each for each in evidence.log_bayes_factor.values() if np.isfinite(each)]
    return {
        "variables": list(variables),
        "p_value": [*course["p_value"][:kept], min(tested, default=None)],
        "nats": [*course["nats"][:kept], min(nats, default=None)],
        "probability": [*course["probability"][:kept], None if evidence is None else evidence.probability],
    }


def chances_over_time(
    policy: Policy[Any], arms: Sequence[int], among: Bools | None = None, cost: Floats | None = None
) -> ChanceCourse:
    """Replay all rows and look at some arms, at points that are evenly spread over the rows.

    Args:
        policy: The policy as it is now.
        arms: The arms to look at, by number.
        among: (arms,): which of the allowed arms are compared; all by default.
        cost: (arms,): the best arm is the one whose mean less its cost is the highest.
    """
    allowed = policy.allowed if among is None else policy.allowed & among
    segments, total = policy.problem.arm_segments, policy.rows
    count = min(max(total // ROWS_PER_POINT, FEWEST_POINTS), POINTS)
    points = sorted({int(at) for at in np.linspace(total / count, total, count)} - {0})
    found: list[list[float | None]] = []
    for fresh in _replayed(policy, points):
        if not fresh.can_compare:
            found.append([None] * len(arms))
            continue
        draws, shares = fresh.posterior().draws - (0.0 if cost is None else cost), np.zeros(len(allowed))
        for segment in range(int(segments.max()) + 1):
            among = allowed & (segments == segment)
            shares[among] = best_of(draws, among)[among] if among.any() else 0.0
        found.append(shares[list(arms)].tolist())
    return {"rows": points, "arms": list(arms), "chances": found}


def with_newest_chances(course: ChanceCourse, rows: int, newest: Mapping[int, float | None]) -> ChanceCourse:
    """The course up to now: what is known after `rows` rows, of each arm by its number, is its last point.

    >>> course: ChanceCourse = {"rows": [10, 20], "arms": [3], "chances": [[0.4], [0.6]]}
    >>> with_newest_chances(course, 20, {3: 0.62})["chances"], with_newest_chances(course, 21, {3: 0.62})["rows"]
    ([[0.4], [0.62]], [10, 20, 21])
    """
    if not rows:
        return course
    kept = sum(at < rows for at in course["rows"])
    return {
        "rows": [*course["rows"][:kept], rows],
        "arms": course["arms"],
        "chances": [*course["chances"][:kept], [newest.get(arm) for arm in course["arms"]]],
    }


def _replayed(policy: Policy[Any], points: Sequence[int]) -> Iterator[Policy[Any]]:
    """A fresh policy that has learned the first rows of another, up to each point."""
    fresh = type(policy).from_options(policy.problem, policy.options())
    for start, end in pairwise([0, *points]):
        fresh.learn(policy.history.since(start, end))
        yield fresh

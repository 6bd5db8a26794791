"""How probable it was that an arm is the best one, after more and more rows."""

from collections.abc import Mapping, Sequence
from typing import Any, TypedDict

import numpy as np

from ..compiled import Bools, Floats
from ..data import Rows
from .base import Policy
from .posterior import best_of

POINTS = 24


class ChanceCourse(TypedDict):
    """The probability of some arms to be the best of those in play today, of their segment where there are some."""

    rows: list[int]
    arms: list[int]
    """By number."""
    chances: list[list[float | None]]
    """For each of `rows`, of each arm; None before that can be said."""


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
    rows, segments = policy.history.rows, policy.problem.arm_segments
    total = len(rows.arms)
    points = sorted({int(at) for at in np.linspace(total / POINTS, total, POINTS)} - {0})
    fresh = type(policy).from_options(policy.problem, policy.options())
    found: list[list[float | None]] = []
    start = 0
    for at in points:
        fresh.learn(Rows(rows.arms[start:at], rows.codes[start:at], rows.rewards[start:at], rows.raw[start:at]))
        start = at
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

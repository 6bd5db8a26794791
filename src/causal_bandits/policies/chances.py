"""How probable it was that an arm is the best one, after more and more rows."""

from collections.abc import Sequence
from typing import Any, TypedDict

import numpy as np

from ..data import Rows
from ..errors import CausalBanditsError
from .base import Policy
from .comparators.base import CountingPolicy
from .comparators.counts import narrowed
from .protocol import believed, look
from .standing import recommendation

POINTS = 24
DRAWS = 500
"""Draws from the posterior for each point: a probability has a standard error of at most 2.3 %."""


class ChanceCourse(TypedDict):
    """The probability of some arms to be the best of those in play today, of their segment where there are some."""

    rows: list[int]
    arms: list[int]
    """By number."""
    chances: list[list[float | None]]
    """For each of `rows`, of each arm; None before that can be said."""


def chances_over_time(policy: Policy[Any], arms: Sequence[int]) -> ChanceCourse:
    """Replay all rows and look at some arms, at points that are evenly spread over the rows."""
    rows = policy.history.rows
    total = len(rows.arms)
    points = sorted({int(at) for at in np.linspace(total / POINTS, total, POINTS)} - {0})
    fresh = type(policy).from_options(policy.problem, policy.options())
    fresh.allowed = policy.allowed.copy()
    found: list[list[float | None]] = []
    start = 0
    for at in points:
        fresh.learn(Rows(rows.arms[start:at], rows.codes[start:at], rows.rewards[start:at], rows.raw[start:at]))
        start = at
        found.append(_chances(fresh, arms))
    return {"rows": points, "arms": list(arms), "chances": found}


def _chances(policy: Policy[Any], arms: Sequence[int]) -> list[float | None]:
    try:
        policy.recommend(draws=1)
    except CausalBanditsError:  # too few rows
        return [None] * len(arms)
    return [_chance(policy, arm) if policy.allowed[arm] else 0.0 for arm in arms]


def _chance(policy: Policy[Any], arm: int) -> float:
    """All arms are looked at with the same draws: these depend on the number of rows alone."""
    problem, state = policy.problem, policy._reading()
    if problem.segments:
        state = policy._among(state, policy.allowed & (problem.arm_segments == problem.arm_segments[arm]))
    if isinstance(policy, CountingPolicy):
        state = narrowed(state, look, believed)
    return recommendation(state, problem.arms[arm], 0.0, problem, policy.rows, DRAWS, 0.0).probability_best

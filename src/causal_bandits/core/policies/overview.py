"""What a policy knows in plain values, for JSON, pages and tables, and how it came about as rows came in."""

import math
from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Annotated, Any, NotRequired, TypedDict

import numpy as np

from ..compiled import Bools, Floats
from ..discovery import SeparatingSet
from ..problem import Level
from ..serialization import to_json
from .advice import Advice
from .base import Policy
from .estimates import Estimates, Lift
from .lifts import Effects, LevelEffect
from .posterior import best_of
from .recommendation import Recommendation

POINTS = 24
"""Points of a course."""


LiftRow = Annotated[dict[str, Any], Lift]
EffectRow = Annotated[dict[str, Any], LevelEffect]
AdviceRow = Annotated[dict[str, Any], Advice]
"""The JSON of these classes."""


class IntervalRow(TypedDict):
    """A mean with its interval; None if too few rows give no bound."""

    mean: float | None
    low: float | None
    high: float | None
    width: float | None


class ArmRow(IntervalRow):
    """An arm with sharing, and what its own rows say alone (all None: it was never played)."""

    arm: str
    settings: dict[str, Level]
    through: list[str] | None
    through_share: float
    """How much that set counts, where it is one of several."""
    own_rows: int
    used_rows: int
    borrowed_rows: float
    pending_rows: int
    """Rows that wait for their reward, and how many own rows what they say is worth."""
    pending_worth: float
    without_sharing: IntervalRow
    status: NotRequired[str]
    """Active, never played; not allowed in a policy that is restricted; forbidden or retired in a study."""
    decisions: NotRequired[int]
    """In a study; and the sum of the rewards of its own rows."""
    reward_total: NotRequired[float]
    segment: NotRequired[dict[str, Level]]
    """Where the problem has segments; and then what the arm does there."""
    lever_arm: NotRequired[str]
    is_control: NotRequired[bool]
    lift: NotRequired[LiftRow | None]
    """Over the control, where there is one."""
    cost: NotRequired[float]
    net: NotRequired[float | None]
    """The mean less the cost."""
    probability_best: NotRequired[float | None]
    """In a study: as `recommend` counts it; None for an arm that cannot be recommended."""


class LeverTest(TypedDict):
    """One test of a set."""

    levers: list[str]
    statistic: float
    dof: int
    p_value: float


class SetRow(TypedDict):
    """A set with all that speaks for it or against it."""

    variables: list[str]
    separated: list[str]
    accepted: bool
    rows: int
    source: str
    tests: list[LeverTest]
    confidence: dict[str, float]
    log_bayes_factor: dict[str, float | None]
    given_others: dict[str, float | None]
    probability: float | None
    """That it separates all levers, where that was learned."""
    weight: float | None
    """How much of the arms' estimates comes through it, on average over arms, where that was learned."""
    alarm: bool | None
    """Whether it no longer holds; None if that is not watched."""
    alarm_row: int | None


class SetCourse(TypedDict):
    """The evidence on a set after more and more rows."""

    variables: list[str]
    p_value: list[float | None]
    nats: list[float | None]
    probability: list[float | None]


class EvidenceCourse(TypedDict):
    """How the evidence on all sets came about."""

    rows: list[int]
    sets: list[SetCourse]
    times: NotRequired[list[str]]
    """When there were this many rows, in a study."""


class RecommendationRow(TypedDict):
    """The arm to take."""

    arm: str
    segment: NotRequired[dict[str, Level]]
    """Where the problem has segments; and then what the arm does there."""
    lever_arm: NotRequired[str]
    settings: dict[str, Level]
    mean: float
    probability_best: float
    probability_close: float
    margin: float
    expected_loss: float
    stands_out: bool
    verdict: str
    """What to make of it, in one sentence."""


class ChanceCourse(TypedDict):
    """The probability of some arms to be the best of those in play today, of their segment where there are some."""

    rows: list[int]
    arms: list[int]
    """By number."""
    chances: list[list[float | None]]
    """For each of `rows`, of each arm; None before that can be said."""


def finite(value: float) -> float | None:
    """A number for JSON; None for an infinite bound or an unknown mean."""
    return float(value) if math.isfinite(value) else None


def effect_rows(effects: Effects) -> list[EffectRow]:
    """Per level: what it does; those that no pair of arms tells anything about are left out."""
    return [to_json(row) for row in effects if row.settings]


def arm_rows(policy: Policy[Any], level: float = 0.95, *, found: Estimates | None = None) -> list[ArmRow]:
    """Per arm: the estimate with and without sharing, own and borrowed rows; the best first, the unknown last.

    `found` are the estimates, where they say more than those of the policy.
    With segments, one segment after the other.
    """
    rows: list[ArmRow] = [
        {
            "arm": shared.arm.label,
            "settings": dict(shared.arm),
            "mean": finite(shared.mean),
            "low": finite(shared.low),
            "high": finite(shared.high),
            "width": finite(shared.high - shared.low),
            "through": None if shared.through is None else list(shared.through),
            "through_share": shared.through_share,
            "own_rows": shared.own_rows,
            "used_rows": shared.used_rows,
            "borrowed_rows": round(max(shared.effective_rows - shared.own_rows, 0.0), 1),
            "pending_rows": shared.pending_rows,
            "pending_worth": round(shared.pending_effective, 1),
            "without_sharing": {
                "mean": finite(shared.own_mean),
                "low": finite(shared.own_low),
                "high": finite(shared.own_high),
                "width": finite(shared.own_high - shared.own_low),
            },
            "status": shared.status,
            "is_control": shared.is_control,
            "lift": to_json(shared.lift),
            "cost": shared.cost,
            "net": finite(shared.net),
        }
        for shared in (policy.estimates(level=level) if found is None else found)
    ]
    problem = policy.problem
    if problem.segments:
        for row, arm in zip(rows, problem.arms, strict=True):
            row["segment"], row["lever_arm"] = arm.segment, arm.lever_arm.label
        both = zip(rows, problem.arm_segments.tolist(), strict=True)
        return [row for row, _ in sorted(both, key=lambda pair: (-pair[1], _rank(pair[0])), reverse=True)]
    return sorted(rows, key=_rank, reverse=True)


def _rank(row: ArmRow) -> tuple[bool, float]:
    """Arms with an interval before those with too few rows for one; then by their mean."""
    net = row.get("net", row["mean"])
    return row["width"] is not None, -math.inf if net is None else net


def set_rows(sets: Sequence[SeparatingSet]) -> list[SetRow]:
    """Per set: what it separates, and every test with its p-value (or the nats that speak for it), and its rows."""
    return [
        {
            "variables": list(found.variables),
            "separated": list(found.separated),
            "accepted": found.accepted,
            "rows": found.evidence.rows,
            "source": found.evidence.source,
            "tests": [
                {"levers": list(names), "statistic": result.statistic, "dof": result.dof, "p_value": result.p_value}
                for names, result in found.evidence.tests.items()
            ],
            "confidence": dict(found.evidence.confidence),
            "log_bayes_factor": {name: finite(nats) for name, nats in found.evidence.log_bayes_factor.items()},
            "given_others": {name: finite(nats) for name, nats in found.evidence.given_others.items()},
            "probability": found.evidence.probability,
            "weight": found.evidence.weight,
            "alarm": None if found.drift is None else found.drift.alarm,
            "alarm_row": found.drift.row if found.drift is not None and found.drift.alarm else None,
        }
        for found in sets
    ]


def evidence_over_time(policy: Policy[Any], sets: Sequence[SetRow]) -> EvidenceCourse:
    """The evidence on each set after more and more rows, as a policy sees it; now it is that of `sets`."""
    total = policy.rows
    spread = np.geomspace(min(20, max(total, 1)), max(total, 1), POINTS)
    points = sorted({int(at) for at in spread if at < total})
    course: EvidenceCourse = {"rows": [], "sets": []}
    for fresh in _replayed(policy, points):
        course = with_newest_evidence(course, fresh.rows, set_rows(fresh.separating_sets(rejected=True)))
    return with_newest_evidence(course, total, sets)


def with_newest_evidence(course: EvidenceCourse, rows: int, sets: Sequence[SetRow]) -> EvidenceCourse:
    """The course up to now: what is known of sets after `rows` rows is its last point."""
    kept = sum(at < rows for at in course["rows"])
    found = {tuple(each["variables"]): each for each in course["sets"]}
    names = dict.fromkeys([tuple(row["variables"]) for row in sets] + list(found))
    newest = {tuple(row["variables"]): row for row in sets}
    return {
        "rows": [*course["rows"][:kept], rows],
        "sets": [_lengthened(found.get(name), newest.get(name), list(name), kept) for name in names],
    }


def _lengthened(course: SetCourse | None, newest: SetRow | None, variables: list[str], kept: int) -> SetCourse:
    """What is known of a set at the first `kept` points and now."""
    if course is None:
        course = {"variables": variables, "p_value": [None] * kept, "nats": [None] * kept, "probability": [None] * kept}
    tested = [] if newest is None else [test["p_value"] for test in newest["tests"] if test["dof"] > 0]
    nats = [] if newest is None else [value for value in newest["log_bayes_factor"].values() if value is not None]
    return {
        "variables": variables,
        "p_value": [*course["p_value"][:kept], min(tested, default=None)],
        "nats": [*course["nats"][:kept], min(nats, default=None)],
        "probability": [*course["probability"][:kept], None if newest is None else newest["probability"]],
    }


def recommendation_row(best: Recommendation) -> RecommendationRow:
    """The arm to take, with its mean and how probable it is to be the best."""
    row: RecommendationRow = {
        "arm": best.arm.label,
        "settings": dict(best.arm),
        "mean": best.mean,
        "probability_best": best.probability_best,
        "probability_close": best.probability_close,
        "margin": best.margin,
        "expected_loss": best.expected_loss,
        "stands_out": best.stands_out,
        "verdict": best.verdict,
    }
    if best.segment:
        row["segment"], row["lever_arm"] = best.segment, best.arm.lever_arm.label
    return row


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
    points = sorted({int(at) for at in np.linspace(total / POINTS, total, POINTS)} - {0})
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

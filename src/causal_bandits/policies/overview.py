"""What a policy knows as plain rows, beside what own rows say alone."""

import math
from collections.abc import Sequence
from typing import Any, NotRequired, TypedDict

import numpy as np

from ..data import Rows
from ..discovery import SeparatingSet
from ..problem import Level
from .answer_rows import LiftRow, finite, lift_row
from .base import Policy
from .estimates import Estimates
from .recommendation import Recommendation

POINTS = 24


class IntervalRow(TypedDict):
    """A mean with its interval; None where too few rows give no bound."""

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
    """In a study."""
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
    """That it separates all levers, where that was learnt."""
    weight: float | None
    """How much of the arms' estimates comes through it, on average over arms, where that was learnt."""
    alarm: bool | None
    """Whether it no longer holds; None where that is not watched."""
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


def arm_rows(policy: Policy[Any], level: float = 0.95, *, found: Estimates | None = None) -> list[ArmRow]:
    """Per arm: the estimate with and without sharing, own and borrowed rows; the best first, the unknown last.

    `found` are the estimates, where they say more than those of the policy.
    With segments, one segment after the other.
    """
    rows: list[ArmRow] = [
        {
            "arm": str(shared.arm),
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
            "lift": None if shared.lift is None else lift_row(shared.lift),
            "cost": shared.cost,
            "net": finite(shared.net),
        }
        for shared in (policy.estimates(level=level) if found is None else found)
    ]
    problem = policy.problem
    if problem.segments:
        for row, arm in zip(rows, problem.arms, strict=True):
            row["segment"], row["lever_arm"] = arm.segment, str(arm.lever_arm)
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
    rows = policy.history.rows
    total = len(rows.arms)
    points = sorted({int(at) for at in np.geomspace(min(20, max(total, 1)), max(total, 1), POINTS)} - {total})
    fresh = type(policy).from_options(policy.problem, policy.options())
    course: EvidenceCourse = {"rows": [], "sets": []}
    start = 0
    for at in points:
        fresh.learn(Rows(rows.arms[start:at], rows.codes[start:at], rows.rewards[start:at], rows.raw[start:at]))
        start = at
        course = with_newest_evidence(course, at, set_rows(fresh.separating_sets(rejected=True)))
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
        "arm": str(best.arm),
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
        row["segment"], row["lever_arm"] = best.segment, str(best.arm.lever_arm)
    return row

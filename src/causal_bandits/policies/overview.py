"""What a policy knows as plain rows, beside what own rows say alone."""

import math
from collections.abc import Sequence
from typing import Any, NotRequired, TypedDict

import numpy as np

from ..data import Rows
from ..discovery import SeparatingSet
from ..problem import Level
from .advice import Advice
from .base import Policy
from .estimates import Estimates, Lift, Recommendation
from .lifts import Effects

POINTS = 24


class IntervalRow(TypedDict):
    """A mean with its interval; None where too few rows give no bound."""

    mean: float | None
    low: float | None
    high: float | None
    width: float | None


class LiftRow(TypedDict):
    """A difference with its interval; relative to what it is compared with, None where that may be 0 or below."""

    absolute: float
    low: float
    high: float
    relative: float | None
    relative_low: float | None
    relative_high: float | None
    probability_better: float


class ArmRow(IntervalRow):
    """An arm with sharing, and what its own rows say alone (all None: it was never played)."""

    arm: str
    settings: dict[str, Level]
    through: list[str] | None
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


class EffectRow(TypedDict):
    """What a level of a lever does in place of another, averaged over the other levers."""

    lever: str
    level: Level
    base: Level
    effect: LiftRow
    settings: int
    own_rows: int
    mean: float


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


class AdviceRow(TypedDict):
    """Whether to stop, to go on, or to drop arms."""

    action: str
    arm: str | None
    settings: dict[str, Level] | None
    drop: list[dict[str, Level]]
    is_best: bool
    confidence: float
    margin: float | None
    progress: float
    probability_best: float | None
    probability_close: float | None
    expected_loss: float | None
    text: str
    """The paragraph."""
    guarantee: str
    segment: NotRequired[dict[str, Level]]
    """Which segment it is about, where there are some."""


def finite(value: float) -> float | None:
    """A number for JSON; None for an infinite bound or an unknown mean."""
    return float(value) if math.isfinite(value) else None


def lift_row(lift: Lift) -> LiftRow:
    """A lift in plain values."""
    relative = (finite(lift.relative), finite(lift.relative_low), finite(lift.relative_high))
    return {
        "absolute": lift.absolute,
        "low": lift.low,
        "high": lift.high,
        "relative": relative[0],
        "relative_low": relative[1],
        "relative_high": relative[2],
        "probability_better": lift.probability_better,
    }


def effect_rows(effects: Effects) -> list[EffectRow]:
    """Per level: what it does; those that no pair of arms tells anything about are left out."""
    return [
        {
            "lever": row.lever,
            "level": row.level,
            "base": row.base,
            "settings": row.settings,
            "own_rows": row.own_rows,
            "mean": row.mean,
            "effect": lift_row(row.effect),
        }
        for row in effects
        if row.settings
    ]


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
            "alarm": None if found.drift is None else found.drift.alarm,
            "alarm_row": found.drift.row if found.drift is not None and found.drift.alarm else None,
        }
        for found in sets
    ]


def evidence_over_time(policy: Policy[Any]) -> EvidenceCourse:
    """The probability of each set, its smallest p-value or its nats after more and more rows, as a policy sees them."""
    rows = policy.history.rows
    total = len(rows.arms)
    points = sorted({int(at) for at in np.geomspace(min(20, max(total, 1)), max(total, 1), POINTS)})
    fresh = type(policy).from_options(policy.problem, policy.options())
    p_values: dict[tuple[str, ...], list[float | None]] = {}
    nats: dict[tuple[str, ...], list[float | None]] = {}
    chances: dict[tuple[str, ...], list[float | None]] = {}
    start = 0
    for at in points:
        fresh.learn(Rows(rows.arms[start:at], rows.codes[start:at], rows.rewards[start:at], rows.raw[start:at]))
        start = at
        for found in fresh.separating_sets(rejected=True):
            tested = [result.p_value for result in found.evidence.tests.values() if result.dof > 0]
            p_values.setdefault(found.variables, []).append(min(tested, default=None))
            nats.setdefault(found.variables, []).append(min(found.evidence.log_bayes_factor.values(), default=None))
            chances.setdefault(found.variables, []).append(found.evidence.probability)
    sets = [
        SetCourse(variables=list(names), p_value=p_values[names], nats=nats[names], probability=chances[names])
        for names in p_values
    ]
    return {"rows": points, "sets": sets}


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


def advice_row(found: Advice) -> AdviceRow:
    """Whether to stop, to go on, or to drop arms, in plain values."""
    return {
        "action": found.action,
        "arm": None if found.arm is None else str(found.arm),
        "settings": None if found.arm is None else dict(found.arm),
        "drop": [dict(arm) for arm in found.drop],
        "is_best": found.is_best,
        "confidence": found.confidence,
        "margin": finite(found.margin),
        "progress": found.progress,
        "probability_best": finite(found.probability_best),
        "probability_close": finite(found.probability_close),
        "expected_loss": finite(found.expected_loss),
        "text": str(found),
        "guarantee": found.guarantee,
    }

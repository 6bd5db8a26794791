"""Lifts, effects of levels and advice in plain values: for JSON, for pages, for tables."""

import math
from typing import NotRequired, TypedDict

from ..problem import Level
from .advice import Advice
from .estimates import Lift
from .lifts import Effects


class LiftRow(TypedDict):
    """A difference with its interval; relative to what it is compared with, None where that may be 0 or below."""

    absolute: float
    low: float
    high: float
    relative: float | None
    relative_low: float | None
    relative_high: float | None
    probability_better: float


class EffectRow(TypedDict):
    """What a level of a lever does in place of another, averaged over the other levers."""

    lever: str
    level: Level
    base: Level
    effect: LiftRow
    settings: int
    own_rows: int
    mean: float


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

"""Stop, go on or drop arms: what own rows prove at any look, and what the estimates expect."""

import math
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np
import polars as pl

from ..compiled import Bools, Floats
from ..data import History
from ..independence.anytime import leading, needed, sums_of
from ..markup import number, printable
from ..problem import Arm, Level, Segment
from .estimates import Listed
from .recommendation import Recommendation, segment_words

CONFIDENCE = 0.95
NAMED_ARMS = 6
"""Arms that the paragraph names; `drop` has them all."""

NOTHING = (math.nan, 0.0, math.nan, math.nan, math.nan)
"""Margin, progress, probabilities and expected loss before an arm can be recommended."""

Action = Literal["stop", "drop", "go on"]


@dataclass(frozen=True, repr=False)
class Advice:
    """Whether to stop, to go on, or to drop arms; printed, it is one paragraph.

    Claims hold with `confidence` over all looks together (docs/stopping.md). Probabilities and the expected loss are
    estimates of the policy, and no part of the guarantee; NaN where they are of another arm than the one named.

    Args:
        action: "stop" (deploy `arm`), "drop" (retire the arms in `drop`, then go on) or "go on".
        arm: The arm of a stop; otherwise the one that is recommended. None before any arm has rows enough.
        drop: Arms that are not the best.
        is_best: Whether the arm of a stop is the best one; otherwise it is within `margin` of the best.
        confidence: Probability that no claim is ever wrong.
        margin: How far from the best arm is close enough.
        progress: Share of the evidence that a stop needs.
        probability_best: Estimated probability that the arm is the best one.
        probability_close: Estimated probability that it is within the margin.
        expected_loss: How much the best arm is expected to be ahead of it, per decision.
        rows: Number of rows.
        arms: Number of arms in play.
        binary: Whether rewards are 0 or 1.
        costs: Whether arms have costs; they are then compared by reward less cost.
        segment: The segment that it is for, where the problem has segments.
    """

    action: Action
    arm: Arm | None
    drop: tuple[Arm, ...]
    is_best: bool
    confidence: float
    margin: float
    progress: float
    probability_best: float
    probability_close: float
    expected_loss: float
    rows: int
    arms: int
    binary: bool
    costs: bool = False
    segment: dict[str, Level] = field(default_factory=dict)

    @property
    def guarantee(self) -> str:
        """What may be relied on, and under which assumptions."""
        error = f"{100 * (1 - self.confidence):.3g}%"
        wrong = f"that a stop is ever advised for a wrong arm, or the best arm is dropped, is at most {error}"
        about = "" if self.binary else " in the long run (an asymptotic bound)"
        return f"However often you look, the chance {wrong}{about}, if the arms themselves do not change."

    @property
    def text(self) -> str:
        """The paragraph that it prints as."""
        return printable(" ".join(part for part in (f"{self.action}: {self._claim()}", self._expected()) if part))

    def __str__(self) -> str:
        return self.text

    __repr__ = __str__

    def _claim(self) -> str:
        sure = f"with {100 * self.confidence:.3g}% confidence"
        if self.action == "stop":
            what = "the best" if self.is_best else f"within {number(self.margin)} of the best"
            return f"{self.arm} is {what} of {self.arms} arms{self._less}, {sure}."
        if self.action == "drop":
            one, more = len(self.drop) == 1, len(self.drop) - NAMED_ARMS
            named = ", ".join(map(str, self.drop[:NAMED_ARMS])) + (f" and {more} more" if more > 0 else "")
            return (
                f"{named} {'is' if one else 'are'} not the best{self._less}, {sure}; "
                f"retire {'it' if one else 'them'} and go on with the other {self.arms - len(self.drop)} arms."
            )
        return f"no arm of {self.arms} is known to be the best{self._less} yet."

    @property
    def _less(self) -> str:
        return " after costs" if self.costs else ""

    def _expected(self) -> str:
        if self.arm is None or not math.isfinite(self.expected_loss):
            return ""
        chance = _chance(self.probability_close)
        shown = (
            f"{self.arm} is within {number(self.margin)} of the best with probability {chance}, and is "
            f"expected to lose {number(self.expected_loss)} per decision"
        )
        if self.action == "stop":
            return f"By the estimates, {shown}."
        return f"If you stopped now: {shown} (estimates, not covered by the guarantee). {self._evidence()}"

    def _evidence(self) -> str:
        if self.progress < 0.005:
            return "The arms' own rows are too few to support a stop."
        return f"{100 * self.progress:.0f}% of the evidence that a stop needs is there."


class Advices(Listed[Advice]):
    """Whether to stop, to go on or to drop arms in each segment, in the order of `problem.segment_settings`.

    Args:
        rows: The advice for each segment.
    """

    def to_frame(self) -> pl.DataFrame:
        """One row per segment."""
        return pl.DataFrame(
            [
                {
                    **{name: str(level) for name, level in each.segment.items()},
                    "action": each.action,
                    "arm": None if each.arm is None else str(each.arm.lever_arm),
                    "drop": [str(arm.lever_arm) for arm in each.drop],
                    "progress": each.progress,
                }
                for each in self
            ],
            schema_overrides={"arm": pl.String, "drop": pl.List(pl.String)},
        )

    def __repr__(self) -> str:
        return "\n".join(printable(f"{segment_words(each.segment)}: ") + str(each) for each in self)


def _chance(probability: float) -> str:
    """A probability from draws; never certain."""
    if probability >= 0.995:
        return "over 0.99"
    return "under 0.01" if probability < 0.005 else f"{probability:.2f}"


def advise(
    best: Recommendation | None,
    history: History,
    allowed: Bools,
    confidence: float,
    cost: Floats | None = None,
    segment: Segment | None = None,
) -> Advice:
    """What to do next.

    Args:
        best: What the policy recommends; None before any arm has rows enough.
        history: The rows.
        allowed: (arms,): arms in play.
        confidence: Probability with which no claim is wrong, over all looks together.
        cost: (arms,): what each arm costs, in units of the reward; nothing by default.
        segment: The segment that the arms in play belong to, where the problem has segments.
    """
    problem, playing = history.problem, int(allowed.sum())
    binary = problem.reward.kind == "binary"
    about: dict[str, Any] = {
        "arms": playing,
        "binary": binary,
        "costs": cost is not None,
        "segment": dict(segment or {}),
    }
    if best is None:
        return Advice("go on", None, (), False, confidence, *NOTHING, rows=len(history), **about)
    rows = history.packed
    sums = sums_of(rows["arms"].astype(np.int64), rows["rewards"], len(problem.arms))
    enough = needed(len(problem.arms), confidence)
    found = leading(sums, allowed, problem.index(best.arm), best.margin, enough, binary=binary, cost=cost)
    dropped = tuple(problem.arms[arm] for arm in found.behind)
    is_stop = found.evidence >= enough
    arm = problem.arms[found.arm] if is_stop else best.arm
    expected = (best.probability_best, best.probability_close, best.expected_loss)
    return Advice(
        "stop" if is_stop else "drop" if dropped else "go on",
        arm,
        () if is_stop else dropped,
        found.is_best,
        confidence,
        best.margin,
        min(found.evidence / enough, 1.0),
        *(expected if arm == best.arm else NOTHING[2:]),
        rows=len(history),
        **about,
    )

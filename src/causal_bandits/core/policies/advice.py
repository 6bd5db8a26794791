"""Stop, continue or drop arms: what own rows prove at any look, and what the estimates expect."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Literal

from ...libraries import pl
from ..compiled import Bools, Floats
from ..data import History
from ..independence.betting import CAP_ROWS
from ..markup import chance_words, counted, loss_words, number, printable, titled_table
from ..problem import Arm, Level, Problem, Segment
from .claims import FACTORS, Comparison, Proven, prove, scale_of
from .estimates import Listed
from .posterior import Posterior, losses
from .recommendation import NEAR, Recommendation, segment_words

CONFIDENCE = 0.95
TOLERANCE = 0.01
"""An expected loss below this share of the control's mean is good enough."""
NAMED_ARMS = 6
"""Arms that the paragraph names; `drop` has them all."""

Action = Literal["stop", "good enough", "drop", "continue", "finished"]


@dataclass(frozen=True, repr=False)
class Advice:
    """Advice to stop, to continue or to drop arms; it prints as one paragraph.

    There are two ways to stop. *Proof*: the arm is the best, or within the margin of the best; with `confidence` no
    such claim and no drop is ever wrong, over all looks together. *Good enough*: the arm's expected loss is below
    `tolerance` times the control's mean. That is an estimate of the policy, as are all probabilities here;
    docs/how-to/stopping.md has its measured error rates.

    Args:
        action: "stop" (deploy `arm`: proof), "good enough" (deploying `arm` is expected to lose little), "drop" (retire
            the arms in `drop`, then continue), "continue", or "finished" (`arm` is the winner of a finished study).
        arm: The arm of a stop, otherwise the recommended one; None until an arm has enough rows.
        drop: Arms that are proven not to be the best, whether or not the action is "drop".
        is_best: Whether the arm of a stop is the best one; otherwise it is within `margin` of the best.
        confidence: Probability that no claim is ever wrong.
        margin: How far from the best arm is close enough, in units of the reward.
        margin_share: The same as a share of the best arm's mean, where no margin was given.
        progress: Share of the evidence needed for a stop by proof.
        probability_best: Estimated probability that the arm is the best one.
        probability_close: Estimated probability that it is within the margin.
        expected_loss: How far the best arm is expected to be ahead of it, per decision.
        tolerance: The expected loss that is good enough, as a share of the control's mean.
        more_for_proof: Forecast number of further decisions until a proof; NaN if there is no forecast.
        more_for_good_enough: The same for an expected loss below the tolerance.
        per_day: Decisions per day so far; NaN if unknown.
        rows: Number of rows.
        arms: Number of arms in play.
        cap: The highest reward that counts in a claim, if it was learned from the first rows; None if the range of
            rewards is natural or declared.
        held: Why no claim can be made yet; empty if claims can be made.
        drops_control: Whether the control is among the arms in `drop`.
        costs: Whether arms have costs and are compared net of them.
        segment: The segment of the advice, if the problem has segments.
        finished: When the study was finished; empty while it runs.
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
    margin_share: float | None = None
    tolerance: float = TOLERANCE
    more_for_proof: float = math.nan
    more_for_good_enough: float = math.nan
    per_day: float = math.nan
    cap: float | None = None
    held: str = ""
    drops_control: bool = False
    costs: bool = False
    segment: dict[str, Level] = field(default_factory=dict)
    finished: str = ""

    @property
    def guarantee(self) -> str:
        """The guarantee with its assumptions."""
        error = f"{100 * (1 - self.confidence):.3g}%"
        wrong = f"that a stop is ever advised for a wrong arm, or the best arm is dropped, is at most {error}"
        kept = f"However often you look, the chance {wrong}, if the arms themselves do not change."
        if self.cap is None:
            return kept
        return (
            f"{kept} This is about mean rewards that are capped at {number(self.cap)}, the 99.9th percentile of the "
            f"first {CAP_ROWS:,} rows; these rows are not used as evidence."
        )

    @property
    def days_for_proof(self) -> float:
        """Forecast number of days until a proof, at the present traffic; NaN if unknown."""
        return self.more_for_proof / self.per_day if self.per_day > 0 else math.nan

    @property
    def days_for_good_enough(self) -> float:
        """The same for an expected loss below the tolerance."""
        return self.more_for_good_enough / self.per_day if self.per_day > 0 else math.nan

    @property
    def text(self) -> str:
        """The advice as a paragraph."""
        parts = (f"{self.action}: {self._claim()}", self.held, self._expected(), self.forecast)
        return printable(" ".join(part for part in parts if part))

    def __str__(self) -> str:
        return self.text

    __repr__ = __str__

    def _repr_html_(self) -> str:
        return advice_table([self])

    def _claim(self) -> str:
        sure = f"with {100 * self.confidence:.3g}% confidence"
        if self.action == "finished":
            return f"since {self.finished}; the winner is {self._named}."
        if self.action == "stop":
            within = number(self.margin) if self.margin_share is None else f"{100 * self.margin_share:.3g}%"
            what = "the best" if self.is_best else f"within {within} of the best"
            return f"{self._named} is {what} of {self.arms} arms{self._less}, {sure}{self._capped}."
        if self.action == "good enough":
            return (
                f"{self._named} is expected to lose less than {100 * self.tolerance:.3g}% of the control's mean "
                f"against the best of {self.arms} arms{self._less}. This is an estimate, not a proof."
            )
        if self.action == "drop":
            one, more = len(self.drop) == 1, len(self.drop) - NAMED_ARMS
            named = "; ".join(arm.lever_arm.label for arm in self.drop[:NAMED_ARMS])
            named += f" and {more} more" if more > 0 else ""
            control = (
                f" {'It is the control' if one else 'The control is among them'}: without it, lifts have nothing to be "
                "measured against, so keep it if you still need them."
                if self.drops_control
                else ""
            )
            return (
                f"{named} {'is' if one else 'are'} not the best{self._less}, {sure}{self._capped}; retire "
                f"{'it' if one else 'them'} and continue with the other {self.arms - len(self.drop)} arms.{control}"
            )
        if not self.rows:
            return "no row counts yet." if self.held else "no data yet. Ask for decisions and tell their outcomes."
        return f"no arm of {self.arms} is known to be the best{self._less} yet."

    @property
    def _named(self) -> str:
        return "" if self.arm is None else self.arm.lever_arm.label

    @property
    def _less(self) -> str:
        return " after costs" if self.costs else ""

    @property
    def _capped(self) -> str:
        return "" if self.cap is None else f", by mean rewards capped at {number(self.cap)}"

    def _expected(self) -> str:
        if self.arm is None or not math.isfinite(self.expected_loss):
            return ""
        chance = chance_words(self.probability_close)
        shown = (
            f"{self._named} is within {number(self.margin)} of the best with probability {chance}, and is "
            f"expected to lose {loss_words(self.expected_loss)} per decision"
        )
        if self.action in ("stop", "good enough", "finished"):
            return f"By the estimates, {shown}."
        return f"If you stopped now: {shown} (estimates, not covered by the guarantee)."

    @property
    def forecast(self) -> str:
        """How much longer a proof takes, and an expected loss below the tolerance; empty where that does not matter."""
        if self.action in ("stop", "finished") or self.arm is None:
            return ""
        if self.held and self.action == "good enough":
            return ""
        there = f"{100 * self.progress:.0f}% of the evidence for a proof is there" if self.progress >= 0.005 else ""
        proof = f"proof takes {_more(self.more_for_proof, self.days_for_proof)}"
        if self.action == "good enough":
            return f"A {proof}{f' ({there})' if there else ''}."
        below = f"below {100 * self.tolerance:.3g}% of the control's mean"
        enough = (
            f"the expected loss is {below} already"
            if self.more_for_good_enough < 1
            else f"an expected loss {below} takes {_more(self.more_for_good_enough, self.days_for_good_enough)}"
        )
        return f"At this rate a {proof}{f' ({there})' if there else ''}, and {enough}."


def _more(decisions: float, days: float) -> str:
    """A forecast number of decisions, in words."""
    if not math.isfinite(decisions):
        return "more decisions than can be forecast"
    shown = f"about {counted(max(round(float(f'{decisions:.2g}')), 1), 'more decision')}"
    if not math.isfinite(days):
        return shown
    some = f"{float(f'{days:.2g}'):,.0f} days"
    return f"{shown} ({'less than a day' if days < 1 else some if days >= 1.5 else 'one day'})"


class Advices(Listed[Advice]):
    """Whether to stop, to continue or to drop arms in each segment, in the order of `problem.segment_settings`.

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
                    "arm": None if each.arm is None else each.arm.lever_arm.label,
                    "drop": [arm.lever_arm.label for arm in each.drop],
                    "progress": each.progress,
                }
                for each in self
            ],
            schema_overrides={"arm": pl.String, "drop": pl.List(pl.String)},
        )

    def __repr__(self) -> str:
        return "\n".join(printable(f"{segment_words(each.segment)}: ") + str(each) for each in self)

    def _repr_html_(self) -> str:
        return advice_table(self)


def advice_table(found: Sequence[Advice]) -> str:
    """What a notebook shows of advice: the numbers in a table, and what they come to in words."""
    rows = [
        (
            segment_words(each.segment),
            each.action,
            "–" if each.arm is None else each.arm.lever_arm.label,
            chance_words(each.probability_best),
            loss_words(each.expected_loss),
            f"{100 * each.progress:.0f}%",
        )
        for each in found
    ]
    columns = ("segment", "action", "arm", "P(best)", "expected loss", "evidence for a proof")
    first = 0 if any(each.segment for each in found) else 1
    words = [each.text for each in found] if first else [f"{segment_words(each.segment)}: {each}" for each in found]
    title = "\n".join([*words, *dict.fromkeys(each.guarantee for each in found)])
    return titled_table(title, columns[first:], [row[first:] for row in rows], numeric=[n - first for n in (3, 4, 5)])


def advise(
    best: Recommendation | None,
    posterior: Posterior | None,
    history: History,
    allowed: Bools,
    *,
    confidence: float = CONFIDENCE,
    margin: float | None = None,
    tolerance: float = TOLERANCE,
    cost: Floats | None = None,
    segment: Segment | None = None,
    first_arms: int | None = None,
    control: int | None = None,
    per_day: float = math.nan,
    held: str = "",
) -> Advice:
    """What to do next.

    Args:
        best: What the policy recommends; None before any arm has rows enough.
        posterior: What `best` follows from.
        history: The rows.
        allowed: (arms,): arms in play.
        confidence: Probability with which no claim is wrong, over all looks together.
        margin: How far from the best is close enough, in units of the reward; 5% of its mean by default.
        tolerance: The expected loss that is good enough, as a share of the control's mean.
        cost: (arms,): what each arm costs, in units of the reward; nothing by default.
        segment: The segment that the arms in play belong to, if the problem has segments.
        first_arms: Number of arms that the experiment started with; all by default.
        control: The number of the control; None if there is none.
        per_day: Decisions per day so far.
        held: Why no claim is to be made; empty if claims are made.
    """
    problem, unproven = history.problem, held
    scale = scale_of(problem.reward, history.packed["rewards"])
    found = Proven()
    if scale is None:
        unproven = held or _without_cap(len(history))
    elif not held:
        inside = problem.arms_in(segment) if problem.segments else None
        members = (allowed | True if inside is None else inside).nonzero()[0]
        first = len(problem.arms) if first_arms is None else first_arms
        found = prove(history, scale, Comparison(members, allowed, first, 1 - confidence, margin, cost))
    stop = None if found.arm is None or best is None else problem.arms[found.arm]
    loss, more = math.inf, math.inf
    if best is not None and posterior is not None:
        loss = loss_allowed(best, posterior, history.problem, control, tolerance)
        more = _more_rows(posterior, problem.index(best.arm), allowed, cost, loss)
    enough = best is not None and not held and best.expected_loss <= loss
    arm = None if best is None else best.arm if stop is None else stop
    known = best if best is not None and arm == best.arm else None
    return Advice(
        "stop" if stop is not None else "good enough" if enough else "drop" if found.behind else "continue",
        arm,
        tuple(problem.arms[number] for number in found.behind),
        found.is_best,
        confidence,
        math.nan if best is None else best.margin,
        found.progress,
        math.nan if known is None else known.probability_best,
        math.nan if known is None else known.probability_close,
        math.nan if known is None else known.expected_loss,
        rows=len(history),
        arms=int(allowed.sum()),
        margin_share=NEAR if margin is None else None,
        tolerance=tolerance,
        more_for_proof=_finite(found.more_rows),
        more_for_good_enough=_finite(more),
        per_day=per_day,
        cap=scale.high if scale is not None and scale.learned else None,
        held="" if best is None else unproven,
        drops_control=control in found.behind,
        costs=cost is not None,
        segment=dict(segment or {}),
    )


def loss_allowed(
    best: Recommendation, posterior: Posterior, problem: Problem, control: int | None, tolerance: float
) -> float:
    """The expected loss that is good enough: a share of the control's mean, or without one of the best arm's."""
    return tolerance * abs(float(posterior.means[problem.index(best.arm) if control is None else control]))


def _finite(decisions: float) -> float:
    return decisions if math.isfinite(decisions) else math.nan


def _without_cap(rows: int) -> str:
    if rows < CAP_ROWS:
        return f"Nothing can be proven before {CAP_ROWS:,} rows have set the cap of the reward; declare it with cap=."
    return f"Nothing can be proven: the first {CAP_ROWS:,} rows give no cap of the reward; declare cap=."


def _more_rows(posterior: Posterior, arm: int, allowed: Bools, cost: Floats | None, loss: float) -> float:
    """How many more rows bring the expected loss down to `loss`, if the posterior narrows with the root of the rows."""
    draws = posterior.draws - (0.0 if cost is None else cost)
    centre = draws.mean(axis=0)

    def expected(factor: float) -> float:
        return float(losses(centre + (draws - centre) / math.sqrt(factor), allowed, arm).mean())

    low, high = 1.0, float(FACTORS[-1])
    if expected(low) <= loss:
        return 0.0
    if expected(high) > loss:
        return math.inf
    while high / low > 1.01:
        middle = math.sqrt(low * high)
        low, high = (middle, high) if expected(middle) > loss else (low, middle)
    return (high - 1) * posterior.rows

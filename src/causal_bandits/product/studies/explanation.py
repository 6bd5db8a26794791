"""Explanations: why a decision was what it was, from the state as it stood then."""

from dataclasses import dataclass, replace
from datetime import datetime
from typing import NamedTuple

import numpy as np

from ...core.compiled import Floats
from ...core.discovery import SeparatingSet
from ...core.markup import between, braces, counted, number, printable, titled_table, weight_words
from ...core.policies import ArmEstimate
from ...core.problem import Arm
from ...errors import StorageError, UnknownDecisionError
from ...reporting.axes import RATE
from .answers import estimates as estimates_of
from .arm_patterns import asked_among
from .deciding import compared as compared_by
from .deciding import draws_by_probability, propensities
from .decision_log import AskMade, asks_in, sticky_words
from .decisions import moment
from .drift import drift_of, resolved_rows
from .session import Session
from .settings import has_shares, shares_of
from .state import StudyState


class Asking(NamedTuple):
    """One decision of an ask."""

    then: StudyState
    """The state that decided."""
    arm: int
    time: float
    among: list[int] | None
    before: int
    """Decisions of the same ask before this one."""
    ask: AskMade


def asking(session: Session, number: int) -> Asking:
    """Replay the study up to the state that decided; one of high-throughput mode is derived again and compared."""
    arm, seq, time = session.read(
        lambda state: [state.decisions.column(name)[number - 1].item() for name in ("arm", "seq", "asked")]
    )
    asks = asks_in(session.events(seq - 1, seq)[0])
    ask = next((each for each in asks if each.first <= number < each.first + len(each.arms)), None)
    if ask is None:
        raise UnknownDecisionError(f"decision {number} could not be counted and was set aside; see health()")
    then = session.at(ask.version + 1)
    if "version" in ask.about and ask.chosen(then) != ask.arms:
        raise StorageError(
            f"decision {number} cannot be replayed: version {ask.version} now chooses another arm for its key; "
            "it was made by another release or on another kind of processor"
        )
    return Asking(then, arm, time, asked_among(then.problem, ask.about), number - ask.first, ask)


@dataclass(frozen=True)
class ArmView:
    """One arm at the time of a decision; `index` is the number that was compared, if arms were compared."""

    estimate: ArmEstimate
    index: float | None
    propensity: float

    @property
    def arm(self) -> Arm:
        """The arm."""
        return self.estimate.arm

    @property
    def borrowed_rows(self) -> float:
        """What sharing added, in rows."""
        return self.estimate.borrowed_rows


@dataclass(frozen=True, repr=False)
class Explanation:
    """The explanation of a decision.

    `through` is the set through which its arm was estimated, or the one with the largest weight (None: own rows).
    """

    id: int
    arm: Arm
    time: datetime
    rows: int
    """How many rows had been counted."""
    reason: str
    propensity: float
    estimate: ArmEstimate
    through: SeparatingSet | None
    arms: tuple[ArmView, ...]
    """All arms of that time, the most probable choice first."""
    key: str | None = None
    """The key that it was asked for with."""
    assignment: str = ""
    """How long that key keeps it, in words; empty without a key."""

    @property
    def own_rows(self) -> int:
        """Rows of the chosen arm."""
        return self.estimate.own_rows

    @property
    def borrowed_rows(self) -> float:
        """What sharing added, in rows."""
        return self.estimate.borrowed_rows

    def __repr__(self) -> str:
        return printable(f"Explanation(decision {self.id}: {self.arm.label}, probability {RATE.show(self.propensity)})")

    def __str__(self) -> str:
        variables, share = self.estimate.through, self.estimate.through_share
        if variables is not None:
            average = f" ({weight_words(share)} of an average over sets)" if share < 1 else ""
            through = f"through the set {braces(variables)}{average}"
        else:
            through = "from its own rows" + (" and the effects of its levers" if self.borrowed_rows >= 0.5 else "")
        mean, ends = _estimate_cells(self.estimate)
        lines = [
            f"decision {self.id}: {self.arm.label}, chosen with probability {RATE.show(self.propensity)} "
            f"after {counted(self.rows, 'row')}",
            f"  {self.reason}",
            f"  estimated {through}: mean {mean} ({ends}), {counted(self.own_rows, 'own row')} and "
            f"{self.borrowed_rows:,.0f} borrowed"
            if self.rows
            else "  no data yet: nothing was known about any arm",
        ]
        if self.key is not None:
            lines.append(f"  key {self.key!r} {self.assignment}")
        if self.estimate.pending_rows:
            whose = "its" if self.estimate.pending_rows == 1 else "their"
            lines.append(
                f"  {counted(self.estimate.pending_rows, 'row')} of this arm waited for {whose} reward; the mediators "
                f"known so far were worth {self.estimate.pending_effective:.0f} rows"
            )
        if self.through is not None and self.through.drift is not None and self.through.drift.alarm:
            lines.append(f"  alarm: this set no longer held, as row {self.through.drift.row} showed")
        return printable("\n".join(lines), keep="\n")

    def _repr_html_(self) -> str:
        rows = [
            (
                view.arm.label + (" (chosen)" if view.arm == self.arm else ""),
                RATE.show(view.propensity),
                "not compared" if view.index is None else number(view.index),
                *_estimate_cells(view.estimate),
                f"{view.estimate.own_rows:,}",
                f"{view.borrowed_rows:,.0f}",
            )
            for view in self.arms
        ]
        columns = ("arm", "probability", "compared", "mean", "interval", "own rows", "borrowed rows")
        return titled_table(str(self), columns, rows, numeric=range(1, 7))


def _estimate_cells(row: ArmEstimate) -> tuple[str, str]:
    """A mean and its interval, with the same decimals."""
    return number(row.mean, beside=(row.low, row.high)), between(row.low, row.high, row.mean)


def explain(session: Session, number: int) -> Explanation:
    """Replay the study up to a decision, and look."""
    asked = asking(session, number)
    then, arm_number = asked.then, asked.arm
    chances = propensities(then, number, asked.among, len(asked.ask.arms))
    estimates = estimates_of(then, 0.95)
    compared = compared_by(then, asked.before, len(asked.ask.arms), asked.among, asked.ask.random(then.settings.seed))
    views = [
        ArmView(
            estimate, None if compared is None or np.isnan(compared[index]) else float(compared[index]), float(chance)
        )
        for index, (estimate, chance) in enumerate(zip(estimates, chances, strict=True))
    ]
    chosen = estimates[arm_number]
    return Explanation(
        number,
        chosen.arm,
        moment(asked.time),
        then.policy.rows,
        _reason(then, compared, arm_number),
        float(chances[arm_number]),
        chosen,
        _set(then, chosen.through),
        tuple(sorted(views, key=lambda view: -view.propensity)),
        asked.ask.key,
        "" if asked.ask.key is None else sticky_words(then.settings.rules.get("sticky")),
    )


def _reason(then: StudyState, compared: Floats | None, chosen: int) -> str:
    """What decided, in words; None if the policy does not store what it compares."""
    policy = then.policy
    if then.finished is not None:
        return "the study was already finished, and this arm is its winner"
    if compared is not None and draws_by_probability(then):
        drawn = f"the policy drew it with probability {RATE.show(float(compared[chosen]))}"
        if not has_shares(then.settings.rules):
            return drawn
        low, high = (RATE.show(float(each[chosen])) for each in shares_of(then.settings.rules, then.problem))
        share = low if low == high else f"{low} to {high}"
        return f"{drawn}, within the share that the study gives this arm, {share}"
    what = policy.compares if then.cost is None else f"{policy.compares}, less its cost"
    if compared is None:
        return f"{what} was the highest; the policy does not store what it compares"
    if np.isnan(compared[chosen]):
        return policy.without_comparing
    if np.isinf(compared[chosen]):
        return "it had no rows yet; the policy tries such arms first"
    value = float(compared[chosen])
    others = np.where(np.arange(len(compared)) == chosen, np.nan, compared)
    if np.isnan(others).all():
        return f"it was the only arm in play ({what}: {number(value)})"
    best = int(np.nanargmax(others))
    next_best = f"{policy.problem.arms[best].label} with {number(float(others[best]))}"
    return f"{what}, {number(value)}, was the highest; the next was {next_best}"


def _set(then: StudyState, variables: tuple[str, ...] | None) -> SeparatingSet | None:
    for found in then.policy.separating_sets():
        if found.variables == variables:
            return replace(found, drift=drift_of(then, found, resolved_rows(then)))
    return None

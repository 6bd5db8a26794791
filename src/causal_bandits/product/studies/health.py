"""Checks of a study itself: do its decisions and outcomes look as they should, and is there news?

Every check has a stable code (`CODES`), under which an alarm is logged, shown and delivered (`studies.history`).

*lost-outcomes.* Whether a decision has an outcome should not depend on its arm: an arm whose page crashes loses the
users it drives away. Decisions are compared within stretches of `STRETCH` that were asked for one after the other, so
that neither traffic that shifts between arms nor outcomes that are still to come look like a fault (the test of
Cochran, Mantel and Haenszel, all arms at once). Decisions after the last one that has an outcome are left out: a batch
that is still open was chosen from another state than the one before it. The test is done at the numbers of decisions in
`looks`, with what was known then, and the rate of false alarms is spread over these looks; so `health()` may be called
at any time and as often as you like. Excluded decisions are in no check.

*outcomes-stopped.* Decisions that are much older than any outcome took should have one as often as decisions did
before.

*missing-zeros.* Where no reward window is set, rewards of 0 must be reported, too. If all are positive while decisions
have none, they seem not to be, and every mean is that of those who bought.

*reward-drift, mediator-shift.* The rewards and the observed variables of each arm should not depend on when their
decisions were made (`studies.drift`, a test that may be looked at after every row). If they do while traffic moves
between arms, means over the whole study compare arms at different times.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import NamedTuple

import numpy as np

from ...core.compiled import Floats, Ints
from ...core.discovery import SeparatingSets
from ...core.independence.drift import RATE, Drift
from ...core.markup import braces, printable, titled_table
from ...core.policies.advice import CONFIDENCE, TOLERANCE, Advice, Advices
from ...errors import CausalBanditsError, listing
from ...libraries import pl, special
from .answers import advice
from .decisions import Decisions
from .drift import drift_by_variable, watched_sets
from .state import StudyState

FALSE_ALARMS = 0.01
"""The rate of false alarms of each check, over the whole study."""
STRETCH = 50
FIRST_LOOK, GROWTH = 200, 1.5
FEWEST = 5.0
"""Arms with fewer expected outcomes (reported, or not) are taken together."""
FEWEST_WAITING, MOST_WAITING = 20, 0.1
"""Raise an alarm when at least this many rows with a reward, and this share of them, wait for the same variable."""
FEWEST_ROWS = 100
"""Rows after which a guarded metric should have been reported."""
SHIFTED = 0.1
"""Traffic has shifted where so much of it went to other arms in the second half of the decisions."""
OVERDUE, LEAST_OVERDUE = 2.0, 600.0
"""A decision is overdue after this many times the longest time that an outcome took, and after this many seconds."""
FEWEST_OVERDUE, RARE = 50, 1e-6
"""Outcomes have stopped where this many decisions in a row are overdue, and that was as unlikely as this before."""
HOUR = 3600.0
FIRST_HOURS, RECENT_HOURS = 24, 24
"""Hours of traffic to compare with, and hours that are compared with them."""
SURGE, FEWEST_PER_HOUR = 3.0, 20
"""An hour is a surge with this many times the decisions of the busiest hour before, or of an hour with so few."""

CODES = {
    "lost-outcomes": "Outcomes are lost in some arms",
    "outcomes-stopped": "Outcomes have stopped",
    "missing-mediators": "Rows wait for a mediator",
    "missing-zeros": "Rewards of 0 are not reported",
    "broken-guardrails": "An arm breaks a guardrail",
    "idle-guardrails": "A guardrail cannot exclude an arm",
    "unread-rows": "Rows of the log could not be counted",
    "reward-drift": "Rewards have changed",
    "mediator-shift": "A mediator has changed",
    "set-drift": "A separating set no longer holds",
    "traffic-shift": "Traffic has changed",
    "windows-closed": "All reward windows have closed",
    "stop-advised": "There is enough evidence to stop",
}
"""Every check by its code, with what it means when it is raised."""
NOTICES = frozenset({"windows-closed", "stop-advised"})
"""News that is not a fault."""
ALWAYS = "over the whole study, however often you look"
FALSE_ALARMS_OF = {
    "lost-outcomes": f"at most {FALSE_ALARMS:.0%} {ALWAYS} (approximately: a chi-square test)",
    "outcomes-stopped": f"about 1 in {1 / RARE:,.0f} at each decision, if outcomes arrive at random as often as before",
    "broken-guardrails": f"at most 1 - guardrail_confidence {ALWAYS}",
    **dict.fromkeys(
        ("reward-drift", "mediator-shift"), f"at most {RATE:.0%} {ALWAYS}, for rewards and mediators together"
    ),
    "set-drift": f"at most {RATE:.0%} {ALWAYS}, for all sets together",
    "stop-advised": f"at most {1 - CONFIDENCE:.0%} of studies ever stop wrongly, however often you look",
}
"""How often checks raise false alarms; those that are not here count and test nothing."""


@dataclass(frozen=True)
class Check:
    """One check: what it found, and how often it raises false alarms.

    Args:
        code: What is checked: one of `CODES`.
        raised: Whether something is wrong; for a notice, whether there is news.
        says: What was found, in one sentence.
        p_value: The smallest p-value, corrected for all looks, or a bound on it; NaN if there was too little to test.
        about: The variables, arms or guardrails concerned, if any.
    """

    code: str
    raised: bool
    says: str
    p_value: float = math.nan
    about: tuple[str, ...] = ()

    @property
    def false_alarms(self) -> str:
        """The bound on the false-alarm rate, and what it covers."""
        return FALSE_ALARMS_OF.get(self.code, "none: this is counted, not tested")

    @property
    def level(self) -> str:
        """ "alarm" for faults, "notice" for news."""
        return "notice" if self.code in NOTICES else "alarm"

    @property
    def alarm(self) -> bool:
        """Whether something is wrong."""
        return self.raised and self.code not in NOTICES

    @property
    def word(self) -> str:
        """ "ALARM", "notice" or "ok"."""
        return "ALARM" if self.alarm else "notice" if self.raised else "ok"


class Alarm(NamedTuple):
    """A check of a study that was raised, since when, and whether it is over."""

    code: str
    says: str
    about: tuple[str, ...]
    raised: datetime
    cleared: datetime | None = None

    @property
    def level(self) -> str:
        """ "alarm" for faults, "notice" for news."""
        return "notice" if self.code in NOTICES else "alarm"

    @property
    def title(self) -> str:
        """What the code means."""
        return CODES[self.code]


class Health(tuple[Check, ...]):
    """All checks of a study."""

    __slots__ = ()

    @property
    def raised(self) -> tuple[Check, ...]:
        """Alarms and notices."""
        return tuple(check for check in self if check.raised)

    @property
    def alarms(self) -> tuple[Check, ...]:
        """The alarms, without the notices."""
        return tuple(check for check in self if check.alarm)

    @property
    def ok(self) -> bool:
        """Whether nothing is wrong."""
        return not self.alarms

    def to_frame(self) -> pl.DataFrame:
        """One row per check."""
        return pl.DataFrame([{**vars(check), "false_alarms": check.false_alarms} for check in self])

    def __str__(self) -> str:
        return "\n".join(printable(f"{each.word:7}{each.code}: {each.says}") for each in self)

    def __repr__(self) -> str:
        return f"Health({len(self.alarms)} alarms)\n{self}"

    def _repr_html_(self) -> str:
        rows = [(each.word, each.code, each.says, each.false_alarms) for each in self]
        found = len(self.alarms)
        title = f"{found or 'No'} {'alarm' if found == 1 else 'alarms'} in {len(self)} checks"
        return titled_table(title, ("", "check", "what was found", "false alarms"), rows)


def health_of(
    state: StudyState,
    now: float | None = None,
    *,
    sets: SeparatingSets | None = None,
    advised: Sequence[Advice] | None = None,
) -> Health:
    """All checks that apply; without the time, a silence cannot be noticed.

    Args:
        state: The study.
        now: The time, in seconds since 1970.
        sets: The watched sets, if known.
        advised: What the study advises, of each segment, if known.
    """
    now = now if state.finished is None else None  # no more decisions are expected
    checks = [outcomes_check(state), stopped_check(state, now), mediators_check(state)]
    if state.held:
        checks.append(rewards_check(state))
    if state.guards.rails:
        checks += [broken_check(state), idle_check(state)]
    if state.aside:
        checks.append(log_check(state))
    checks += [*drift_checks(state), sets_check(watched_sets(state) if sets is None else sets)]
    checks.append(traffic_check(state, now))
    if state.window is not None:
        checks.append(windows_check(state))
    return Health([*checks, stop_check(state, advised)])


# Outcomes


def looks(decisions: int) -> list[int]:
    """When outcomes are tested: after this many decisions.

    >>> looks(1000)
    [200, 300, 450, 675]
    """
    found = []
    at = float(FIRST_LOOK)
    while at <= decisions:
        found.append(int(at))
        at *= GROWTH
    return found


def share_of_look(number: int) -> float:
    """The part of the false alarms that a look may have; over all looks, from 0 on, they add up to 1."""
    return 1 / ((number + 1) * (number + 2))


def uneven(arms: Ints, missing: Floats, count: int) -> tuple[float, float]:
    """Statistic and p-value: is `missing` (0 or 1 of each decision) the same for all arms within stretches?"""
    stretch = np.arange(len(arms)) // STRETCH
    blocks = int(stretch[-1]) + 1
    n, m = np.zeros((blocks, count)), np.zeros((blocks, count))
    np.add.at(n, (stretch, arms), 1.0)
    np.add.at(m, (stretch, arms), missing)
    size, gone = n.sum(axis=1), m.sum(axis=1)
    rare = _expected(n, size, gone) < FEWEST
    rare |= _expected(n, size, size - gone) < FEWEST
    if rare.any():  # the rare arms are one
        n = np.column_stack([n[:, ~rare], n[:, rare].sum(axis=1)])
        m = np.column_stack([m[:, ~rare], m[:, rare].sum(axis=1)])
    share = n / size[:, None]
    apart = (m - gone[:, None] * share).sum(axis=0)
    spread = gone * (size - gone) / np.maximum(size - 1, 1)
    variance = np.diag(spread @ share) - (share * spread[:, None]).T @ share
    values, vectors = np.linalg.eigh(variance)
    kept = values > 1e-9 * max(values.max(), 1e-300)
    kept &= values > 1e-12
    dof = int(kept.sum())
    if dof == 0:
        return 0.0, 1.0
    statistic = float((((vectors.T @ apart)[kept]) ** 2 / values[kept]).sum())
    return statistic, float(special.chdtrc(dof, statistic))


def _expected(n: Floats, size: Floats, marked: Floats) -> Floats:
    found: Floats = (n * (marked / size)[:, None]).sum(axis=0)
    return found


def missing_at(decisions: Decisions, look: int) -> Floats:
    """Which of the first `look` decisions had no outcome when the next one was asked for, or have none now."""
    reported, asked = decisions.column("row")[:look] >= 0, decisions.column("asked")
    if look >= len(decisions):
        return (~reported).astype(np.float64)
    late = ~(decisions.column("done")[:look] <= asked[look])  # NaN: not done yet
    found: Floats = (~reported | late).astype(np.float64)
    return found


def outcomes_check(state: StudyState) -> Check:
    """Are outcomes missing unevenly between arms?"""
    decisions, count, included = state.decisions, len(state.problem.arms), state.decisions.included
    every = decisions.column("arm").astype(np.int64)
    arms = every[included]
    lowest = math.inf
    for number, look in enumerate(looks(len(decisions))):
        here = np.flatnonzero(included[:look])
        missing = missing_at(decisions, look)[here]
        reported = np.flatnonzero(missing == 0)
        end = int(reported[-1]) + 1 if len(reported) else 0
        p_value = uneven(every[here[:end]], missing[:end], count)[1] if end else 1.0
        lowest = min(lowest, p_value / share_of_look(number))
    if math.isinf(lowest):
        few = f"too few decisions to tell ({len(arms):,} of {FIRST_LOOK})"
        return Check("lost-outcomes", False, few)
    alarm = lowest <= FALSE_ALARMS
    has_outcome = decisions.column("row")[included] >= 0
    rates = np.bincount(arms, has_outcome, minlength=count) / np.maximum(np.bincount(arms, minlength=count), 1)
    played = np.flatnonzero(np.bincount(arms, minlength=count) >= STRETCH)
    share = has_outcome.mean() if len(arms) else 0.0
    words = f"{share:.1%} of {len(arms):,} decisions have an outcome"
    if alarm and len(played):
        worst = played[rates[played].argmin()]
        words += (
            f", and the share depends on the arm (lowest: {state.problem.arms[worst].label}, {rates[worst]:.1%}); the "
            "means are then of different users, so find out what gets lost before you trust them"
        )
    elif not alarm:
        words += ", about the same share in all arms"
    return Check("lost-outcomes", alarm, words, min(lowest, 1.0))


def stopped_check(state: StudyState, now: float | None) -> Check:
    """Have outcomes stopped coming?"""
    numbers = np.flatnonzero(state.decisions.included) + 1
    asked, done, row = (state.decisions.column(name)[numbers - 1] for name in ("since", "done", "row"))
    reported = row >= 0
    if not reported.any():
        return Check("outcomes-stopped", False, "no outcome yet")
    slowest = max(OVERDUE * float((done[reported] - asked[reported]).max()), LEAST_OVERDUE)
    latest = float(np.nanmax([asked[-1], np.nanmax(done)])) if now is None else now
    overdue = reported[: int(np.searchsorted(asked, latest - slowest, side="left"))]
    last = int(np.flatnonzero(overdue)[-1]) + 1 if overdue.any() else 0
    run = len(overdue) - last
    share = overdue[:last].mean() if last else 0.0
    p_value = float((1 - share) ** run)
    if run < FEWEST_OVERDUE or p_value > RARE:
        words = f"{run:,} overdue decisions since the last one with an outcome"
        return Check("outcomes-stopped", False, words, min(p_value, 1.0))
    words = (
        f"none of the last {run:,} overdue decisions has an outcome, from decision {numbers[last]:,} on; before, "
        f"{share:.1%} had one; check whatever reports outcomes"
    )
    return Check("outcomes-stopped", True, words, p_value)


# Mediators


def mediators_check(state: StudyState) -> Check:
    """Do rows with a reward wait for observed variables, or have none at all? They are counted, nothing is tested."""
    target, names = state.problem.target, state.problem.observed_names
    rewarded = [*state.incomplete.values(), *(part for part in state.open_parts.values() if target in part)]
    total = state.policy.rows + len(rewarded) - len(state.incomplete)
    missing = state.policy.history.missing
    uncounted = len(rewarded) - len(state.incomplete)
    never = {name for name in names if total and missing.get(name, 0) + uncounted == total}
    never -= {name for name in never if any(part.get(name) is not None for part in rewarded)}
    lacking = {name: sum(name not in part for part in rewarded) for name in names}
    waiting = {name: count for name, count in lacking.items() if count or name in never}
    if not waiting:
        return Check(
            "missing-mediators",
            False,
            f"no row with a reward waits for one of {listing(names)}",
        )
    alarm = max(waiting.values()) >= max(FEWEST_WAITING, MOST_WAITING * total)
    alarm |= bool(never) and total >= FEWEST_WAITING
    words = "; ".join(
        f"{count:,} of {total:,} rows with a reward wait for {name!r}"
        + (", which was never reported" if name in never else "")
        for name, count in waiting.items()
    )
    needed = [name for name in waiting if name in state.policy.needed]
    if needed:
        words += f"; policy {state.settings.policy!r} counts no row without {listing(needed)}"
    elif any(waiting.values()):
        words += "; until then a row counts for everything that does not need the missing value"
    else:
        words += "; rows count for everything that does not need the missing value"
    if alarm:
        words += "; report the values, or pass final=True if they will never come"
    return Check("missing-mediators", alarm, words, about=tuple(waiting) if alarm else ())


# Rewards


def rewards_check(state: StudyState) -> Check:
    """Are only positive rewards reported?"""
    words = f"{state.held[0].lower()}{state.held[1:-1]}; until then no claim is made about arms"
    return Check("missing-zeros", True, words)


# Guardrails


def broken_check(state: StudyState) -> Check:
    """Does an arm break a guardrail?"""
    broken = state.guards.status(state.policy).broken
    words = "; ".join(f"{each}; it is no longer chosen" for each in broken) or "no arm breaks one"
    about = tuple(f"{each.arm.label} {each.guardrail}" for each in broken)
    return Check("broken-guardrails", bool(broken), words, about=about)


def idle_check(state: StudyState) -> Check:
    """Can the guardrails exclude an arm?"""
    idle = state.guards.idle(state.policy)
    if not idle or state.policy.rows < FEWEST_ROWS:
        return Check("idle-guardrails", False, "the guarded metrics are reported")
    words = f"a guardrail excludes no arm after {state.policy.rows:,} rows: {'; '.join(idle)}"
    return Check("idle-guardrails", True, words)


# The log of a study in high-throughput mode


def log_check(state: StudyState) -> Check:
    """Were rows of the log set aside?"""
    position, decision, reason = state.aside[0]
    rows = "1 row" if len(state.aside) == 1 else f"{len(state.aside):,} rows"
    words = (
        f"{rows} of the log could not be counted and were set aside; everything else counts. "
        f"The first is row {position:,}, of decision {decision:,}: {reason}"
    )
    return Check("unread-rows", True, words)


# Drift


def shifted(arms: Ints, count: int) -> float:
    """The part of the traffic that went to other arms in the second half of the decisions than in the first."""
    if len(arms) < 2 * STRETCH:
        return 0.0
    halves = np.array_split(arms, 2)
    first, second = (np.bincount(half, minlength=count) / len(half) for half in halves)
    return float(np.abs(first - second).sum() / 2)


def drift_checks(state: StudyState) -> list[Check]:
    """Do the rewards and the observed variables of an arm stay as they are, and does traffic shift between arms?"""
    drifts = drift_by_variable(state)
    moved = shifted(state.decisions.column("arm").astype(np.int64)[state.decisions.included], len(state.problem.arms))
    reward = {name: drift for name, drift in drifts.items() if name == state.problem.target}
    rest = {name: drift for name, drift in drifts.items() if name not in reward}
    found = [_drift_check(state, "reward-drift", reward, moved)]
    return [*found, _drift_check(state, "mediator-shift", rest, moved)] if rest else found


def _drift_check(state: StudyState, code: str, drifts: dict[str, Drift], moved: float) -> Check:
    traffic = f"{moved:.0%} of the traffic moved to other arms between the halves of the study"
    p_value = min(drift.p_value for drift in drifts.values())
    changed = {name: drift for name, drift in drifts.items() if drift.alarm}
    if not changed:
        words = f"no change of {listing(drifts)} within an arm; {traffic}" if state.policy.rows else "no outcome yet"
        return Check(code, False, words, p_value)
    arms = state.policy.history.rows.arms
    words = "; ".join(
        f"{name!r} of {state.problem.arms[arms[drift.row - 1]].label} has changed, as row {drift.row:,} shows"
        for name, drift in changed.items()
    )
    if moved >= SHIFTED:
        words += (
            f", and {traffic}: means over the whole study compare arms at different times; "
            "evaluate arms with method='doubly-robust'"
        )
    else:
        words += f"; {traffic}, so arms are still compared at the same times"
    return Check(code, True, words, p_value, tuple(changed))


def sets_check(sets: SeparatingSets) -> Check:
    """Do the sets in use still hold on recent rows?"""
    watched = [found for found in sets if found.drift is not None]
    changed = {
        braces(found.variables): found.drift for found in watched if found.drift is not None and found.drift.alarm
    }
    p_value = min((found.drift.p_value for found in watched if found.drift), default=math.nan)
    if not changed:
        return Check("set-drift", False, "every set in use holds on recent rows", p_value)
    words = "; ".join(
        f"the set {name} no longer holds on recent rows, as row {drift.row:,} shows" for name, drift in changed.items()
    )
    words += "; what it contributed may be out of date"
    return Check("set-drift", True, words, p_value, tuple(changed))


# Traffic


def traffic_check(state: StudyState, now: float | None) -> Check:
    """Did a recent hour have far more decisions than any before (bots), or is there a silence (a broken release)?"""
    asked = state.decisions.column("since")[state.decisions.included]
    span = float(asked[-1] - asked[0]) if len(asked) else 0.0
    if len(asked) < FIRST_LOOK or span < FIRST_HOURS * HOUR:
        hours = "under an hour" if span < HOUR else f"{span / HOUR:,.0f} hours"
        few = f"too little traffic to compare ({len(asked):,} decisions in {hours})"
        return Check("traffic-shift", False, few)
    per_hour = np.bincount(((asked - asked[0]) // HOUR).astype(np.int64))
    recent = max(len(per_hour) - RECENT_HOURS, FIRST_HOURS)
    usual, most = int(per_hour[:recent].max()), int(per_hour[recent:].max(initial=0))
    silence, pause = (asked[-1] if now is None else now) - asked[-1], float(np.diff(asked).max())
    if most >= SURGE * max(usual, FEWEST_PER_HOUR):
        words = (
            f"{most:,} decisions in one hour, and never more than {usual:,} in an hour before; if these are bots, "
            "their rows should not count"
        )
        return Check("traffic-shift", True, words)
    if silence > max(HOUR, SURGE * pause):
        words = f"no decision for {silence / HOUR:,.1f} hours; the longest pause before was {pause / HOUR:,.1f} hours"
        return Check("traffic-shift", True, words)
    words = f"at most {max(most, usual):,} decisions in an hour, {usual:,} in the hours before the last day"
    return Check("traffic-shift", False, words)


# News


def windows_check(state: StudyState) -> Check:
    """Have all reward windows closed?"""
    closed, count = state.closed, len(state.decisions)
    done = closed == count >= FEWEST_ROWS
    words = f"the reward windows of {closed:,} of {count:,} decisions have closed"
    return Check("windows-closed", done, words)


def stop_check(state: StudyState, advised: Sequence[Advice] | None = None) -> Check:
    """Does the evidence suffice to stop? `advised` is what the study advises, if known."""
    if state.finished is not None:
        return Check("stop-advised", False, "the study is finished")
    if advised is None:
        try:
            found = advice(state, segment=None, margin=None, confidence=CONFIDENCE, tolerance=TOLERANCE)
        except CausalBanditsError as error:  # no arm is left, or the policy cannot compare arms
            return Check("stop-advised", False, str(error))
        advised = [*found] if isinstance(found, Advices) else [found]
    stops = [each for each in advised if each.action == "stop"]
    words = "; ".join(" ".join(str(each).split()) for each in stops) or "there is not enough evidence to stop yet"
    about = tuple(each.arm.label for each in stops if each.arm is not None)
    return Check("stop-advised", bool(stops), words, about=about)

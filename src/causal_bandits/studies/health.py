"""Checks of a study itself: do its decisions and outcomes look as they should?

*Outcomes.* Whether a decision has an outcome should not depend on its arm: an arm whose page crashes loses the users it
drives away. Decisions are compared within stretches of `STRETCH` that were asked for one after the other, so that
neither traffic that shifts between arms nor outcomes that are still to come look like a fault (the test of Cochran,
Mantel and Haenszel, all arms at once). It is done at the numbers of decisions in `looks`, with what was known then, and
the rate of false alarms is spread over these looks; so `health()` may be called at any time and as often as one likes.

*Mediators.* Rows that have their reward should get their observed variables too. Rows that still wait for one are
counted, nothing is tested.

*Control.* Decisions in which the control had its share are counted, and so are those it got. How much more likely that
is under another share, averaged over all shares, is a process whose expectation stays 1 (Lindon and Malek 2022): it
reaches 1 / rate with a probability of at most the rate, however often one looks.

*Rewards.* Where no reward window is set, rewards of 0 must be reported, too. If all are positive while decisions have
none, they seem not to be, and every mean is that of those who bought.

*Guardrails.* Values of every guarded metric should be reported, and show a range; otherwise it can exclude no arm.

*Drift.* The rewards and the observed variables of each arm should not depend on when they came (`studies.drift`, a test
that may be looked at after every row). If they do while traffic moves between arms, means over the whole study compare
arms at different times.
"""

import math
from dataclasses import dataclass

import numpy as np
import polars as pl
from scipy.special import betaln, gammaincc

from ..compiled import Floats, Ints
from ..errors import listing
from ..independence.drift import RATE
from ..markup import printable
from .decisions import Decisions
from .drift import drift_by_variable
from .state import StudyState

FALSE_ALARMS = 0.01
"""The rate of false alarms of each check, over the whole study."""
STRETCH = 50
FIRST_LOOK, GROWTH = 200, 1.5
FEWEST = 5.0
"""Arms with fewer expected outcomes (told, or not) are taken together."""
FEWEST_WAITING, MOST_WAITING = 20, 0.1
"""Raise an alarm when at least this many rows with a reward, and this share of them, wait for the same variable."""
FEWEST_ROWS = 100
"""Rows after which a guarded metric should have been reported."""
SHIFTED = 0.1
"""Traffic has shifted where so much of it went to other arms in the second half of the decisions."""


@dataclass(frozen=True)
class Check:
    """One check: whether it raises an alarm, in words, and how often it does so in vain.

    Args:
        name: "outcomes", "mediators", "control", "rewards", "guardrails", "log" or "drift".
        alarm: Whether something is wrong.
        says: What was found, in one sentence.
        p_value: The smallest p-value allowing for all looks, or a bound on it; NaN where there was too little to test.
        false_alarms: How often there is an alarm where nothing is wrong, at most, and over what.
    """

    name: str
    alarm: bool
    says: str
    p_value: float
    false_alarms: str


class Health(tuple[Check, ...]):
    """All checks of a study."""

    __slots__ = ()

    @property
    def alarms(self) -> tuple[Check, ...]:
        """Those that raise an alarm."""
        return tuple(check for check in self if check.alarm)

    @property
    def ok(self) -> bool:
        """Whether none does."""
        return not self.alarms

    def to_frame(self) -> pl.DataFrame:
        """One row per check."""
        return pl.DataFrame([vars(check) for check in self])

    def __str__(self) -> str:
        return "\n".join(printable(f"{'ALARM' if each.alarm else 'ok':6}{each.name}: {each.says}") for each in self)

    def __repr__(self) -> str:
        return f"Health({len(self.alarms)} alarms)\n{self}"


def health_of(state: StudyState) -> Health:
    """All checks that apply."""
    checks = [outcomes_check(state), mediators_check(state)]
    if state.rules.control_share is not None:
        checks.append(control_check(state))
    if state.held:
        checks.append(rewards_check(state))
    if state.rules.guardrails:
        checks.append(guardrails_check(state))
    if state.aside:
        checks.append(log_check(state))
    return Health([*checks, drift_check(state)])


# Outcomes


def looks(decisions: int) -> list[int]:
    """When outcomes are tested: after so many decisions.

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
    return statistic, float(gammaincc(dof / 2, statistic / 2))


def _expected(n: Floats, size: Floats, marked: Floats) -> Floats:
    found: Floats = (n * (marked / size)[:, None]).sum(axis=0)
    return found


def missing_at(decisions: Decisions, look: int) -> Floats:
    """Which of the first `look` decisions had no outcome when the next one was asked for, or have none now."""
    told, asked = decisions.column("row")[:look] >= 0, decisions.column("asked")
    if look >= len(decisions):
        return (~told).astype(np.float64)
    late = ~(decisions.column("done")[:look] <= asked[look])  # NaN: not done yet
    found: Floats = (~told | late).astype(np.float64)
    return found


def outcomes_check(state: StudyState) -> Check:
    """Are outcomes missing unevenly between arms?"""
    decisions, count = state.decisions, len(state.problem.arms)
    arms = decisions.column("arm").astype(np.int64)
    lowest = math.inf
    for number, look in enumerate(looks(len(decisions))):
        p_value = uneven(arms[:look], missing_at(decisions, look), count)[1]
        lowest = min(lowest, p_value / share_of_look(number))
    said = (
        f"at most {FALSE_ALARMS:.0%} over the whole study, however often one looks (approximately: a chi-square test)"
    )
    if math.isinf(lowest):
        few = f"too few decisions to tell ({len(decisions):,} of {FIRST_LOOK})"
        return Check("outcomes", False, few, math.nan, said)
    alarm = lowest <= FALSE_ALARMS
    told = decisions.column("row") >= 0
    rates = np.bincount(arms, told, minlength=count) / np.maximum(np.bincount(arms, minlength=count), 1)
    played = np.flatnonzero(np.bincount(arms, minlength=count) >= STRETCH)
    words = f"{told.mean():.1%} of {len(arms):,} decisions have an outcome"
    if alarm and len(played):
        worst = played[rates[played].argmin()]
        words += (
            f", and that depends on the arm (lowest: {state.problem.arms[worst]}, {rates[worst]:.1%}); means of arms "
            "are then of different users, so find out what gets lost before trusting them"
        )
    elif not alarm:
        words += ", alike in all arms"
    return Check("outcomes", alarm, words, min(lowest, 1.0), said)


# Mediators


def mediators_check(state: StudyState) -> Check:
    """Do rows with a reward wait for observed variables?"""
    target, names = state.problem.target, state.problem.observed_names
    rewarded = [*state.incomplete.values(), *(part for part in state.parts.values() if target in part)]
    total = state.policy.rows + len(rewarded) - len(state.incomplete)
    lacking = {name: sum(name not in part for part in rewarded) for name in names}
    said = "none: rows are counted, nothing is tested"
    waiting = {name: count for name, count in lacking.items() if count}
    if not waiting:
        return Check("mediators", False, f"no row with a reward waits for one of {listing(names)}", math.nan, said)
    alarm = max(waiting.values()) >= max(FEWEST_WAITING, MOST_WAITING * total)
    words = "; ".join(
        f"{count:,} of {total:,} rows with a reward wait for {name!r}"
        + (", which was never reported" * (count == total))
        for name, count in waiting.items()
    )
    needed = [name for name in waiting if name in state.policy.needed]
    if needed:
        words += f"; policy {state.settings.policy!r} counts no row without {listing(needed)}"
    else:
        words += "; until then a row counts for everything that does not need the missing value"
    if alarm:
        words += "; report the values, or pass final=True if they will never come"
    return Check("mediators", alarm, words, math.nan, said)


# Control


def share_evidence(trials: int, hits: int, share: float) -> float:
    """The logarithm of how much more likely so many hits are under a share drawn evenly from 0 to 1."""
    return float(betaln(1 + hits, 1 + trials - hits) - hits * math.log(share) - (trials - hits) * math.log1p(-share))


def control_check(state: StudyState) -> Check:
    """Did the control get its share?"""
    share, (trials, hits) = state.rules.control_share or 0.0, state.reserved
    evidence = share_evidence(trials, hits, share)
    alarm = evidence >= -math.log(FALSE_ALARMS)
    got = f"{hits / trials:.2%} of {trials:,} decisions" if trials else "no decision yet"
    words = f"the control got {got}, and {share:.4g} is its share"
    said = f"at most {FALSE_ALARMS:.0%} over the whole study, however often one looks"
    return Check("control", alarm, words, min(1.0, math.exp(min(-evidence, 0.0))), said)


# Rewards


def rewards_check(state: StudyState) -> Check:
    """Are only positive rewards reported?"""
    words = f"{state.held[0].lower()}{state.held[1:-1]}; until then no claim is made about arms"
    return Check("rewards", True, words, math.nan, "none: rewards are counted, nothing is tested")


# Guardrails


def guardrails_check(state: StudyState) -> Check:
    """Can the guardrails exclude an arm?"""
    said = "none: values are counted, nothing is tested"
    idle = state.guards.idle(state.policy)
    if not idle or state.policy.rows < FEWEST_ROWS:
        return Check("guardrails", False, "values of the guarded metrics are reported", math.nan, said)
    words = f"a guardrail excludes no arm after {state.policy.rows:,} rows: {'; '.join(idle)}"
    return Check("guardrails", True, words, math.nan, said)


# The log of a served study


def log_check(state: StudyState) -> Check:
    """Were rows of the log set aside?"""
    position, decision, reason = state.aside[0]
    rows = "1 row" if len(state.aside) == 1 else f"{len(state.aside):,} rows"
    words = (
        f"{rows} of the log could not be counted and were set aside; everything else counts. "
        f"The first is row {position:,}, of decision {decision:,}: {reason}"
    )
    return Check("log", True, words, math.nan, "none: rows are counted, nothing is tested")


# Drift


def shifted(arms: Ints, count: int) -> float:
    """The part of the traffic that went to other arms in the second half of the decisions than in the first."""
    if len(arms) < 2 * STRETCH:
        return 0.0
    halves = np.array_split(arms, 2)
    first, second = (np.bincount(half, minlength=count) / len(half) for half in halves)
    return float(np.abs(first - second).sum() / 2)


def drift_check(state: StudyState) -> Check:
    """Do the rewards and the observed variables of an arm stay as they are, and does traffic shift between arms?"""
    drifts = drift_by_variable(state)
    moved = shifted(state.decisions.column("arm").astype(np.int64), len(state.problem.arms))
    traffic = f"{moved:.0%} of the traffic moved to other arms between the halves of the study"
    said = f"at most {RATE:.0%} over the whole study, however often one looks"
    p_value = min(drift.p_value for drift in drifts.values())
    changed = {name: drift for name, drift in drifts.items() if drift.alarm}
    if not changed:
        return Check("drift", False, f"{listing(drifts)} of each arm stay as they are; {traffic}", p_value, said)
    arms = state.policy.history.rows.arms
    words = "; ".join(
        f"{name!r} of {state.problem.arms[arms[drift.row - 1]]} has changed, as row {drift.row:,} shows"
        for name, drift in changed.items()
    )
    if moved >= SHIFTED:
        words += (
            f", and {traffic}: means over the whole study compare arms at different times; "
            "evaluate arms with method='doubly-robust'"
        )
    else:
        words += f"; {traffic}, so arms are still compared at the same times"
    if state.late.window is None and missing_at(state.decisions, len(state.decisions)).any():
        words += "; rewards that are reported sooner if they are high look the same, set reward_window to rule that out"
    return Check("drift", True, words, p_value, said)

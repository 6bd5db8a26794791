"""Rewards that come late: decisions whose mediators count already, and windows in which a reward must come.

Windows close by the times of events, never by a clock that is read while replaying: an event says up to which decision
they have closed. `since` of decisions never falls from one to the next, so that is one number.
"""

from collections.abc import Mapping
from typing import Any

import numpy as np

from ...core.compiled import Floats
from ...core.policies import Policy
from ...core.problem import Problem
from .decisions import Decisions
from .settings import Settings

FEWEST_POSITIVE = 10
LEAST_WITHOUT = 0.05
"""Zeros seem not to be reported from this number of positive rewards on, and this share of decisions without any."""


class LateRewards:
    """Which decisions wait, according to the events."""

    def __init__(self, settings: Settings) -> None:
        self.window = settings.reward_window
        self.closed = 0
        """The windows of decisions up to this number have closed."""
        self.numbers: dict[int, int] = {}
        """Decisions that count for P(S | arm) without their reward, and the policy's numbers of these rows."""

    def closes(self, decisions: Decisions, now: float) -> int | None:
        """Up to which decision windows have closed by now; None if that is no news."""
        if self.window is None:
            return None
        until = int(np.searchsorted(decisions.column("since"), now - self.window, side="right"))
        return until if until > self.closed else None

    def is_due(self, number: int, *, final: bool) -> bool:
        """Whether the reward of a decision counts now."""
        return self.window is None or final or number <= self.closed

    def expect(self, policy: Policy[Any], problem: Problem, number: int, arm: int, part: Mapping[str, Any]) -> None:
        """Let a decision count whose mediators are known now."""
        if policy.uses_pending and number not in self.numbers and mediators_known(problem, part):
            seen = {name: part[name] for name in problem.observed_names}
            rows = policy.history.encode_pending(problem.arms[arm], seen, missing=True)
            self.numbers[number] = int(policy.expect(rows)[0])

    def forget(self, policy: Policy[Any], number: int) -> None:
        """A decision gets no reward: it no longer counts."""
        if number in self.numbers:
            policy.forget([self.numbers.pop(number)])

    def move(self, old: Policy[Any], new: Policy[Any]) -> None:
        """Let what waits count in another policy, which has learned the same rows."""
        decisions = {row: number for number, row in self.numbers.items()}
        moved = new.expect(old.history.pending.all)
        self.numbers = {
            decisions[before]: after
            for before, after in zip(old.history.pending.numbers.tolist(), moved.tolist(), strict=True)
        }

    def packed(self) -> dict[str, Any]:
        """Plain values for a snapshot."""
        return {"closed": self.closed, "waiting": [list(pair) for pair in self.numbers.items()]}

    def fill(self, packed: Mapping[str, Any], policy: Policy[Any]) -> None:
        """Read back what `packed` gave; a ValueError where it does not fit the policy."""
        self.closed, self.numbers = packed["closed"], dict(packed["waiting"])
        if sorted(self.numbers.values()) != policy.history.pending.numbers.tolist():
            raise ValueError("its pending rows are not those of its decisions")


def unreported_zeros(problem: Problem, decisions: Decisions, rewards: Floats, window: float | None) -> str:
    """Whether zeros seem not to be reported, in one sentence; empty if nothing says so.

    Without a window a decision without a reward counts for nothing. If, then, only those who buy are reported, every
    mean is that of buyers. A reward that is any number, or that cannot be 0, says nothing.
    """
    if window is not None or problem.reward.kind not in ("binary", "count", "revenue"):
        return ""
    rows = decisions.column("row")[decisions.included]
    told = rewards[rows[rows >= 0].astype(np.int64)]
    without = len(rows) - len(told)
    if len(told) < FEWEST_POSITIVE or without < max(FEWEST_POSITIVE, LEAST_WITHOUT * len(rows)) or (told <= 0).any():
        return ""
    return (
        f"All {len(told):,} reported rewards are positive and {without:,} decisions have none, so rewards of 0 seem to "
        "be missing; report them, or create the study with reward_window= so that a missing reward counts as 0."
    )


def mediators_known(problem: Problem, part: Mapping[str, Any]) -> bool:
    """Whether every observed variable was told, be it as missing."""
    return all(name in part for name in problem.observed_names)

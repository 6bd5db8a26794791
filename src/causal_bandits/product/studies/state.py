"""The state of a study: a function of its settings and its events, in their order, and of nothing else.

Processes on machines of one kind that have applied the same events have the same state to the bit, and choose the same
arm next: the random numbers of a decision come from the study's seed and the decision's number. On another kind of CPU
the last bits may differ. `applying` changes the state, `deciding` and `answers` read it.
"""

import json
import math
from collections.abc import Mapping
from functools import partial
from typing import Any

import numpy as np

from ...core.compiled import Floats
from ...core.data import History, Rows
from ...core.policies import POLICIES, Policy
from ...core.policies.saving import Saved, from_bytes, to_bytes
from ...core.policies.saving import pack as pack_policy
from ...core.policies.saving import restore as restore_policy
from ...core.problem import Problem
from .decisions import Correction, Decisions, Exclusion, Finished
from .guardrails import Guardrail, Guards
from .outcomes import OnRecord, OutcomeRules, mediators_known, metric_value, unreported_zeros
from .settings import CONFIDENCE, Settings, controls_of, cost_of


class StudyState:
    """What the events say so far; with a policy that was restored, or with one that has seen nothing."""

    def __init__(self, settings: Settings, policy: Policy[Any] | None = None) -> None:
        self.settings = settings
        rules = settings.rules
        self._policy: Policy[Any] = settings.make_policy() if policy is None else policy
        self._must_recount = False
        self.metrics: dict[str, Any] = rules.get("metrics", {})
        rails, confidence = rules.get("guardrails", ()), rules.get("guardrail_confidence", CONFIDENCE)
        first, find_controls = len(settings.problem["arms"]), partial(controls_of, rules)
        self.guards = Guards([Guardrail(*each) for each in rails], confidence, self.metrics, first, find_controls)
        self.decisions = Decisions(self.metrics)
        self.parts: dict[int, dict[str, Any]] = {}
        """What was reported of open decisions."""
        self.incomplete: dict[int, dict[str, Any]] = {}
        """What was reported of decisions whose row counts, but whose observed variables are not all known yet."""
        self.window = settings.reward_window
        self.closed = 0
        """The reward windows of decisions up to this number have closed."""
        self.pending: dict[int, int] = {}
        """Decisions that count for P(S | arm) without their reward, and the policy's numbers of these rows."""
        self.retired: set[int] = set()
        self.forbidden: set[int] = set()
        self.annotations: dict[float, str] = {}
        """What happened when, as people noted it: time -> text."""
        self.seq = 0
        """The number of the newest event."""
        self.appended = 0
        """The position in the append log up to which all is counted; 0 in a transactional study."""
        self.aside: list[tuple[int, int, str]] = []
        """Rows of the append log that could not be counted: position, decision, reason."""
        self.excluded_rows: dict[int, tuple[int, dict[str, Any]]] = {}
        """Rows of excluded decisions: where each is among all rows, and its values."""
        self.exclusions: list[Exclusion] = []
        """What was excluded when and why; the column `excluded` of decisions counts these from 1."""
        self.corrections: dict[int, list[Correction]] = {}
        """Corrected decisions, with their corrections in order."""
        self.finished: Finished | None = None

    @property
    def policy(self) -> Policy[Any]:
        """The policy, which has learned all rows that count."""
        if self._must_recount:
            self.relearn(self._policy.problem)
        return self._policy

    @property
    def history(self) -> History:
        """The rows that count."""
        return self._policy.history

    def recount(self) -> None:
        """Rows have changed: the policy learns all of them again before it is used."""
        self._must_recount = True

    def relearn(self, problem: Problem) -> None:
        """A new policy that learns all rows again; discovery runs at the next ask."""
        old, self._must_recount = self._policy, False
        self._policy = new = self.settings.make_policy(problem)
        new.learn(new.history.recoded(old.history.rows), old.history.batches)
        if self.pending:
            decisions = {row: number for number, row in self.pending.items()}
            moved = new.expect(old.history.pending.all).tolist()
            before = old.history.pending.numbers.tolist()
            self.pending = {decisions[row]: now for row, now in zip(before, moved, strict=True)}
        gone = self.retired | self.forbidden
        if gone:
            new.restrict([arm for number, arm in enumerate(problem.arms) if number not in gone])

    @property
    def problem(self) -> Problem:
        """The problem as it is now: arms may have been added."""
        return self._policy.problem

    @property
    def controls(self) -> list[int]:
        """The numbers of the control arm: one, or one in each segment; none if there is no control."""
        return controls_of(self.settings.rules, self.problem)

    @property
    def cost(self) -> Floats | None:
        """What each arm costs, in units of the reward."""
        return cost_of(self.settings.rules, self.problem)

    @property
    def held(self) -> str:
        """Why no claim about arms can be made, in one sentence; empty if claims can be made."""
        rewards = np.asarray(self.history.packed["rewards"], dtype=np.float64)
        return unreported_zeros(self.problem, self.decisions, rewards, self.window)

    @property
    def per_day(self) -> float:
        """Decisions per day so far, without excluded ones; NaN before they span an hour."""
        asked = self.decisions.column("asked")[self.decisions.included]
        span = float(asked[-1] - asked[0]) if len(asked) else 0.0
        return 86_400 * len(asked) / span if span >= 3600 else math.nan

    @property
    def open_parts(self) -> dict[int, dict[str, Any]]:
        """What was reported of open decisions that are not excluded."""
        return {number: part for number, part in self.parts.items() if not self.is_excluded(number)}

    # Telling

    @property
    def outcome_rules(self) -> OutcomeRules:
        """What outcomes are checked by."""
        policy, finished = self._policy, self.finished
        frozen = 0 if finished is None else finished.decisions
        return OutcomeRules(self.problem, policy.needed, self.metrics, self._value, self.window, frozen)

    def _value(self, name: str, given: object) -> Any:
        """The value of a variable or a metric from what a caller gives, checked."""
        if name in self.metrics:
            return metric_value(self.metrics, name, given)
        return self._policy.history.value(name, given)

    def on_record(self, number: int) -> OnRecord:
        """What is known of a decision, for the rules of outcomes."""
        status = self.decisions.status(number)
        closed = status if status in ("abandoned", "expired") else None
        values, earlier = {**self.known(number), **self.decisions.measured(number)}, dict[str, list[Any]]()
        for correction in self.corrections.get(number, ()):
            for name, value in correction.before.items():
                earlier.setdefault(name, []).append(value)
        return OnRecord(values, closed, number <= self.closed, status == "open", earlier)

    def known(self, number: int) -> dict[str, Any]:
        """What was reported of a decision so far."""
        if number in self.incomplete:
            return self.incomplete[number]
        if number in self.excluded_rows:
            return self.excluded_rows[number][1]
        if self.decisions.status(number) == "told":
            return self.history.observation(int(self.decisions.column("row")[number - 1]))
        return self.parts.get(number, {})

    def is_excluded(self, number: int) -> bool:
        """Whether a decision is excluded."""
        return bool(self.decisions.column("excluded")[number - 1])

    def why_excluded(self, number: int) -> str | None:
        """The reason of a decision's exclusion; None if it is not excluded."""
        which = int(self.decisions.column("excluded")[number - 1])
        return self.exclusions[which - 1].reason if which else None

    def encoded(self, number: int, part: Mapping[str, Any]) -> Rows:
        """The row of a decision, coded."""
        arm = self.problem.arms[self.decisions.column("arm")[number - 1]]
        return self.history.encode(arm, part, missing=True)

    def keep_incomplete(self, number: int, part: dict[str, Any]) -> None:
        """Remember a decision whose row counts while observed variables are still to come."""
        if not mediators_known(self.problem, part):
            self.incomplete[number] = part

    def expect(self, number: int) -> None:
        """Let an open decision count whose mediators are known now."""
        part = self.parts[number]
        if self.policy.uses_pending and number not in self.pending and mediators_known(self.problem, part):
            arm = self.problem.arms[self.decisions.column("arm")[number - 1]]
            seen = {name: part[name] for name in self.problem.observed_names}
            rows = self.history.encode_pending(arm, seen, missing=True)
            self.pending[number] = int(self.policy.expect(rows)[0])

    def forget(self, number: int) -> None:
        """A decision gets no reward: it no longer counts."""
        if number in self.pending:
            self.policy.forget([self.pending.pop(number)])

    def closes(self, now: float) -> int | None:
        """Up to which decision reward windows have closed by now; None if that is no news."""
        if self.window is None:
            return None
        until = int(np.searchsorted(self.decisions.column("since"), now - self.window, side="right"))
        return until if until > self.closed else None

    def overdue(self, now: float, after: float | None) -> list[int]:
        """Open decisions that were asked for too long ago."""
        if after is None:
            return []
        since = self.decisions.column("since")
        late = []
        for number in self.decisions.open:  # the oldest first
            if since[number - 1] > now - after:
                break
            if self.window is None or self.problem.target not in self.parts.get(number, ()):
                late.append(number)
        return late


def excluded_now(state: StudyState) -> list[tuple[Exclusion, int]]:
    """The exclusions of which something is left, with how many decisions that is."""
    counts = np.bincount(state.decisions.column("excluded"), minlength=len(state.exclusions) + 1)[1:].tolist()
    return [(each, count) for each, count in zip(state.exclusions, counts, strict=True) if count]


MAPPINGS = ("parts", "incomplete", "annotations", "corrections", "pending", "excluded_rows")
PLAIN = ("exclusions", "aside", "seq", "appended", "closed", "finished")
"""Parts of a state that are packed as they are, or as pairs."""


def pack(state: StudyState) -> bytes:
    """Everything as plain arrays."""
    saved = pack_policy(state.policy)
    study: dict[str, Any] = {
        **{name: [*getattr(state, name).items()] for name in MAPPINGS},
        **{name: getattr(state, name) for name in PLAIN},
        "retired": sorted(state.retired),
        "forbidden": sorted(state.forbidden),
    }
    own = {**state.decisions.arrays(), **state.guards.arrays()}
    text = np.frombuffer(json.dumps(study).encode(), dtype=np.uint8)
    return to_bytes(Saved(saved.header, {**saved.arrays, **own, "study": text}))


def restore(settings: Settings, content: bytes) -> StudyState:
    """Read back what `pack` gave."""
    saved = from_bytes(content)
    with saved.checked():
        state = StudyState(settings, restore_policy(POLICIES[settings.policy], saved))
        state.decisions = Decisions.of(saved.arrays, state.metrics)
        study = json.loads(saved.arrays["study"].tobytes())
        for name in MAPPINGS:
            setattr(state, name, dict(study[name]))
        for name in PLAIN:
            setattr(state, name, study[name])
        state.retired, state.forbidden = set(study["retired"]), set(study["forbidden"])
        state.aside = [(position, decision, reason) for position, decision, reason in study["aside"]]
        if sorted(state.pending.values()) != state.policy.history.pending.numbers.tolist():
            raise ValueError("its pending rows are not those of its decisions")
        state.exclusions = [Exclusion(*each) for each in study["exclusions"]]
        state.corrections = {number: [*map(Correction._make, made)] for number, made in state.corrections.items()}
        state.finished = None if study["finished"] is None else Finished(*study["finished"])
        state.guards.fill(saved.arrays, state.policy.problem)
    return state

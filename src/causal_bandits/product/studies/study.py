"""Study: a persisted causal bandit. Ask for an arm and tell its outcome, from any number of processes.

The class is a facade: `_log` stores decisions and outcomes, `_session` has the study's state, and everything else is a
function of the state in its own module.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import date, datetime
from pathlib import Path
from types import EllipsisType, TracebackType
from typing import Any, Self, Unpack, overload

from ...core.discovery import SeparatingSets
from ...core.markup import counted
from ...core.policies import Advice, Effects, Estimates, Policy, Posterior, Recommendation
from ...core.policies.advice import CONFIDENCE, TOLERANCE
from ...core.policies.base import MOST_AT_ONCE
from ...core.problem import Arm, Level, Problem, Segment
from ...core.validation import duration
from ...errors import OptionError, StudyExistsError, UnknownDecisionError, flag, share, whole_number
from ...libraries import pl
from ...reporting.described import StudyDescription
from ...reporting.plots import MOST_ARMS, plot_estimates
from ...reporting.study_page import write_study_page
from ..analysis.explained import ExplainedVariance, explained_by_mediators
from ..options import StudyOptions
from . import answers, edits, history
from .arm_patterns import having, matching
from .deciding import propensities
from .decision_log import DecisionLog, Staleness, TransactionalLog
from .decisions import Decision, checked_time, moment
from .describe import Final, described, final_of, finish
from .drift import watched_sets
from .edits import Change as ArmChange
from .edits import Chosen, DecisionFilter
from .evaluation import Evaluation, Method, evaluate
from .explanation import Explanation, asking, explain
from .funnel import Funnel, funnel
from .guardrails import Guardrails
from .health import Alarm, Health, health_of
from .high_throughput import HighThroughputLog
from .history import Annotation, AuditRow, Change, DecisionRow, Newest, Waiting
from .outcomes import Keyed, Outcome, table_outcomes
from .session import Session, listed
from .settings import TRANSACTIONAL, HasSettings, StudyInfo, StudySettings, checked_key, checked_name, make_settings
from .storage.alarm_queue import stored_alarms
from .storage.store import Store, engine_of, opened
from .webhooks import Webhook

Settable = Arm | Mapping[str, Level]
Pattern = Arm | Mapping[str, Level | EllipsisType]
"""An arm, or a mapping in which `...` matches any level of a lever."""


class Study(HasSettings):
    """An experiment that stores every decision before returning it; many processes may use it at once.

    A study survives restarts and crashes. Its answers depend only on its settings and its stored events, so the same
    calls in the same order give the same decisions on every storage.

    >>> import tempfile, pathlib
    >>> folder = tempfile.TemporaryDirectory()
    >>> storage = f"sqlite:///{folder.name}/studies.db"
    >>> problem = Problem("purchase", {"clicked": 2}, {"banner": ["none", "red"]})
    >>> study = Study.create("shop", problem, storage=storage, seed=1)
    >>> decision = study.ask()
    >>> study.tell(decision.id, {"clicked": 1}, reward=0)
    >>> Study.load("shop", storage=storage).to_frame().select("id", "status", "purchase").rows()
    [(1, 'told', 0)]
    >>> folder.cleanup()
    """

    def __init__(self, session: Session, *, is_new: bool = False) -> None:
        self._session, settings = session, session.settings
        rules = dict(settings.rules)
        if "webhook" in rules:
            rules["webhook"] = Webhook(rules["webhook"]).shown  # its path may be a secret
        shown = {**vars(settings), "rules": rules}
        super().__init__(StudySettings(session.row.name, moment(session.row.created), **shown))
        self._log: DecisionLog = TransactionalLog(session) if settings.mode is None else HighThroughputLog(session)
        self.is_new = is_new
        """Whether this object created the study."""

    # Studies of a storage

    @classmethod
    def create(
        cls,
        name: str,
        problem: Problem,
        *,
        storage: str | Store,
        **options: Unpack[StudyOptions],
    ) -> Self:
        """Create a study; the same call again returns the existing one.

        Args:
            name: Name of the study.
            problem: The problem: levers, mediators, reward.
            storage: Database URL: sqlite:///FILE or postgresql://..., or an open store.
            options: `policy=`, `seed=`, `reward_window=`, `control_share=`, ...: every field of `StudyOptions`.
        """
        settings = make_settings(problem, options)
        checked_name(name)
        kind, address = engine_of(storage)
        if settings.mode is not None and kind != "postgresql":
            raise OptionError(
                f"mode='high-throughput' needs PostgreSQL, and storage {address} is {kind}; "
                "use a postgresql:// storage, or leave mode out"
            )
        store = opened(storage, create=True)
        row, is_new = store.add(name, checked_time(time.time()), settings.to_dict())
        session = Session(store, row)
        other = session.settings.difference(settings, same_seed=options.get("seed") is not None)
        if not is_new and other is not None:
            store.close()
            raise StudyExistsError(
                f"study {name!r} is already in storage {address}, with another {other}; "
                "load it, delete it (Study.delete, `study delete`), or use another name"
            )
        return cls(session, is_new=is_new)

    @classmethod
    def load(cls, name: str, *, storage: str | Store) -> Self:
        """Open an existing study."""
        store = opened(storage)
        return cls(Session(store, store.find(checked_name(name))))

    @classmethod
    def list(cls, *, storage: str | Store) -> Sequence[StudyInfo]:
        """List the studies in a database, oldest first, including those that cannot be read."""
        store = opened(storage)
        return [listed(store, name) for name in store.names()]

    @classmethod
    def delete(cls, name: str, *, storage: str | Store) -> None:
        """Delete a study and all its decisions permanently."""
        opened(storage).delete(checked_name(name))

    def close(self) -> None:
        """Close the connections to the storage."""
        self._log.close()
        self._session.store.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    # Acting

    @overload
    def ask(
        self,
        n: None = None,
        *,
        segment: Segment | None = None,
        key: str | None = None,
        arms: Iterable[Settable] | None = None,
    ) -> Decision: ...
    @overload
    def ask(
        self, n: int, *, segment: Segment | None = None, key: str | None = None, arms: Iterable[Settable] | None = None
    ) -> Sequence[Decision]: ...
    def ask(
        self,
        n: int | None = None,
        *,
        segment: Segment | None = None,
        key: str | None = None,
        arms: Iterable[Settable] | None = None,
    ) -> Decision | Sequence[Decision]:
        """Make the next decision, or `n` of them from the same state; each is stored before it is returned.

        A `key` names the visitor. Repeating it returns the same decisions to any caller, for as long as the option
        `sticky` allows (by default forever), and `tell` accepts it instead of an id. `arms` restricts this call to some
        arms. If the problem has segments, pass the visitor's `segment`.
        """
        count = 1 if n is None else whole_number("n", n, 1, MOST_AT_ONCE)
        first, time, chosen, problem = self._log.ask(count, segment=segment, key=key, arms=arms)
        made = [
            Decision(number, problem.arms[arm].lever_arm, moment(time), self.propensity, problem.arms[arm].segment)
            for number, arm in enumerate(chosen, first)
        ]
        return made[0] if n is None else made

    def tell(
        self,
        decision: int | Decision | None = None,
        mediators: Mapping[str, Any] | None = None,
        *,
        key: str | None = None,
        reward: Any = None,
        final: bool = False,
    ) -> None:
        """Record the outcome of a decision: at once or in parts, late, in any order.

        Name the decision by its id, or by the key passed to `ask`. `mediators` may include guardrail metrics. Once
        every observed variable is known, the row counts for P(S | arm). Once its reward is known, it counts for E[Y |
        S] for the sets whose variables are known; other sets follow when their variables arrive. None marks a variable
        as missing; `final` marks all unreported variables as missing and lets the reward count before its window has
        closed. Repeating a call changes nothing; contradicting a recorded value raises a `ConflictError` (`correct`
        replaces it).
        """
        outcome = Outcome(named("tell", decision, key), lambda _: mediators, reward)
        self._log.tell(lambda rules: (outcome,), final=flag("final", final))

    def tell_many(self, frame: Any, *, final: bool = False) -> int:
        """Record outcomes from a table with a column `id` or `key` and one per variable: all its rows, or none.

        An empty cell means "not known yet". If its row has a reward, the row is complete, and the variable is missing
        unless it was recorded before. In a list of dicts, a variable that a row does not name is not known yet, and
        None marks it as missing. Returns the number of rows that added something.
        """
        final = flag("final", final)
        return self._log.tell(lambda rules: table_outcomes(rules, frame, final=final), final=final)

    def correct(
        self,
        decision: int | Decision | None = None,
        mediators: Mapping[str, Any] | None = None,
        *,
        key: str | None = None,
        reward: Any = None,
        reason: str = "",
    ) -> bool:
        """Replace recorded values of a decision, for example after a refund; all results use the new values.

        Only recorded values can be corrected; the same value again changes nothing. To undo a correction, correct to
        the former value, which `decision(...)` lists. Returns whether something changed.
        """
        return self._log.correct(named("correct", decision, key), mediators, reward, edits.checked_reason(reason))

    def exclude(
        self,
        decisions: Chosen | None = None,
        *,
        reason: str,
        since: datetime | str | None = None,
        until: datetime | str | None = None,
        arm: Pattern | None = None,
        segment: Segment | None = None,
        key_prefix: str | None = None,
    ) -> Sequence[int]:
        """Exclude decisions from all results (bots, staff, a broken release), until `include`.

        Pass decisions or ids, or a filter: time (`since` <= time < `until`), arm (`...` matches any level), segment, or
        the start of the key. Outcomes that arrive later are recorded but do not count either. Returns the ids.
        """
        wanted = DecisionFilter(since, until, arm, segment, key_prefix)
        self._log.publish()
        return self._session.write(lambda draft: edits.exclude_decisions(draft, decisions, wanted, reason))

    def include(
        self,
        decisions: Chosen | None = None,
        *,
        since: datetime | str | None = None,
        until: datetime | str | None = None,
        arm: Pattern | None = None,
        segment: Segment | None = None,
        key_prefix: str | None = None,
    ) -> Sequence[int]:
        """Count excluded decisions again, as if they had never been excluded (see `exclude`). Returns the ids."""
        wanted = DecisionFilter(since, until, arm, segment, key_prefix)
        self._log.publish()
        return self._session.write(lambda draft: edits.include_decisions(draft, decisions, wanted))

    def finish(self, *, report: str | os.PathLike[str] | None = None) -> Final:
        """End the study: close open decisions, and freeze the recommendation and the report (written to `report`).

        Decisions whose reward window has closed count. Those whose window is still open are left out; finish later to
        count them. Afterwards outcomes are refused, and `ask` returns the winner, or raises an error if the study was
        created with `after_finish="error"`.
        """
        self._log.publish()
        final = self._session.write(lambda draft: finish(self._session, draft))
        if report is not None:
            self.report(report)
        return final

    @property
    def finished(self) -> Final | None:
        """The result of `finish`; None while the study runs."""
        return self._session.read_counted(final_of)

    def abandon(self, decision: int | Decision) -> None:
        """Close a decision that will never get an outcome; partial outcomes do not count."""
        self._log.abandon(decision)

    def expire(self, older_than: float | str) -> Sequence[int]:
        """Close open decisions that are older than this (seconds, or such as "7d" or "12h"); returns their ids."""
        return self._log.expire(duration("older_than", older_than, zero=True))

    def import_rows(self, frame: Any, *, arm: Settable | None = None, key: str | None = None) -> int:
        """Import the rows of a logged table as prior data; returns the number of new rows.

        The table has a column for each lever, or `arm` says which arm all rows are from (`arm={}` for observational
        rows). Cells of observed variables may be empty. Repeating a `key` with the same rows changes nothing and
        returns 0; with other rows it raises a `ConflictError`.
        """
        return self._session.write(lambda draft: edits.import_rows(self._session, self._log, draft, frame, arm, key))

    # Arms that come and go: every change is an event, and repeating a call changes nothing

    def retire(self, arm: Pattern) -> Sequence[Arm]:
        """Permanently stop choosing an arm; its rows still count. Returns the arms that changed.

        `...` matches any level: `{"banner": "red", "discount": ...}` is every arm with the red banner whose other
        levers are at their control levels.
        """
        return self._change("retired", lambda problem: matching(problem, arm))

    def forbid(self, arm: Pattern) -> Sequence[Arm]:
        """Do not choose an arm, or all that match (see `retire`), until allowed. Returns the arms that changed."""
        return self._change("forbidden", lambda problem: matching(problem, arm))

    def allow(self, arm: Pattern) -> Sequence[Arm]:
        """Choose a forbidden arm, or all that match (see `retire`), again. Returns the arms that changed."""
        return self._change("allowed", lambda problem: matching(problem, arm))

    def retire_level(self, lever: str, level: Level) -> Sequence[Arm]:
        """Permanently stop choosing arms with this level of a lever. Returns the arms that changed."""
        return self._change("retired", lambda problem: having(problem, lever, level))

    def forbid_level(self, lever: str, level: Level) -> Sequence[Arm]:
        """Do not choose any arm with this level of a lever until it is allowed. Returns the arms that changed."""
        return self._change("forbidden", lambda problem: having(problem, lever, level))

    def allow_level(self, lever: str, level: Level) -> Sequence[Arm]:
        """Choose forbidden arms with this level of a lever again. Returns the arms that changed."""
        return self._change("allowed", lambda problem: having(problem, lever, level))

    def _change(self, how: ArmChange, named: Callable[[Problem], Sequence[int]]) -> Sequence[Arm]:
        return self._session.write(lambda draft: edits.change_arms(draft, how, named(draft.state.problem)))

    def add_arm(self, settings: Mapping[str, Level], *, new_levels: bool = False) -> Arm:
        """Add an arm; with `new_levels` its levers may have values that no arm had before.

        An existing arm stays as it is; a retired one is an error, since retiring is permanent.
        """
        return self._session.write(
            lambda draft: edits.add_arm(draft, settings, new_levels=flag("new_levels", new_levels))
        )

    def add_level(self, lever: str, level: Level) -> Sequence[Arm]:
        """Add a level of a lever, combined with every active setting of the other levers.

        Returns the new arms. For an existing level these are the combinations that were not arms yet.
        """
        return self._session.write(lambda draft: edits.add_level(draft, lever, level))

    def annotate(self, text: str | None, at: datetime | date | str | None = None) -> Annotation | None:
        """Add a note, such as a release, a sale or an outage, that charts over time show; dated now by default.

        `at` is a date, a time or a string ("2026-11-18", "2026-11-18T14:30"; UTC unless it has an offset). A second
        text for the same time replaces the first, and None removes it.
        """
        return self._session.write(lambda draft: history.annotate(draft, text, at))

    # Looking: it never changes which arms come next

    @property
    def problem(self) -> Problem:
        """The present problem, including added arms."""
        return self._session.read(lambda state: state.problem)

    @property
    def settings(self) -> StudySettings:
        """The settings that the study was created with, and its present problem."""
        return replace(self._about, problem=self.problem.to_dict())

    def __repr__(self) -> str:
        return f"Study({self.name!r}, {self.policy_name}, storage={self._session.store.address})"

    def _repr_html_(self) -> str:
        about = self._session.read(lambda state: len(state.decisions))
        return self.estimates().table(f"{self!r}: {counted(about, 'decision')}")

    def recommend(self, *, segment: Segment | None = None, margin: float | None = None) -> Recommendation | Any:
        """Recommend the arm to deploy, with the probability that no other available arm is better.

        If the problem has segments, pass one, or get `Recommendations` with one for each.
        """
        return self._session.read(lambda state: answers.recommend(state, segment=segment, margin=margin))

    def explained_variance(self, *, level: float = 0.95) -> ExplainedVariance:
        """Estimate how much of the reward's variance the mediators explain; it bounds what sharing can gain."""
        return self._session.read(lambda state: explained_by_mediators(state.policy.history.rows, level))

    def advice(
        self,
        *,
        margin: float | None = None,
        confidence: float = CONFIDENCE,
        tolerance: float = TOLERANCE,
        segment: Segment | None = None,
    ) -> Advice | Any:
        """Advise whether to stop, continue or drop arms; valid however often you look (docs/how-to/stopping.md).

        If the problem has segments, pass one, or get `Advices` with one for each.

        Args:
            segment: The segment to advise about.
            margin: How far from the best arm is close enough, in units of the reward: 5% of its mean by default.
            confidence: Probability that no stop by proof and no drop is ever wrong, over all looks together.
            tolerance: The expected loss that is good enough, as a share of the control's mean.
        """
        return self._session.read(
            lambda state: answers.advice(
                state, segment=segment, margin=margin, confidence=confidence, tolerance=tolerance
            )
        )

    def estimates(self, *, level: float = 0.95, segment: Segment | None = None) -> Estimates:
        """Estimate every arm: mean, interval, the set it was learned through, own, effective and used rows, status.

        The status is active, never played, no outcome yet, forbidden, retired, or the guardrails that the arm breaks.
        Each arm also has its cost and its lift over the control, with an interval and the probability of being better.
        Before the first row all numbers are unknown. With `segment`, only the arms of that segment are returned.
        """
        return self._session.read(lambda state: answers.estimates(state, level, segment))

    def posterior(self) -> Posterior:
        """The posterior of all arms' means; every estimate and probability of an arm is computed from it."""
        return self._session.read(lambda state: state.policy.posterior())

    def effects(self, *, level: float = 0.95) -> Effects:
        """Estimate what each level of a lever does compared with the control's, averaged over the other levers."""
        return self._session.read(lambda state: answers.effects(state, level))

    def guardrails(self) -> Guardrails:
        """The evidence for each arm and guardrail, and which arms break one."""
        return self._session.read(lambda state: state.guards.status(state.policy))

    def health(self) -> Health:
        """Check the study itself (`cb.studies.CODES`): lost outcomes, missing mediators, drift, traffic, notices."""
        return self._session.read(lambda state: health_of(state, self._session.now()))

    def alarms(self) -> Sequence[Alarm]:
        """Alarms and notices so far, newest first, with their times and whether each is over.

        `causal-bandits serve` and `causal-bandits alarms` raise them; `health` checks the study now.
        """
        return stored_alarms(self._session.store, self._session.row.id)

    def funnel(self) -> Funnel:
        """The effects of levers on mediators, of mediators on the reward, and of levers on the reward."""
        return self._session.read(funnel)

    def waiting(self) -> Waiting:
        """Open decisions by age, and how long outcomes take."""
        return self._session.read(lambda state: history.waiting(state, self._session.clock()))

    def separating_sets(self, *, rejected: bool = False) -> SeparatingSets:
        """The sets in use with their evidence and whether they still hold; with `rejected`, all candidate sets."""
        return self._session.read(lambda state: watched_sets(state, rejected=flag("rejected", rejected)))

    def explain(self, decision: int | Decision) -> Explanation:
        """Explain a decision: what was compared, the set used, own and borrowed rows, the posterior."""
        return explain(self._session, self._checked(decision))

    def evaluate(
        self,
        policy: Settable | Mapping[Arm, float] | Policy[Any],
        *,
        method: Method = "direct",
        level: float = 0.95,
        draws: int = 200,
    ) -> Evaluation:
        """Estimate what another policy would have earned on the recorded decisions, with an interval.

        `policy` is an arm (always that one), a mapping arm -> probability, or a policy in its current state. The method
        `direct` uses each arm's own decisions and assumes that arms do not change. `doubly-robust` weights decisions by
        their propensities, which are exact for the default policy and otherwise estimated from `draws` choices each;
        its interval does not hold for a policy that was chosen by looking at these decisions, and it is rejected if the
        policy's arms have too few rewards. An arm that was never played is rejected.
        """
        draws = whole_number("draws", draws, 1, 1_000_000)
        return evaluate(self._session, policy, method=method, level=share("level", level), draws=draws)

    def propensity(self, decision: int | Decision) -> float:
        """The probability with which a decision's arm was chosen, given the state of the study at that time.

        It is exact for the default policy, and estimated from many choices for policies without known probabilities.
        """

        number = self._checked(decision)
        asked = asking(self._session, number)
        return float(propensities(asked.then, number, asked.among, len(asked.ask.arms))[asked.arm])

    def to_frame(self) -> pl.DataFrame:
        """One row per decision: id, status, times, the levers, the observed variables, the reward."""
        return self._session.read(history.decisions_frame)

    @property
    def newest(self) -> Newest:
        """The number of the newest event and a mark of all events so far: what it gives is as old as what they are."""
        return history.newest(self._session)

    def changes(self, after: int = 0, *, limit: int = 1000) -> Sequence[Change]:
        """The events after the one with this number, in brief and in order."""
        return history.changes(self._session, after, limit)

    def annotations(self) -> Sequence[Annotation]:
        """The notes made with `annotate`, oldest first."""
        return self._session.read(history.annotations_of)

    def audit(self, *, limit: int = 100) -> Sequence[AuditRow]:
        """Changes that people made, newest first: arms, imports, annotations."""
        return history.audit(self._session, limit)

    def decisions(self, after: int = 0, *, limit: int = 100) -> Sequence[DecisionRow]:
        """The decisions after this id with their outcomes so far, in order; `to_frame` has all of them as a table."""
        return self._session.read(lambda state: history.decision_rows(state, after, limit))

    def decision(self, decision: int | Decision | None = None, *, key: str | None = None) -> DecisionRow:
        """One decision with its outcome so far, by its id or by the key passed to `ask`."""
        given = named("decision", decision, key)
        number = self._checked(self._log.find(given.key) if isinstance(given, Keyed) else given)
        return self._session.read(lambda state: history.decision_row(state, number))

    def describe(self, *, history: bool = False) -> StudyDescription:
        """The whole study as plain values, as `study show --json` prints it; with `history`, also over time."""
        flag("history", history)
        about = self._session.read(lambda state: described(self._session, state, history=history))
        return about if self.mode == TRANSACTIONAL else {**about, "staleness": self.staleness()._asdict()}

    def staleness(self) -> Staleness:
        """How far the snapshot behind decisions lags acknowledged rows; a transactional study never lags."""
        return self._log.staleness()

    def publish(self) -> Staleness:
        """High-throughput mode: count all waiting rows now, instead of a moment later."""
        self._log.publish()
        return self.staleness()

    def _checked(self, decision: int | Decision) -> int:
        """The number of a decision; one that was acknowledged and is not counted yet is counted now."""
        try:
            return self._session.read(lambda state: state.decisions.check(decision))
        except UnknownDecisionError:
            if not self._log.publish():
                raise
            return self._session.read(lambda state: state.decisions.check(decision))

    def missing(self) -> dict[str, int]:
        """For each observed variable, the number of counted rows in which it is missing."""
        return self._session.read(lambda state: state.policy.history.missing)

    def plot(self, axes: Any = None, *, most: int | None = MOST_ARMS) -> Any:
        """Draw the best arms on matplotlib axes, new ones by default, and return the axes; `most=None` draws all."""
        return plot_estimates(self.estimates(), axes, most=most, title=f"Study {self.name}")

    def report(self, path: str | os.PathLike[str]) -> Path:
        """Write an HTML report with the arms, the sets with their evidence, and decisions over time."""
        return write_study_page(self.report_values(), path)

    def report_values(self) -> StudyDescription:
        """The contents of `report` as plain values; those of a finished study do not change."""
        final = self._session.read_counted(lambda state: state.finished)
        return self.describe(history=True) if final is None else final.report.copy()


def named(call: str, decision: int | Decision | None, key: str | None) -> int | Decision | Keyed:
    """The decision that a call is about, by its id or by its key."""
    if (decision is None) == (key is None):
        raise OptionError(f"{call} needs a decision or a key, and not both")
    if key is not None:
        return Keyed(checked_key(key))
    assert decision is not None
    return decision

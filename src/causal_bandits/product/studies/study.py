"""Study: a persisted causal bandit. Ask for an arm, tell what came of it, from any number of processes.

The class is a facade: `_log` stores decisions and outcomes, `_session` has the study's state, and everything else is a
function of the state in its own module.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import date, datetime
from pathlib import Path
from types import EllipsisType, TracebackType
from typing import Any, Self, Unpack, overload

from ...core.discovery import SeparatingSets
from ...core.estimators.explained import ExplainedVariance, explained_by_mediators
from ...core.markup import counted
from ...core.policies import Advice, Effects, Estimates, Policy, Posterior, Recommendation
from ...core.policies.advice import CONFIDENCE, TOLERANCE
from ...core.policies.base import MOST_AT_ONCE
from ...core.problem import Arm, Level, Problem, Segment
from ...core.validation import duration
from ...errors import OptionError, UnknownDecisionError, flag, share, whole_number
from ...libraries import pl
from ...reporting.described import StudyDescription
from ...reporting.plots import MOST_ARMS, plot_estimates
from ...reporting.study_page import write_study_page
from ..options import StudyOptions
from .alarms import Alarm, alarms_of
from .answers import advice, effects, estimates
from .arms import Change as ArmChange
from .arms import add_arm, add_level, change_arms
from .asking import asking
from .audit import Annotation, AuditRow, annotate, annotations_of, audit
from .catalog import StudyInfo, create_study, list_studies
from .decision_log import DecisionLog, Staleness, TransactionalLog
from .decision_table import decisions_frame
from .decisions import Decision, moment
from .describe import describe
from .drift import watched_sets
from .evaluation import Evaluation, Method, evaluate
from .excluding import Chosen, DecisionFilter, checked_reason, exclude_decisions, include_decisions
from .explanation import Explanation, explain
from .finishing import Final, final_of, final_or, finish, frozen_report
from .following import Change, DecisionRow, Newest, changes, decision_row, decision_rows, newest
from .funnel import Funnel, funnel
from .guardrails import Guardrails
from .health import Health, health_of
from .high_throughput import HighThroughputLog
from .levels import having, matching
from .modes import TRANSACTIONAL
from .outcomes import Keyed, Outcome
from .propensities import propensities
from .rows import OutcomeTable, import_rows
from .session import Session
from .settings import StudySettings, checked_key, checked_name, make_settings
from .storage import Store, opened
from .waiting import Waiting, waiting
from .webhooks import shown_webhook

Settable = Arm | Mapping[str, Level]
Pattern = Arm | Mapping[str, Level | EllipsisType]
"""An arm, or a mapping in which `...` matches any level of a lever."""


class Study:
    """A causal bandit whose every decision is stored: it survives restarts, crashes and many processes at once.

    What it answers is a function of its settings and the stored events alone: the same calls in the same order give
    the same decisions, on every storage.

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
        self._session = session
        self._log: DecisionLog = (
            TransactionalLog(session) if session.settings.mode is None else HighThroughputLog(session)
        )
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
            problem: What is played.
            storage: Database URL: sqlite:///FILE or postgresql://..., or an open store.
            options: `policy=`, `seed=`, `reward_window=`, `control_share=`, ...: every field of `StudyOptions`.
        """
        settings = make_settings(problem, options)
        row, store, is_new = create_study(name, problem, settings, storage, same_seed=options.get("seed") is not None)
        return cls(Session(store, row), is_new=is_new)

    @classmethod
    def load(cls, name: str, *, storage: str | Store) -> Self:
        """Open an existing study."""
        store = opened(storage)
        return cls(Session(store, store.find(checked_name(name))))

    @classmethod
    def list(cls, *, storage: str | Store) -> Sequence[StudyInfo]:
        """List the studies in a database, the oldest first, also those that cannot be read."""
        return list_studies(opened(storage))

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
        """The next decision, or `n` of them from the same state; stored before it is returned.

        A `key` names the visitor: repeating it returns the same decisions, to any caller, as long as the option
        `sticky` says (by default forever), and `tell` finds the decision by it. `arms` limits this one ask to some
        arms. Where the problem has segments, `segment` says which one it is for.
        """
        count = 1 if n is None else whole_number("n", n, 1, MOST_AT_ONCE)
        first, time, chosen, problem = self._log.ask(count, segment=segment, key=key, arms=arms)
        made = [
            Decision(number, problem.arms[arm].lever_arm, moment(time), self, problem.arms[arm].segment)
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
        """Record the outcome of a decision: all at once or in parts, late, in any order.

        The decision is named by its id, or by the key that it was asked for with. `mediators` may also have the
        metrics of guardrails. Once every observed variable is known the row counts for P(S | arm). With its reward it
        counts for E[Y | S], for the sets whose variables are known; the others count when they come. None marks a
        variable as missing; `final` marks all that are still unknown, and lets the reward count before its window has
        closed. Repeating a call changes nothing; contradicting a recorded value raises a `ConflictError` (`correct`
        replaces it).
        """
        outcome = Outcome(named("tell", decision, key), lambda _: mediators, reward)
        self._log.tell(lambda rules: (outcome,), final=flag("final", final))

    def tell_many(self, frame: Any, *, final: bool = False) -> int:
        """Record outcomes from a table with a column `id` or `key` and one per variable: all its rows, or none.

        An empty cell is not known yet. If its row has a reward, the row is complete, and the variable is missing
        unless it was recorded before. In a list of dicts a variable that a row does not name is not known yet, and
        None marks it as missing. Returns the number of rows that added something.
        """
        final = flag("final", final)
        return self._log.tell(lambda rules: OutcomeTable(rules, frame, final=final).outcomes(), final=final)

    def correct(
        self,
        decision: int | Decision | None = None,
        mediators: Mapping[str, Any] | None = None,
        *,
        key: str | None = None,
        reward: Any = None,
        reason: str = "",
    ) -> bool:
        """Replace recorded values of a decision, as after a refund; everything counts as if they had been recorded.

        Only values on record can be corrected, and a value that is the same changes nothing. To undo a correction,
        correct to the former value: `decision(...)` lists all of them. Returns whether something changed.
        """
        return self._log.correct(named("correct", decision, key), mediators, reward, checked_reason(reason))

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

        Name them, or say what they have in common: when they were asked for (`since` <= time < `until`), their arm
        (`...` stands for any level), segment, or how their keys begin. Outcomes that come later are recorded, and do
        not count either. Returns the ids.
        """
        wanted = DecisionFilter(since, until, arm, segment, key_prefix)
        self._log.publish()
        return self._session.write(lambda draft: exclude_decisions(draft, decisions, wanted, reason))

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
        return self._session.write(lambda draft: include_decisions(draft, decisions, wanted))

    def finish(self, *, report: str | os.PathLike[str] | None = None) -> Final:
        """End the study: close open decisions, and freeze the answer and the report, which `report` is a file for.

        Reward windows that have closed by now count. Decisions whose window is still open are left out: finish later
        to count them. From then on outcomes are refused, and asks get the winner, or an error if the study was
        created with `after_finish="error"`.
        """
        self._log.publish()
        final = self._session.write(lambda draft: finish(self._session, draft))
        if report is not None:
            self.report(report)
        return final

    @property
    def finished(self) -> Final | None:
        """How the study was finished; None while it runs."""
        return self._session.read_counted(final_of)

    def abandon(self, decision: int | Decision) -> None:
        """Close a decision that will never get its outcome; partial outcomes are not counted."""
        self._log.abandon(decision)

    def expire(self, older_than: float | str) -> Sequence[int]:
        """Close the open decisions that are older than a number of seconds, or "7d" or "12h"; returns their ids."""
        return self._log.expire(duration("older_than", older_than, zero=True))

    def import_rows(self, frame: Any, *, arm: Settable | None = None, key: str | None = None) -> int:
        """Import the rows of a logged table as prior data; returns the number of new rows.

        The table has a column per lever, or all rows are from `arm` (`arm={}`: observational rows). Cells of observed
        variables may be empty. Repeating a `key` with the same rows changes nothing and returns 0; with other rows it
        raises a `ConflictError`.
        """
        return self._session.write(lambda draft: import_rows(self._session, self._log, draft, frame, arm, key))

    # Arms that come and go: every change is an event, and repeating a call changes nothing

    def retire(self, arm: Pattern) -> Sequence[Arm]:
        """Never choose this arm again; what it taught stays. Returns the arms that changed.

        `...` matches any level: `{"banner": "red", "discount": ...}` is every arm with the red banner whose other
        levers are idle.
        """
        return self._change("retired", lambda problem: matching(problem, arm))

    def forbid(self, arm: Pattern) -> Sequence[Arm]:
        """Do not choose this arm, or these (see `retire`), until allowed again. Returns the arms that changed."""
        return self._change("forbidden", lambda problem: matching(problem, arm))

    def allow(self, arm: Pattern) -> Sequence[Arm]:
        """Choose a forbidden arm again, or several (see `retire`). Returns the arms that changed."""
        return self._change("allowed", lambda problem: matching(problem, arm))

    def retire_level(self, lever: str, level: Level) -> Sequence[Arm]:
        """Never choose an arm with this level of a lever again. Returns the arms that changed."""
        return self._change("retired", lambda problem: having(problem, lever, level))

    def forbid_level(self, lever: str, level: Level) -> Sequence[Arm]:
        """Do not choose any arm with this level of a lever until it is allowed. Returns the arms that changed."""
        return self._change("forbidden", lambda problem: having(problem, lever, level))

    def allow_level(self, lever: str, level: Level) -> Sequence[Arm]:
        """Choose forbidden arms with this level of a lever again. Returns the arms that changed."""
        return self._change("allowed", lambda problem: having(problem, lever, level))

    def _change(self, how: ArmChange, named: Callable[[Problem], Sequence[int]]) -> Sequence[Arm]:
        return self._session.write(lambda draft: change_arms(draft, how, named(draft.state.problem)))

    def add_arm(self, settings: Mapping[str, Level], *, new_levels: bool = False) -> Arm:
        """One more arm from now on; with `new_levels` its levers may have values that no arm had before.

        An arm that is there already stays as it is; one that was retired is an error, since that is for good.
        """
        return self._session.write(lambda draft: add_arm(draft, settings, new_levels=flag("new_levels", new_levels)))

    def add_level(self, lever: str, level: Level) -> Sequence[Arm]:
        """A new level of a lever, with every setting of the other levers that an arm not retired has.

        Returns the arms that are new: for a level that is there already the combinations that were not arms yet.
        """
        return self._session.write(lambda draft: add_level(draft, lever, level))

    def annotate(self, text: str | None, at: datetime | date | str | None = None) -> Annotation | None:
        """Note what happened at a time, now by default: a release, a sale, an outage; charts over time show it.

        `at` is a date, a time or its text ("2026-11-18", "2026-11-18T14:30"; UTC unless it says otherwise). A second
        text for the same time replaces the first, and None takes it away.
        """
        return self._session.write(lambda draft: annotate(draft, text, at))

    # Looking: it never changes which arms come next

    @property
    def name(self) -> str:
        """Its name in the storage."""
        return self._session.row.name

    @property
    def seed(self) -> int:
        """What its random numbers come from."""
        return self._session.settings.seed

    @property
    def policy_name(self) -> str:
        """Its policy's name in the registry."""
        return self._session.settings.policy

    @property
    def mode(self) -> str:
        """ "transactional", or "high-throughput": decided from snapshots in memory."""
        return self._session.settings.mode or TRANSACTIONAL

    @property
    def problem(self) -> Problem:
        """The problem as it is now: arms may have been added."""
        return self._session.read(lambda state: state.problem)

    @property
    def created(self) -> datetime:
        """When it was created."""
        return moment(self._session.row.created)

    @property
    def settings(self) -> StudySettings:
        """What it was created with, and its problem as it is now."""
        about = self._session.settings
        return StudySettings(
            self.name,
            self.created,
            self.problem.to_dict(),
            about.policy,
            about.options,
            about.seed,
            {**about.rules, **shown_webhook(about.rules)},
        )

    @property
    def metrics(self) -> dict[str, Any]:
        """The further metrics that outcomes may have, for guardrails: name -> "binary", "real" or [lowest, highest]."""
        return dict(self._session.settings.rules.get("metrics", {}))

    def __repr__(self) -> str:
        return f"Study({self.name!r}, {self.policy_name}, storage={self._session.store.place})"

    def _repr_html_(self) -> str:
        about = self._session.read(lambda state: len(state.decisions))
        return self.estimates().table(f"{self!r}: {counted(about, 'decision')}")

    def recommend(self, *, segment: Segment | None = None, margin: float | None = None) -> Recommendation | Any:
        """The arm to deploy among those that may be played, and how sure it is that none of them is better.

        For one segment; without, a problem with segments gets `Recommendations`, one for each.
        """
        return self._session.read(lambda state: final_or(state, segment, margin))

    def explained_variance(self, *, level: float = 0.95) -> ExplainedVariance:
        """How much of the reward's variance the mediators explain, which bounds what sharing can be worth."""
        return self._session.read(lambda state: explained_by_mediators(state.policy.history.rows, level))

    def advice(
        self,
        *,
        margin: float | None = None,
        confidence: float = CONFIDENCE,
        tolerance: float = TOLERANCE,
        segment: Segment | None = None,
    ) -> Advice | Any:
        """Stop, continue or drop arms, in one paragraph; valid however often you look (docs/how-to/stopping.md).

        For one segment; without, a problem with segments gets `Advices`, one for each.

        Args:
            segment: The segment that is asked about.
            margin: How far from the best arm is close enough, in units of the reward: 5% of its mean by default.
            confidence: Probability that no stop by proof and no drop is ever wrong, over all looks together.
            tolerance: The expected loss that is good enough, as a share of the control's mean.
        """
        return self._session.read(
            lambda state: advice(state, segment=segment, margin=margin, confidence=confidence, tolerance=tolerance)
        )

    def estimates(self, *, level: float = 0.95, segment: Segment | None = None) -> Estimates:
        """Per arm: mean, interval, the set it was learned through, own rows, effective rows, rows used, and its status.

        The status is active, never played, no outcome yet, forbidden, retired, or which guardrails it breaks. Beside
        that its lift over the control, with an interval and the probability of being better, and its cost. Before the
        first row all of that is unknown. With `segment` the arms of that segment alone.
        """
        return self._session.read(lambda state: estimates(state, level, segment))

    def posterior(self) -> Posterior:
        """The posterior of all arms' means, from which everything said about arms is computed."""
        return self._session.read(lambda state: state.policy.posterior())

    def effects(self, *, level: float = 0.95) -> Effects:
        """What each level of each lever does in place of the control's, averaged over the other levers."""
        return self._session.read(lambda state: effects(state, level))

    def guardrails(self) -> Guardrails:
        """What the rows say of each arm and guardrail, and which arms break one."""
        return self._session.read(lambda state: state.guards.status(state.policy))

    def health(self) -> Health:
        """Checks of the study itself (`cb.studies.CODES`): lost outcomes, missing mediators, drift, traffic, news."""
        return self._session.read(lambda state: health_of(state, self._session.now()))

    def alarms(self) -> Sequence[Alarm]:
        """Alarms and notices that were raised, the newest first, with the time when each was and whether it is over.

        They are found by `causal-bandits serve` or `causal-bandits alarms`; `health` checks the study now.
        """
        return alarms_of(self._session)

    def funnel(self) -> Funnel:
        """What levers do to mediators, mediators to the reward, and levers to the reward."""
        return funnel(self._session)

    def waiting(self) -> Waiting:
        """Open decisions by age, and how long outcomes take."""
        return waiting(self._session)

    def separating_sets(self, *, rejected: bool = False) -> SeparatingSets:
        """The sets in use with their evidence and whether they still hold; with `rejected` all that were looked at."""
        return self._session.read(lambda state: watched_sets(state, rejected=flag("rejected", rejected)))

    def explain(self, decision: int | Decision) -> Explanation:
        """Why a decision was what it was: which set, own and borrowed rows, posterior, what was compared."""
        return explain(self._session, self._checked(decision))

    def evaluate(
        self,
        policy: Settable | Mapping[Arm, float] | Policy[Any],
        *,
        method: Method | None = None,
        level: float = 0.95,
        draws: int = 200,
    ) -> Evaluation:
        """What another policy would have earned on the recorded decisions, with an interval (see `evaluation`).

        `policy` is an arm (always that one), a mapping arm -> probability, or a policy in its current state. The method
        `doubly-robust` weighs decisions by their propensities, which are exact for the default policy and otherwise
        estimated from `draws` choices each. `direct` takes each arm's own decisions, and assumes that arms do not
        change. The default is `doubly-robust`, or `direct` for a single arm, or where the policy's arms have too few
        rewards; the answer's `method` and `note` say so. An arm that was never played is rejected.
        """
        draws = whole_number("draws", draws, 1, 1_000_000)
        return evaluate(self._session, policy, method=method, level=share("level", level), draws=draws)

    def propensity(self, decision: int | Decision) -> float:
        """The probability with which a decision's arm was chosen, from the state as it stood then.

        It is exact for the default policy, and estimated from many choices for policies without known probabilities.
        """

        number = self._checked(decision)
        asked = asking(self._session, number)
        return float(propensities(asked.then, number, asked.among, len(asked.ask.arms))[asked.arm])

    def to_frame(self) -> pl.DataFrame:
        """One row per decision: id, status, times, the levers, the observed variables, the reward."""
        return self._session.read(decisions_frame)

    @property
    def newest(self) -> Newest:
        """The number of the newest event and a mark of all events so far: what it gives is as old as what they are."""
        return newest(self._session)

    def changes(self, after: int = 0, *, limit: int = 1000) -> Sequence[Change]:
        """What happened after the event with this number, in brief and in order."""
        return changes(self._session, after, limit)

    def annotations(self) -> Sequence[Annotation]:
        """What was noted with `annotate`, the oldest first."""
        return self._session.read(annotations_of)

    def audit(self, *, limit: int = 100) -> Sequence[AuditRow]:
        """What people changed, the newest first: arms, imports, annotations."""
        return audit(self._session, limit)

    def decisions(self, after: int = 0, *, limit: int = 100) -> Sequence[DecisionRow]:
        """The decisions after this id with their outcomes so far, in order; `to_frame` has all of them as a table."""
        return self._session.read(lambda state: decision_rows(state, after, limit))

    def decision(self, decision: int | Decision | None = None, *, key: str | None = None) -> DecisionRow:
        """One decision with its outcome so far, by its id or by the key that it was asked for with."""
        given = named("decision", decision, key)
        number = self._checked(self._log.find(given.key) if isinstance(given, Keyed) else given)
        return self._session.read(lambda state: decision_row(state, number))

    def describe(self, *, history: bool = False) -> StudyDescription:
        """Everything in plain values, as `study show --json` prints it; with `history` also how it came about."""
        about = describe(self._session, history=flag("history", history))
        return about if self.mode == TRANSACTIONAL else {**about, "staleness": self.staleness()._asdict()}

    def staleness(self) -> Staleness:
        """How far the snapshot that decides is behind what was acknowledged; a transactional study is never behind."""
        return self._log.staleness()

    def publish(self) -> Staleness:
        """High-throughput mode: count all rows that wait, now; otherwise that happens a moment later."""
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
        """For each observed variable in how many of the counted rows it has no value."""
        return self._session.read(lambda state: state.policy.history.missing)

    def plot(self, axes: Any = None, *, most: int | None = MOST_ARMS) -> Any:
        """Draw the best arms on matplotlib axes, new ones by default, and return them; `most=None` draws all arms."""
        return plot_estimates(self.estimates(), axes, most=most, title=f"Study {self.name}")

    def report(self, path: str | os.PathLike[str]) -> Path:
        """Write an HTML report: arms, own and borrowed rows, sets with their evidence, decisions over time."""
        return write_study_page(self.report_values(), path)

    def report_values(self) -> StudyDescription:
        """What `report` shows, in plain values; of a finished study as it was then."""
        frozen = self._session.read_counted(frozen_report)
        return self.describe(history=True) if frozen is None else frozen


def named(call: str, decision: int | Decision | None, key: str | None) -> int | Decision | Keyed:
    """The decision that a call is about, by its id or by its key."""
    if (decision is None) == (key is None):
        raise OptionError(f"{call} needs a decision or a key, and not both")
    if key is not None:
        return Keyed(checked_key(key))
    assert decision is not None
    return decision

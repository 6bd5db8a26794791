"""What a study shows: looking at it never changes which arms come next."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from types import EllipsisType
from typing import Any

import polars as pl

from ..discovery import SeparatingSets
from ..errors import UnknownDecisionError, flag, share, whole_number
from ..policies import Advice, Effects, Estimates, Policy, Posterior, Recommendation
from ..policies.advice import CONFIDENCE, TOLERANCE
from ..problem import Arm, Level, Problem, Segment
from ..reporting.described import StudyDescription
from .asking import asking
from .decision_table import decisions_frame
from .decisions import Decision, moment
from .describe import describe
from .drift import watched_sets
from .evaluation import Evaluation, Method, evaluate
from .explanation import Explanation, explain
from .following import Change, DecisionRow, Newest, changes, decision_row, decision_rows, newest
from .funnel import Funnel, funnel
from .guardrails import Guardrails
from .health import Health, health_of
from .propensities import propensities
from .served import Staleness, Worker
from .session import Session
from .settings import StudySettings
from .showing import Showing
from .waiting import Waiting, waiting

Settable = Arm | Mapping[str, Level]
Pattern = Arm | Mapping[str, Level | EllipsisType]
"""An arm, or a mapping in which `...` stands for any level of a lever."""


class StudyView(Showing):
    """A study as one looks at it."""

    def __init__(self, session: Session, *, is_new: bool = False) -> None:
        self._session = session
        self._worker = None if session.settings.consistency is None else Worker(session)
        self.is_new = is_new
        """Whether this object created the study."""

    def close(self) -> None:
        """Let go of the storage."""
        if self._worker is not None:
            self._worker.close()
        self._session.store.close()

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
    def is_served(self) -> bool:
        """Whether it decides from snapshots (consistency="served")."""
        return self._worker is not None

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
            about.expire_after,
            about.reward_window,
            about.rules,
            about.consistency,
        )

    @property
    def metrics(self) -> dict[str, Any]:
        """The further metrics that outcomes may have, for guardrails: name -> "binary", "real" or [lowest, highest]."""
        return dict((self._session.settings.rules or {}).get("metrics", {}))

    def __repr__(self) -> str:
        return f"Study({self.name!r}, {self.policy_name}, storage={self._session.store.place})"

    def _repr_html_(self) -> str:
        about = self._session.read(lambda state: len(state.decisions))
        return self.estimates().table(f"{self!r}: {about:,} decisions")

    def recommend(self, *, segment: Segment | None = None, margin: float | None = None) -> Recommendation | Any:
        """The arm to deploy among those that may be played, and how sure it is that none of them is better.

        For one segment; without, a problem with segments gets `Recommendations`, one for each.
        """
        return self._session.read(lambda state: state.recommend(segment=segment, margin=margin))

    def advice(
        self,
        *,
        margin: float | None = None,
        confidence: float = CONFIDENCE,
        tolerance: float = TOLERANCE,
        segment: Segment | None = None,
    ) -> Advice | Any:
        """Stop, go on, or drop arms; printed, it is one paragraph, and valid however often you look (docs/stopping.md).

        For one segment; without, a problem with segments gets `Advices`, one for each.

        Args:
            segment: The segment that is asked about.
            margin: How far from the best arm is close enough, in units of the reward: 5% of its mean by default.
            confidence: Probability that no stop by proof and no drop is ever wrong, over all looks together.
            tolerance: The expected loss that is good enough, as a share of the control's mean.
        """
        return self._session.read(
            lambda state: state.advice(segment=segment, margin=margin, confidence=confidence, tolerance=tolerance)
        )

    def estimates(self, *, level: float = 0.95, segment: Segment | None = None) -> Estimates:
        """Per arm: mean, interval, the set it was learnt through, own rows, effective rows, rows used, and its status.

        The status is active, never played, forbidden, retired, or which guardrails it breaks. Beside that its lift over
        the control, with an interval and the probability of being better, and its cost. With `segment` the arms of that
        segment alone.
        """
        return self._session.read(lambda state: state.estimates(level, segment))

    def posterior(self) -> Posterior:
        """The posterior of all arms' means, from which everything said about arms is computed."""
        return self._session.read(lambda state: state.posterior())

    def effects(self, *, level: float = 0.95) -> Effects:
        """What each level of each lever does in place of the control's, averaged over the other levers."""
        return self._session.read(lambda state: state.effects(level))

    def guardrails(self) -> Guardrails:
        """What the rows say of each arm and guardrail, and which arms break one."""
        return self._session.read(lambda state: state.guards.status(state.policy))

    def health(self) -> Health:
        """Checks of the study itself: outcomes missing unevenly, the share of the control, drift."""
        return self._session.read(health_of)

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

        `policy` is an arm (always that one), a mapping arm -> probability, or a policy as it stands. The method
        `doubly-robust` weighs decisions by their propensities, which are exact for the default policy and otherwise
        estimated from `draws` choices each. `direct` takes each arm's own decisions, and assumes that arms do not
        change. The default is `doubly-robust`, or `direct` where the policy's arms have too few rewards for it; the
        answer's `method` and `note` say so. An arm that was never played is refused.
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

    def decisions(self, after: int = 0, *, limit: int = 100) -> Sequence[DecisionRow]:
        """The decisions after this id with their outcomes so far, in order; `to_frame` has all of them as a table."""
        return self._session.read(lambda state: decision_rows(state, after, limit))

    def decision(self, decision: int | Decision) -> DecisionRow:
        """One decision with its outcome so far."""
        number = self._checked(decision)
        return self._session.read(lambda state: decision_row(state, number))

    def describe(self, *, history: bool = False) -> StudyDescription:
        """Everything in plain values, as `study show --json` prints it; with `history` also how it came about."""
        about = describe(self._session, history=flag("history", history))
        return about if self._worker is None else {**about, "staleness": self.staleness()._asdict()}

    def staleness(self) -> Staleness:
        """How far the snapshot that decides is behind what was acknowledged; a strict study is never behind."""
        if self._worker is not None:
            return self._worker.staleness()
        return Staleness(self.newest.sequence, 0, 0.0)

    def publish(self) -> Staleness:
        """Count what a served study has appended so far, now; without this its aggregator does, a moment later."""
        if self._worker is not None:
            self._worker.publish()
        return self.staleness()

    def _checked(self, decision: int | Decision) -> int:
        """The number of a decision; one that was acknowledged and is not counted yet is counted now."""
        try:
            return self._session.read(lambda state: state.decisions.check(decision))
        except UnknownDecisionError:
            if self._worker is None or not self._worker.publish():
                raise
            return self._session.read(lambda state: state.decisions.check(decision))

    def missing(self) -> dict[str, int]:
        """For each observed variable in how many of the counted rows it has no value."""
        return self._session.read(lambda state: state.policy.history.missing)

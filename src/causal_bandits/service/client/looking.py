"""Looking at a study on a server: every answer is the object that `Study` gives."""

import io
import json
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any
from urllib.parse import urlencode

import polars as pl

from ...discovery import SeparatingSet, SeparatingSets
from ...errors import OptionError, UnknownDecisionError, brief
from ...policies import ArmEstimate, Estimates, Policy, Recommendation
from ...policies.advice import Advice, Advices
from ...policies.lifts import Effects, LevelEffect
from ...policies.recommendation import Recommendations
from ...problem import Arm, Level, Problem
from ...reporting.described import StudyDescription
from ...studies import Change, Decision, DecisionRow, Evaluation, Explanation, Newest, Staleness
from ...studies.guardrails import ArmGuardrail, Guardrails
from ...studies.health import Check, Health
from ...studies.showing import Showing
from ..gate import in_path
from ..plain import revived
from .connection import Answer, Connection

Settable = Arm | Mapping[str, Level]


class RemoteView(Showing):
    """A study on a server as one looks at it."""

    def __init__(self, connection: Connection, settings: dict[str, Any], *, is_new: bool = False) -> None:
        self._connection = connection
        self._settings = settings
        self._path = f"/studies/{in_path(settings['name'])}"
        self._problem = Problem.from_dict(settings["problem"])
        self._tag: str | None = None
        self.is_new = is_new
        """Whether this object created the study."""

    def close(self) -> None:
        """Let go of the connection; it is opened again when it is needed."""
        self._connection.close()

    def _ask(self, method: str, path: str, body: Any = None, *, headers: dict[str, str] | None = None) -> Any:
        return self._connection.ask(method, self._path + path, body, headers=headers).json

    def _look(self, path: str, **query: Any) -> Any:
        given = [(name, value) for name, value in query.items() if value is not None]
        text = urlencode([(name, str(value).lower() if isinstance(value, bool) else value) for name, value in given])
        return self._ask("GET", f"{path}?{text}" if text else path)

    @property
    def name(self) -> str:
        """Its name on the server."""
        return str(self._settings["name"])

    @property
    def seed(self) -> int:
        """What its random numbers come from."""
        return int(self._settings["seed"])

    @property
    def policy_name(self) -> str:
        """Its policy's name in the registry."""
        return str(self._settings["policy"])

    @property
    def is_served(self) -> bool:
        """Whether it decides from snapshots (consistency="served")."""
        return self._settings.get("consistency") is not None

    @property
    def problem(self) -> Problem:
        """The problem as it is now: arms may have been added."""
        found = self._fresh()
        if found.status != 304:
            described = found.json["problem"]
            if described != self._settings["problem"]:
                self._problem, self._settings = Problem.from_dict(described), found.json
            self._tag = found.headers["etag"]
        return self._problem

    def _fresh(self) -> Answer:
        headers = None if self._tag is None else {"If-None-Match": self._tag}
        return self._connection.ask("GET", f"{self._path}/settings", headers=headers)

    @property
    def newest(self) -> Newest:
        """The number of the newest event and a mark of all events so far."""
        event, _, _ = self._fresh().headers["etag"].strip('"').partition(".")
        number, _, mark = event.partition("-")
        return Newest(int(number), mark)

    def __repr__(self) -> str:
        return f"RemoteStudy({self.name!r}, {self.policy_name}, server={self._connection.place!r})"

    def _repr_html_(self) -> str:
        return self.estimates().table(f"{self!r}")

    def recommend(
        self,
        *,
        segment: Mapping[str, Level] | None = None,
        margin: float | None = None,
    ) -> Recommendation | Recommendations:
        """The arm to deploy among those that may be played, and how sure it is that none of them is better.

        With segments: that of a segment, or of each of them.
        """
        found = self._look("/recommendation", segment=_segment(segment), margin=margin)
        each: list[Recommendation] = [
            revived(Recommendation, one, self._problem) for one in found.get("recommendations", [found])
        ]
        return Recommendations(each) if "recommendations" in found else each[0]

    def advice(
        self, *, segment: Mapping[str, Level] | None = None, margin: float | None = None, confidence: float = 0.95
    ) -> Advice | Advices:
        """Stop, go on, or drop arms (see `Study.advice`); with segments: for a segment, or for each of them."""
        found = self._look("/advice", segment=_segment(segment), margin=margin, confidence=confidence)
        each: list[Advice] = [revived(Advice, one, self._problem) for one in found.get("advices", [found])]
        return Advices(each) if "advices" in found else each[0]

    def estimates(self, *, level: float = 0.95, segment: Mapping[str, Level] | None = None) -> Estimates:
        """Per arm: mean, interval, the set it was learnt through, own and effective rows, and its status."""
        rows = self._look("/estimates", level=level, segment=_segment(segment))["estimates"]
        return Estimates([revived(ArmEstimate, row, self._problem) for row in rows])

    def effects(self, *, level: float = 0.95) -> Effects:
        """What each level of each lever does in place of the control's, averaged over the other levers."""
        return Effects(
            [revived(LevelEffect, row, self._problem) for row in self._look("/effects", level=level)["effects"]]
        )

    def guardrails(self) -> Guardrails:
        """What the rows say of each arm and guardrail, and which arms break one."""
        rows = self._look("/guardrails")["guardrails"]
        return Guardrails([revived(ArmGuardrail, row, self._problem) for row in rows])

    def health(self) -> Health:
        """Checks of the study itself: outcomes missing unevenly, the share of the control, a level that moves."""
        return Health(revived(Check, row, self._problem) for row in self._look("/health")["checks"])

    def separating_sets(self, *, rejected: bool = False) -> SeparatingSets:
        """The sets in use with their evidence and whether they still hold; with `rejected` all that were looked at."""
        rows = self._look("/sets", rejected=rejected)["sets"]
        return SeparatingSets(revived(SeparatingSet, row, self._problem) for row in rows)

    def explain(self, decision: int | Decision) -> Explanation:
        """Why a decision was what it was: which set, own and borrowed rows, posterior, what was compared."""
        found: Explanation = revived(
            Explanation, self._look(f"/decisions/{number_of(decision)}/explanation"), self._problem
        )
        return found

    def evaluate(
        self,
        policy: Settable | Mapping[Arm, float] | Policy[Any],
        *,
        method: str = "direct",
        level: float = 0.95,
        draws: int = 200,
    ) -> Evaluation:
        """What an arm or a mapping arm -> probability would have earned on the recorded decisions (see `Study`)."""
        if isinstance(policy, Policy) or not isinstance(policy, Mapping):
            raise OptionError(
                "a server evaluates an arm or a mapping arm -> probability; evaluate a policy where the storage is, "
                "with Study.load(...).evaluate(policy)"
            )
        mixed = bool(policy) and all(isinstance(arm, Arm) for arm in policy)
        arms: Sequence[Any] = [*policy] if mixed else [policy]
        query = [("arm", json.dumps(dict(arm))) for arm in arms]
        query += [("share", str(float(chance))) for chance in policy.values()] if mixed else []
        query += [("method", method), ("level", str(level)), ("draws", str(draws))]
        return Evaluation(**self._ask("GET", f"/evaluation?{urlencode(query)}"))

    def propensity(self, decision: int | Decision) -> float:
        """The probability with which a decision's arm was chosen, estimated from the state as it stood then."""
        return float(self._look(f"/decisions/{number_of(decision)}/propensity")["propensity"])

    def to_frame(self) -> pl.DataFrame:
        """One row per decision: id, status, times, the levers, the observed variables, the reward."""
        answer = self._connection.ask("GET", f"{self._path}/export.parquet")
        return pl.read_parquet(io.BytesIO(answer.content))

    def changes(self, after: int = 0, *, limit: int = 1000) -> Sequence[Change]:
        """What happened after the event with this number, in brief and in order."""
        rows = self._look("/changes", after=after, limit=limit)["changes"]
        return [revived(Change, row, self._problem) for row in rows]

    def decisions(self, after: int = 0, *, limit: int = 100) -> Sequence[DecisionRow]:
        """The decisions after this id with their outcomes so far, in order; `to_frame` has all of them as a table."""
        return [_row(row) for row in self._look("/decisions", after=after, limit=limit)["decisions"]]

    def decision(self, decision: int | Decision) -> DecisionRow:
        """One decision with its outcome so far."""
        return _row(self._look(f"/decisions/{number_of(decision)}"))

    def describe(self, *, history: bool = False) -> StudyDescription:
        """Everything in plain values, as `study show --json` prints it; with `history` also how it came about."""
        found: StudyDescription = self._look("", history=history)
        return found

    def staleness(self) -> Staleness:
        """How far the snapshot that decides is behind what was acknowledged; a strict study is never behind."""
        return Staleness(**self._look("/staleness"))

    def publish(self) -> Staleness:
        """Count what a served study has appended so far, now; without this its aggregator does, a moment later."""
        return Staleness(**self._ask("POST", "/publish"))

    def missing(self) -> dict[str, int]:
        """For each observed variable in how many of the counted rows it has no value."""
        return {**dict.fromkeys(self._problem.observed_names, 0), **self.describe()["missing"]}


def _segment(segment: Mapping[str, Level] | None) -> str | None:
    return None if segment is None else json.dumps(dict(segment))


def number_of(decision: object) -> int:
    """The number of a decision."""
    given = decision.id if isinstance(decision, Decision) else decision
    try:
        found = 0 if isinstance(given, bool) else int(given.__index__())  # type: ignore[attr-defined]
    except (AttributeError, TypeError):
        found = 0
    if found < 1:
        raise UnknownDecisionError(f"decision {brief(given)} is not known; expected its id, a whole number from 1")
    return found


def _row(row: dict[str, Any]) -> DecisionRow:
    done = None if row["done"] is None else datetime.fromisoformat(row["done"])
    made: Any = {**row, "asked": datetime.fromisoformat(row["asked"]), "done": done}
    found: DecisionRow = made
    return found

"""What answers say, for the OpenAPI document; tests compare real answers with it."""

from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from ..studies import StudyInfo
from ..studies.decisions import moment
from .bodies import Level, Value

Levels = dict[str, Level]
EXAMPLE: dict[str, Any] = {"id": 1, "arm": {"banner": "red", "discount": "none"}, "time": "2026-01-01T12:00:00Z"}


class Problem(BaseModel):
    """An error: one sentence, and the library's name for it where it has one."""

    model_config = ConfigDict(
        json_schema_extra={
            "examples": [
                {
                    "type": "about:blank",
                    "title": "Not Found",
                    "status": 404,
                    "detail": "decision 9 is not known; the study has made decisions 1 to 1",
                    "error": "UnknownDecisionError",
                }
            ]
        }
    )
    type: str
    title: str
    status: int
    detail: str
    error: str | None = None


class Listed(BaseModel):
    """A study in a list; one that cannot be read has a name and an error alone."""

    name: str
    created: str | None
    policy: str | None
    target: str | None
    error: str | None = None


class Studies(BaseModel):
    """All studies, the oldest first."""

    studies: list[Listed]


class StudySettings(BaseModel):
    """What a study is."""

    name: str
    created: str
    policy: str
    options: dict[str, Any]
    seed: int
    expire_after: float | None
    reward_window: float | None
    problem: dict[str, Any]
    consistency: dict[str, Any] | None = Field(None, description="When a served study publishes a snapshot.")
    rules: dict[str, Any] | None = Field(None, description="Control, shares, guardrails, metrics and costs, if any.")


class Staleness(BaseModel):
    """How far the snapshot that decides is behind what was acknowledged."""

    version: int
    rows: int
    seconds: float


class Made(BaseModel):
    """A decision: an arm to play for one unit."""

    id: int
    arm: Levels
    time: str
    segment: Levels | None = None


class Decisions(BaseModel):
    """Decisions that were just made, or made before with the same key."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"decisions": [EXAMPLE]}]})
    decisions: list[Made]


class Recorded(BaseModel):
    """A decision about which something is stored now."""

    id: int


class Told(BaseModel):
    """How many rows of a batch added something."""

    told: int


class Imported(BaseModel):
    """How many rows are new; 0 where the key had imported them before."""

    imported: int


class Expired(BaseModel):
    """Decisions that were closed."""

    expired: list[int]


class Arms(BaseModel):
    """Arms that changed."""

    arms: list[Levels]


class OneDecision(BaseModel):
    """A decision and what became of it."""

    id: int
    status: Literal["open", "told", "abandoned", "expired"]
    asked: str
    done: str | None
    arm: Levels
    outcome: dict[str, Value]


class Page(BaseModel):
    """Some decisions; `next` is the id to pass as `after`, null at the end."""

    decisions: list[OneDecision]
    next: int | None


class Change(BaseModel):
    """An event of a study in brief."""

    sequence: int
    kind: str
    time: str
    decisions: list[int]


class Changes(BaseModel):
    """What happened, in order."""

    changes: list[Change]


class Recommendation(BaseModel):
    """The arm to deploy and how sure that is."""

    arm: Levels
    mean: float
    probability_best: float
    probability_close: float | None
    margin: float | None
    expected_loss: float | None
    stands_out: bool
    verdict: str
    segment: Levels | None = None


class Recommendations(BaseModel):
    """The arm to deploy in each segment."""

    recommendations: list[Recommendation]


class Estimate(BaseModel):
    """What is believed of an arm; null where nothing is."""

    arm: Levels
    mean: float | None
    low: float | None
    high: float | None
    through: list[str] | None
    own_rows: int
    effective_rows: float | None
    used_rows: int
    own_mean: float | None
    own_low: float | None
    own_high: float | None
    status: str
    pending_rows: int
    pending_effective: float | None
    through_share: float


class Estimates(BaseModel):
    """All arms, in the order of the problem."""

    estimates: list[Estimate]


class Evidence(BaseModel):
    """Why a set was accepted or rejected."""

    rows: int
    source: str
    tests: dict[str, Any]
    confidence: dict[str, float | None]
    log_bayes_factor: dict[str, float | None]
    given_others: dict[str, float | None]
    probability: float | None
    weight: float | None


class Drift(BaseModel):
    """Whether a set still holds: above 0 it does not."""

    evidence: float | None
    row: int


class SeparatingSet(BaseModel):
    """A set of mediators, and the levers that it separates from the reward."""

    variables: list[str]
    separated: list[str]
    evidence: Evidence
    drift: Drift | None


class Sets(BaseModel):
    """Sets, the smaller ones first."""

    sets: list[SeparatingSet]


class SetDrift(BaseModel):
    """Whether a set that is in use still holds."""

    variables: list[str]
    alarm: bool
    evidence: float | None
    row: int


class Drifts(BaseModel):
    """The sets in use; `alarms` counts those that no longer hold."""

    alarms: int
    sets: list[SetDrift]


class Evaluation(BaseModel):
    """What a policy would have earned on the recorded decisions."""

    mean: float
    low: float
    high: float
    standard_error: float
    decisions: int
    effective_decisions: float
    recorded_mean: float


class Propensity(BaseModel):
    """The probability with which a decision's arm was chosen."""

    id: int
    propensity: float


class ArmView(BaseModel):
    """An arm at the time of a decision."""

    estimate: Estimate
    index: float | None
    propensity: float


class Explanation(BaseModel):
    """Why a decision was what it was."""

    id: int
    arm: Levels
    time: str
    rows: int
    reason: str
    propensity: float
    estimate: Estimate
    through: SeparatingSet | None
    arms: list[ArmView]


class Health(BaseModel):
    """Whether the server works."""

    status: Literal["ok"]


class Unready(BaseModel):
    """Why the server takes no requests now."""

    status: Literal["stopping", "storage unavailable"]


def listed(row: StudyInfo) -> dict[str, Any]:
    """A study in a list as JSON."""
    return {**row._asdict(), "created": None if row.created is None else moment(row.created).isoformat()}

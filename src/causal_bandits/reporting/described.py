"""A study and an analysed table in plain values, as pages and the terminal show them and JSON prints them."""

from typing import Any, NotRequired, TypedDict

from ..policies.overview import AdviceRow, ArmRow, EffectRow, EvidenceCourse, RecommendationRow, SetRow


class Known(TypedDict):
    """What rows say of arms and sets."""

    target: str
    interventions: list[str]
    observed: list[str]
    rows: int
    missing: dict[str, int]
    """Variables that some rows lack, with their number."""
    sets: list[SetRow]
    arms: list[ArmRow]
    effects: NotRequired[list[EffectRow]]
    """What levels of levers do, where arms can be compared."""
    evidence_over_time: NotRequired[EvidenceCourse]
    segments: NotRequired[list[str]]
    """What nature sets, where the problem has such."""
    recommendations: NotRequired[list[RecommendationRow]]
    """One for each segment, in place of `recommendation`."""
    advices: NotRequired[list[AdviceRow]]
    """One for each segment, in place of `advice`."""


class DecisionCourse(TypedDict):
    """How often each arm was chosen in each stretch of decisions, and what they earned."""

    until: list[int]
    arms: list[str]
    shares: list[list[float]]
    mean_reward: list[float | None]


class PendingRewards(TypedDict):
    """Decisions whose mediators are known and whose reward does not count yet."""

    rows: int
    known: int
    """Of these, decisions whose reward came and whose window is still open."""
    window: float | None
    """Seconds in which a reward must come."""
    used: bool
    """Whether they count for P(S | arm) already."""
    worth: float
    """In own rows, over all arms."""


class StudyDescription(Known):
    """A study: `Study.describe`; what has a course is there with `history=True`."""

    name: str
    created: str
    policy: str
    options: dict[str, Any]
    seed: int
    decisions: dict[str, int]
    """By status, and `all`."""
    pending: PendingRewards
    alarms: list[SetRow]
    health: NotRequired[list[dict[str, Any]]]
    """The JSON of `Study.health`."""
    broken: NotRequired[list[str]]
    """Guardrails that arms break, in words."""
    staleness: NotRequired[dict[str, Any]]
    """Of a served study: the version of its snapshot, and how many rows and seconds that is behind."""
    recommendation: RecommendationRow | None
    advice: AdviceRow | None
    decisions_over_time: NotRequired[DecisionCourse]


class AssignmentRow(TypedDict):
    """How levers were assigned (see `analysis.Assignment`)."""

    randomized: bool
    """Whether the user says that levers were assigned at random."""
    causal: bool
    """Whether nothing that was known before predicts a lever."""
    says: str
    """What to know before reading on; empty where there is nothing."""
    basis: str
    """What the answer rests on."""
    predictors: list[dict[str, Any]]
    assumed_after: list[str]


class AnalysisDescription(Known):
    """An analysed table: `Analysis.to_dict`."""

    kind: str
    inferred: list[str]
    """What was inferred from the table, in words."""
    notices: list[str]
    """What was noticed about columns, in words."""
    assignment: AssignmentRow
    level: float
    accepted: list[SetRow]
    recommendation: RecommendationRow | None

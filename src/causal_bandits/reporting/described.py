"""A study and an analyzed table in plain values, as pages and the terminal show them and JSON prints them."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Annotated, Any, NotRequired, TypedDict

from ..core.discovery import SeparatingSet
from ..core.policies import Advice, ArmEstimate, Recommendation
from ..core.policies.estimates import Lift
from ..core.policies.lifts import LevelEffect
from .courses import EvidenceCourse


@dataclass(frozen=True, repr=False)
class StudyArm(ArmEstimate):
    """An arm of a study."""

    decisions: int = 0
    reward_total: float = 0.0
    """The sum of the rewards in the arm's rows."""
    probability_best: float | None = None
    """As `recommend` counts it; None for an arm that cannot be recommended."""


AdviceRow = Annotated[dict[str, Any], Advice]
ArmRow = Annotated[dict[str, Any], StudyArm]
EffectRow = Annotated[dict[str, Any], LevelEffect]
LiftRow = Annotated[dict[str, Any], Lift]
RecommendationRow = Annotated[dict[str, Any], Recommendation]
SetRow = Annotated[dict[str, Any], SeparatingSet]
"""The JSON of these classes."""


class Known(TypedDict):
    """Estimates of arms and evidence of sets."""

    target: str
    interventions: list[str]
    observed: list[str]
    rows: int
    missing: dict[str, int]
    """Variables that some rows lack, with their number."""
    sets: list[SetRow]
    arms: list[ArmRow]
    names: NotRequired[dict[str, str]]
    """Display names and descriptions of variables and levels: "banner" or "banner=red" -> text."""
    descriptions: NotRequired[dict[str, str]]
    explained_variance: NotRequired[dict[str, Any]]
    """How much of the reward's variance the mediators explain, if there are mediators (see `ExplainedVariance`)."""
    effects: NotRequired[list[EffectRow]]
    """Effects of levels, if arms can be compared."""
    evidence_over_time: NotRequired[EvidenceCourse]
    segments: NotRequired[list[str]]
    """The segments of the problem, if any."""
    recommendations: NotRequired[list[RecommendationRow]]
    """One for each segment, in place of `recommendation`."""
    advices: NotRequired[list[AdviceRow]]
    """One for each segment, in place of `advice`."""


class DecisionCourse(TypedDict):
    """How often each arm was chosen in each stretch of decisions, and what they earned."""

    until: list[int]
    times: list[str]
    """When the first decision was asked for, and then the last one of each stretch."""
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


class ExclusionRow(TypedDict):
    """Decisions that were excluded together and still are."""

    time: str
    reason: str
    filter: dict[str, Any]
    """What they have in common; empty where they were named one by one."""
    decisions: int


class StudyDescription(Known):
    """A study: `Study.describe`; series over time are included with `history=True`."""

    name: str
    title: str
    description: str
    created: str
    policy: str
    options: dict[str, Any]
    seed: int
    reward: str
    """The kind of reward: "binary", "number", "count" or "revenue"."""
    decisions: dict[str, int]
    """By status, and `all`."""
    pending: PendingRewards
    health: NotRequired[list[dict[str, Any]]]
    """The JSON of `Study.health`."""
    exclusions: NotRequired[list[ExclusionRow]]
    corrected: NotRequired[int]
    """Decisions of which a recorded value was corrected."""
    finished: NotRequired[str]
    """When it was finished."""
    staleness: NotRequired[dict[str, Any]]
    """Of a study in high-throughput mode: the version of its snapshot, and how many rows and seconds that is behind."""
    recommendation: RecommendationRow | None
    advice: AdviceRow | None
    decisions_over_time: NotRequired[DecisionCourse]
    annotations: list[dict[str, Any]]
    """The JSON of `Study.annotations`."""


class AnalysisDescription(Known):
    """An analyzed table: `Analysis.to_dict`."""

    kind: str
    inferred: list[str]
    """What was inferred from the table, in words."""
    notices: list[str]
    """What was noticed about columns, in words."""
    assignment: dict[str, Any]
    """The JSON of `analysis.Assignment`."""
    level: float
    accepted: list[SetRow]
    recommendation: RecommendationRow | None


def in_display_names(about: StudyDescription) -> StudyDescription:
    """The same with the names that people gave variables and levels, for pages; `settings` of arms stay as they are."""
    names = about.get("names")
    if not names:
        return about
    changed: Any = {
        **about,
        "target": names.get(about["target"], about["target"]),
        "interventions": _named(about["interventions"], names),
        "observed": _named(about["observed"], names),
        "missing": {names.get(name, name): count for name, count in about["missing"].items()},
        "sets": [_with_names(each, names) for each in about["sets"]],
        "arms": [_with_names(each, names) for each in about["arms"]],
        "effects": [_effect(each, names) for each in about.get("effects", [])],
    }
    if "evidence_over_time" in about:
        course = about["evidence_over_time"]
        changed["evidence_over_time"] = {**course, "sets": [_with_names(each, names) for each in course["sets"]]}
    found: StudyDescription = changed
    return found


def _named(variables: Iterable[str], names: Mapping[str, str]) -> list[str]:
    return [names.get(name, name) for name in variables]


def _with_names(row: Mapping[str, Any], names: Mapping[str, str]) -> dict[str, Any]:
    """A row whose lists of variables have names that people read."""
    lists = ("variables", "separated", "through")
    return {**row, **{key: _named(row[key], names) for key in lists if row.get(key)}}


def _effect(row: EffectRow, names: Mapping[str, str]) -> EffectRow:
    lever = row["lever"]
    levels = {key: names.get(f"{lever}={row[key]}", row[key]) for key in ("level", "base")}
    return {**row, **levels, "lever": names.get(lever, lever)}

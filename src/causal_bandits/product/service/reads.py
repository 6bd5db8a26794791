"""What methods of `Study` answer over HTTP: a line each, from which the server has its route and the client its method.

Arguments are query parameters of the same name and default, except for those that are part of the path.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

from ...core.discovery import SeparatingSets
from ...core.policies import Advice, Effects, Estimates, Recommendation
from ...core.policies.advice import Advices
from ...core.policies.recommendation import Recommendations
from ...reporting.described import StudyDescription
from ..analysis.explained import ExplainedVariance
from ..studies import (
    Alarm,
    Annotation,
    AuditRow,
    Change,
    Explanation,
    Final,
    Funnel,
    Guardrails,
    Health,
    Staleness,
    StudySettings,
    Waiting,
)


class Read(NamedTuple):
    """Where the answer of a method or property is, below the address of its study, and of what class it is."""

    path: str
    kind: Any
    has_tag: bool = True
    """Whether the answer changes only with the events of the study, so that an ETag can say that it has not."""


READS = {
    "describe": Read("", StudyDescription),
    "settings": Read("/settings", StudySettings),
    "report_values": Read("/report", StudyDescription),
    "finished": Read("/finish", Final | None),
    "staleness": Read("/staleness", Staleness, has_tag=False),
    "recommend": Read("/recommendation", Recommendation | Recommendations),
    "advice": Read("/advice", Advice | Advices),
    "estimates": Read("/estimates", Estimates),
    "effects": Read("/effects", Effects),
    "explained_variance": Read("/explained-variance", ExplainedVariance),
    "separating_sets": Read("/sets", SeparatingSets),
    "guardrails": Read("/guardrails", Guardrails),
    "funnel": Read("/funnel", Funnel),
    "missing": Read("/missing", dict[str, int]),
    "health": Read("/health", Health, has_tag=False),  # a silence has no event
    "alarms": Read("/alarms", Sequence[Alarm], has_tag=False),  # found by the server itself
    "waiting": Read("/waiting", Waiting, has_tag=False),  # ages change with the clock
    "explain": Read("/decisions/{decision}/explanation", Explanation),
    "changes": Read("/changes", Sequence[Change]),
    "audit": Read("/audit", Sequence[AuditRow]),
    "annotations": Read("/annotations", Sequence[Annotation]),
}
"""By the names of the methods."""

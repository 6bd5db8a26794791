"""Methods of `Study` over HTTP: a line each, from which the server has its route and the client its method.

Arguments have the same names and defaults in the query of a GET and in the body of any other request, except for those
that are part of the path and those in `SPELLED`.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

from ...core.discovery import SeparatingSets
from ...core.policies import Advice, Effects, Estimates, Recommendation
from ...core.policies.advice import Advices
from ...core.policies.recommendation import Recommendations
from ...core.problem import Arm
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

SPELLED = {"decision": "id", "decisions": "ids"}
"""Arguments that have another name in a request."""


class Operation(NamedTuple):
    """Where a method or property is, below the address of its study, and of what class its answer is."""

    path: str
    answer: Any
    method: str = "GET"
    field: str | None = None
    """The field of the JSON that has the answer; None if it is the whole JSON."""
    has_tag: bool = True
    """Whether the answer changes only with the events of the study, so that an ETag can say that it has not."""
    example: dict[str, Any] | None = None
    """A body."""


OPERATIONS = {
    "describe": Operation("", StudyDescription),
    "settings": Operation("/settings", StudySettings),
    "report_values": Operation("/report", StudyDescription),
    "finished": Operation("/finish", Final | None),
    "staleness": Operation("/staleness", Staleness, has_tag=False),
    "recommend": Operation("/recommendation", Recommendation | Recommendations),
    "advice": Operation("/advice", Advice | Advices),
    "estimates": Operation("/estimates", Estimates),
    "effects": Operation("/effects", Effects),
    "explained_variance": Operation("/explained-variance", ExplainedVariance),
    "separating_sets": Operation("/sets", SeparatingSets),
    "guardrails": Operation("/guardrails", Guardrails),
    "funnel": Operation("/funnel", Funnel),
    "missing": Operation("/missing", dict[str, int]),
    "health": Operation("/health", Health, has_tag=False),  # a silence has no event
    "alarms": Operation("/alarms", Sequence[Alarm], has_tag=False),  # found by the server itself
    "waiting": Operation("/waiting", Waiting, has_tag=False),  # ages change with the clock
    "explain": Operation("/decisions/{decision}/explanation", Explanation),
    "changes": Operation("/changes", Sequence[Change]),
    "audit": Operation("/audit", Sequence[AuditRow]),
    "annotations": Operation("/annotations", Sequence[Annotation]),
    "propensity": Operation("/decisions/{decision}/propensity", float, field="propensity"),
    "correct": Operation("/corrections", bool, "POST", "changed", example={"id": 7, "reward": 0, "reason": "refund"}),
    "exclude": Operation("/exclusions", list[int], "POST", "ids", example={"key_prefix": "bot-", "reason": "bots"}),
    "include": Operation("/inclusions", list[int], "POST", "ids", example={"ids": [7, 9]}),
    "expire": Operation("/expire", list[int], "POST", "expired", example={"older_than": 86400}),
    "publish": Operation("/publish", Staleness, "POST"),
    "annotate": Operation(
        "/annotations", Annotation | None, "POST", example={"text": "new landing page", "at": "2026-11-18"}
    ),
    "add_level": Operation("/levels", list[Arm], "POST", "arms", example={"lever": "banner", "level": "green"}),
}
"""By the names of the methods."""

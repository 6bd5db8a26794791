"""Studies: persisted ask and tell. The outside world plays the environment."""

from ..problem import parse_arm
from .by_name import StudyInfo
from .decisions import Decision
from .evaluation import Evaluation
from .explanation import Explanation
from .following import Change, DecisionRow, Newest
from .funnel import Funnel
from .guardrails import ArmGuardrail, Guardrails
from .health import Check, Health
from .levels import level_like, parse_pattern
from .rows import parse_metrics, parse_reward
from .served import Staleness
from .settings import StudySettings
from .storage import Store
from .study import Study
from .waiting import Waiting
from .warm_up import kept_in, warm_up

__all__ = [
    "ArmGuardrail",
    "Change",
    "Check",
    "Decision",
    "DecisionRow",
    "Evaluation",
    "Explanation",
    "Funnel",
    "Guardrails",
    "Health",
    "Newest",
    "Staleness",
    "Store",
    "Study",
    "StudyInfo",
    "StudySettings",
    "Waiting",
    "kept_in",
    "level_like",
    "parse_arm",
    "parse_metrics",
    "parse_pattern",
    "parse_reward",
    "warm_up",
]

"""Studies: persisted ask and tell. The outside world plays the environment."""

from ...core.problem import parse_arm
from .arm_patterns import level_like, parse_pattern
from .decision_log import Staleness
from .decisions import Decision
from .describe import Final
from .evaluation import Evaluation
from .explanation import Explanation
from .funnel import Funnel
from .guardrails import ArmGuardrail, Guardrails
from .health import CODES, Alarm, Check, Health
from .history import Annotation, AuditRow, Change, DecisionRow, Newest, Waiting, export_by_day
from .monitor import Monitor
from .outcomes import parse_metrics, parse_reward
from .settings import HIGH_THROUGHPUT, TRANSACTIONAL, StudyInfo, StudySettings
from .storage.store import Store
from .study import Study

__all__ = [
    "CODES",
    "HIGH_THROUGHPUT",
    "TRANSACTIONAL",
    "Alarm",
    "Annotation",
    "ArmGuardrail",
    "AuditRow",
    "Change",
    "Check",
    "Decision",
    "DecisionRow",
    "Evaluation",
    "Explanation",
    "Final",
    "Funnel",
    "Guardrails",
    "Health",
    "Monitor",
    "Newest",
    "Staleness",
    "Store",
    "Study",
    "StudyInfo",
    "StudySettings",
    "Waiting",
    "export_by_day",
    "level_like",
    "parse_arm",
    "parse_metrics",
    "parse_pattern",
    "parse_reward",
]

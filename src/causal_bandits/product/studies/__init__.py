"""Studies: persisted ask and tell. The outside world plays the environment."""

from ...core.problem import parse_arm
from .alarms import Alarm
from .audit import Annotation, AuditRow
from .catalog import StudyInfo
from .decision_log import Staleness
from .decision_table import export_by_day
from .decisions import Decision
from .evaluation import Evaluation
from .explanation import Explanation
from .finishing import Final
from .following import Change, DecisionRow, Newest
from .funnel import Funnel
from .guardrails import ArmGuardrail, Guardrails
from .health import CODES, Check, Health
from .levels import level_like, parse_pattern
from .modes import HIGH_THROUGHPUT, TRANSACTIONAL
from .monitor import Monitor
from .rows import parse_metrics, parse_reward
from .settings import StudySettings
from .storage import Store
from .study import Study
from .waiting import Waiting
from .warm_up import kept_in, warm_up

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
    "kept_in",
    "level_like",
    "parse_arm",
    "parse_metrics",
    "parse_pattern",
    "parse_reward",
    "warm_up",
]

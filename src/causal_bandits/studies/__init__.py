"""Studies: persisted ask and tell. The outside world plays the environment."""

from .decisions import Decision
from .evaluation import Evaluation
from .explanation import Explanation
from .following import Change, DecisionRow, Newest
from .levels import level_like
from .rows import parse_arm, parse_metrics, parse_pattern, parse_reward
from .storage import Store
from .study import Study, StudyInfo
from .warm_up import kept_in, warm_up

__all__ = [
    "Change",
    "Decision",
    "DecisionRow",
    "Evaluation",
    "Explanation",
    "Newest",
    "Store",
    "Study",
    "StudyInfo",
    "kept_in",
    "level_like",
    "parse_arm",
    "parse_metrics",
    "parse_pattern",
    "parse_reward",
    "warm_up",
]

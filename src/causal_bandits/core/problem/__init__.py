"""The bandit problem: observed variables, a reward, levers, and the arms they make (sec. 2.2)."""

from .arms import CONTEXT_PREFIX, Arm, parse_arm, setting_words
from .problem import Problem, Segment, check_problem
from .rewards import Reward, RewardKind
from .variables import Bins, Level, Levels, Variable, bins, control_level

__all__ = [
    "CONTEXT_PREFIX",
    "Arm",
    "Bins",
    "Level",
    "Levels",
    "Problem",
    "Reward",
    "RewardKind",
    "Segment",
    "Variable",
    "bins",
    "check_problem",
    "control_level",
    "parse_arm",
    "setting_words",
]

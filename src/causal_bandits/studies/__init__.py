"""Studies: persisted ask and tell. The outside world plays the environment."""

from .decisions import Decision
from .study import Study, StudyInfo

__all__ = ["Decision", "Study", "StudyInfo"]

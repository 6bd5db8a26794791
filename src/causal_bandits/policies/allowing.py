"""Which arms may be chosen."""

from collections.abc import Iterable, Mapping

import numpy as np

from ..compiled import Bools
from ..errors import OptionError, brief
from ..problem import Arm, Level, Problem


def allowed_arms(problem: Problem, arms: Iterable[Arm | Mapping[str, Level]] | None) -> Bools:
    """(arms,): those that are listed; None: all."""
    allowed = np.ones(len(problem.arms), dtype=np.bool_)
    if arms is not None and (
        isinstance(arms, str | Mapping) or not isinstance(arms, Iterable) or getattr(arms, "ndim", 1) == 0
    ):
        raise OptionError(f"arms={brief(arms)}; expected a list of arms")
    if arms is not None:
        allowed[:] = False
        allowed[[problem.index(arm) for arm in arms]] = True
    if not allowed.any():
        raise OptionError("restrict() got no arm; at least one must be left to choose")
    return allowed

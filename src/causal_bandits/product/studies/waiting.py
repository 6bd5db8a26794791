"""How long outcomes take, and which decisions still wait for theirs."""

from typing import NamedTuple

import numpy as np

from .session import Session
from .state import StudyState

AGES = (("under a minute", 60.0), ("under an hour", 3600.0), ("under a day", 86_400.0), ("a day or more", np.inf))


class Waiting(NamedTuple):
    """Open decisions by age, and how long complete outcomes took; times in seconds, None if there are none."""

    open: int
    ages: tuple[tuple[str, int], ...]
    oldest: float | None
    median: float | None
    slow: float | None
    """Nine in ten outcomes took at most this long."""
    late: int
    """Open decisions that wait for longer than that."""
    partly: int
    """Open decisions of which something was told."""
    told: dict[str, int]
    """In how many of these each variable is known."""
    expire_after: float | None
    reward_window: float | None


def waiting(session: Session) -> Waiting:
    """As it is now, by the study's clock."""
    now = session.clock()
    return session.read(lambda state: waiting_of(state, now))


def waiting_of(state: StudyState, now: float) -> Waiting:
    """The same for a state."""
    decisions = state.decisions
    since, done, rows = (decisions.column(name) for name in ("since", "done", "row"))
    took = np.maximum(done[rows >= 0] - since[rows >= 0], 0.0)
    median, slow = (float(value) for value in np.quantile(took, [0.5, 0.9])) if len(took) else (None, None)
    included = [number for number in decisions.open if not state.is_excluded(number)]
    parts = [part for number, part in state.parts.items() if not state.is_excluded(number)]
    ages = np.maximum(now - since[[number - 1 for number in included]], 0.0)
    starts = [0.0, *(end for _, end in AGES)]
    counted = [
        (name, int(np.count_nonzero((ages >= start) & (ages < end))))
        for (name, end), start in zip(AGES, starts, strict=False)
    ]
    names = (*state.problem.observed_names, state.problem.target)
    return Waiting(
        len(ages),
        tuple(counted),
        float(ages.max()) if len(ages) else None,
        median,
        slow,
        0 if slow is None else int(np.count_nonzero(ages > slow)),
        len(parts),
        {name: sum(name in part for part in parts) for name in names} if parts else {},
        state.settings.expire_after,
        state.settings.reward_window,
    )
